// The index of all cases, and the blocks of their explanations, each parsed when it is first needed.

const DATA = JSON.parse(document.getElementById("index").textContent);

const CASES = DATA.cases.map((row, position) => {
  const [id, status, known, change, verdict, checks, tags, evidence, keywords, calls, time, trials, passedTrials, question, why, places] = row;
  return {
    id, position, change, verdict, tags, evidence, keywords, calls, time, trials, passedTrials, question, why, places,
    status: known ? "known" : status,
    checks: checks.map((check) => DATA.checks[check]),
  };
});
DATA.cases = null;
const BY_ID = new Map(CASES.map((one) => [one.id, one]));

const blocks = new Map();

function block(number) {
  if (!blocks.has(number)) {
    // A few are kept: someone who reads on needs the same one again.
    if (blocks.size > 8) blocks.delete(blocks.keys().next().value);
    blocks.set(number, JSON.parse(document.getElementById("block-" + number).textContent));
  }
  return blocks.get(number);
}

/** The explanation of a case's trial, of the one shown by default; null where the file holds none. */
function explanationOf(one, trial) {
  const place = one.places.find(([number]) => number === trial) || (trial === null ? one.places[0] : undefined);
  return place === undefined ? null : unpacked(block(place[1])[place[2]]);
}

/** An explanation with the names of its fields, which the file leaves out where there are many. */
function unpacked(it) {
  return {
    ...it,
    keywords: it.keywords.map(([purpose, label, found, places, exact]) => ({ purpose, label, found, places, exact })),
    answer: it.answer && it.answer.map(([text, mark, ...labels]) => ({ text, mark, labels })),
    claims: (it.claims || []).map((claim) => ({ ...claim, tools: claim.tools.map(([tool, called]) => ({ tool, called })) })),
  };
}

/** What the search looks at, made when someone searches. */
function searched(one) {
  if (one.searched === undefined) {
    one.searched = [one.id, one.question, one.tags.join(" "), one.why, one.checks.join(" "), one.verdict || ""].join("\n").toLowerCase();
  }
  return one.searched;
}

/** Ids like a mistyped one. */
function near(id) {
  const pairs = (word) => new Set(Array.from({ length: Math.max(1, word.length - 1) }, (_, at) => word.slice(at, at + 2)));
  const wanted = pairs(id.toLowerCase());
  return CASES.map((one) => {
    const found = pairs(one.id.toLowerCase());
    const shared = [...wanted].filter((pair) => found.has(pair)).length;
    return [shared / (wanted.size + found.size), one];
  }).filter(([share]) => share > 0.2).sort((a, b) => b[0] - a[0]).slice(0, 5).map(([, one]) => one);
}
