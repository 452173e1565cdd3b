// One case opened: the same as `diagnosis-eval explain` tells.

const PURPOSES = {
  "root-cause": "root cause",
  "forbidden-answer": "forbidden in the answer",
  "forbidden-claim": "must not be confirmed",
  "degraded-required": "degraded output, any one of these",
  "degraded-forbidden": "forbidden in a degraded answer",
  "protocol-marker": "raw protocol",
};
const WANTED = new Set(["root-cause", "degraded-required"]);
const MARKS = {
  found: ["✓", "root-cause keyword"],
  degraded: ["✓", "says that this is a degraded answer"],
  forbidden: ["✗", "must not stand here"],
  leak: ["!", "repeats what was not verified"],
};
const LEFT_OUT = "left out of this run (--no-text)";
const BAD_CLAIMS = new Set(["unsupported", "contradicted"]);

const sign = (good) => make("span", { class: "sign " + (good === null ? "neutral" : good ? "good" : "bad"), "aria-hidden": "true" }, good === null ? "·" : good ? "✓" : "✗");

function part(title, note, ...children) {
  const id = "part-" + title.toLowerCase().replace(/[^a-z]+/g, "-");
  return make("section", { class: "part", "aria-labelledby": id }, make("h3", { id }, title, note ? make("span", { class: "note" }, " ", note) : null), children);
}

function pairs(entries) {
  return make("dl", { class: "pairs" }, entries.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

function failedPart(it) {
  const checks = it.failed || [];
  if (!checks.length && !it.reason) return null;
  return part(
    it.reason ? "Why it was not judged" : "Why it failed",
    checks.length > 1 ? counted(checks.length, "failed check") : "",
    it.reason ? make("p", {}, it.reason) : null,
    make("ul", { class: "failed" }, checks.map((one) =>
      make("li", {},
        make("p", {}, make("code", { class: "check", title: DATA.meanings[one.check] }, one.check), one.known ? make("span", { class: "note" }, " known") : null, " ", one.message),
        pairs([["expected", one.expected], ["observed", one.observed]])))),
  );
}

/** A check that begins to fail has had its say above. */
function changeWords(one) {
  return one.kind === "check" && one.severity === "regression" ? "held in the baseline and fails now" : one.message;
}

function changesPart(it) {
  if (!DATA.compared) return null;
  const items = it.changes || [];
  return part("Since the baseline", "",
    items.length
      ? make("ul", { class: "changes" }, items.map((one) => make("li", {}, make("span", { class: "changed changed-" + one.severity }, CHANGE_WORDS[one.severity]), " ", one.tool || one.check ? make("code", {}, one.tool || one.check) : null, " ", changeWords(one))))
      : make("p", {}, "Nothing changed in this case."));
}

/** An entry of the legend: goes to the first such mark in the answer, then to the next. */
function jump(mark, body) {
  const button = make("button", { type: "button", class: "jump mark-" + mark }, make("span", { class: "glyph" }, MARKS[mark][0]), MARKS[mark][1]);
  let number = 0;
  button.addEventListener("click", () => {
    const found = body.getElementsByClassName("mark-" + mark);
    found[number % found.length].scrollIntoView({ block: "center" });
    number += 1;
  });
  return button;
}

function answerPart(it) {
  if (!it.answer) {
    return it.status === "error" || it.status === "not_run" ? null : part("Answer", "", make("p", { class: "note" }, DATA.text ? "none" : LEFT_OUT));
  }
  const marks = Object.keys(MARKS).filter((mark) => it.answer.some((piece) => piece.mark === mark));
  const body = make("div", { class: "answer", dir: "auto", tabindex: "0", role: "region", "aria-label": "Answer as written" });
  for (const piece of it.answer) {
    if (!piece.mark) put(body, piece.text);
    else body.append(make("mark", { class: "mark-" + piece.mark, title: (piece.labels || []).join(", ") }, make("span", { class: "glyph" }, MARKS[piece.mark][0]), piece.text));
  }
  return part("Answer", "",
    marks.length ? make("p", { class: "legend" }, marks.map((mark) => jump(mark, body))) : null,
    body,
    it.answerLength ? make("p", { class: "note" }, "Cut: the answer has " + figure(it.answerLength) + " characters.") : null);
}

function keywordWords(one) {
  if (one.found === undefined || one.found === null) return ["not known", null];
  if (!one.found) return one.purpose === "root-cause" ? ["missing", false] : ["not found", one.purpose === "degraded-required" ? null : true];
  const wanted = WANTED.has(one.purpose);
  if (!one.places) return ["found, its place cannot be shown", wanted];
  return [one.exact === false ? "found, its lines are marked" : one.places === 1 ? "found" : "found " + one.places + " times", wanted];
}

function keywordsPart(it) {
  const keywords = it.keywords || [];
  if (!keywords.length) return null;
  const rows = [];
  for (const purpose of Object.keys(PURPOSES)) {
    const entries = keywords.filter((one) => one.purpose === purpose);
    // What is forbidden and absent is no news, and told in one line.
    const absent = WANTED.has(purpose) ? [] : entries.filter((one) => one.found === false);
    for (const one of entries.filter((entry) => !absent.includes(entry))) {
      const none = purpose === "degraded-required" && entries.every((entry) => entry.found === false);
      const [said, judged] = keywordWords(one);
      const good = none ? false : judged;
      rows.push(make("li", {}, sign(good), make("span", { class: "entry" }, one.label), make("span", { class: "said" + (good === false ? " bad" : "") }, said + (purpose === "root-cause" ? "" : " · " + PURPOSES[purpose]))));
    }
    if (absent.length) rows.push(make("li", {}, sign(true), make("span", { class: "entry" }, absent.map((one) => one.label).join("; ")), make("span", { class: "said" }, "not found · " + PURPOSES[purpose])));
  }
  const roots = keywords.filter((one) => one.purpose === "root-cause");
  const found = roots.filter((one) => one.found).length;
  const note = roots.length && roots.every((one) => one.found !== null) ? found + " of " + roots.length + ", asked for: " + figure(100 * (it.minKeywordCoverage ?? 1)) + " %" : "";
  return part("Keywords", note, make("ul", { class: "signs" }, rows));
}

function numbers(calls) {
  return (calls.length === 1 ? "call " : "calls ") + calls.slice(0, 10).join(", ") + (calls.length > 10 ? " and " + (calls.length - 10) + " more" : "");
}

function requirementWords(one, policy) {
  const [calls, failed] = [one.calls || [], one.failedCalls || []];
  if (one.covered === undefined || one.covered === null) return "not judged";
  const met = calls.length ? "met by " + numbers(calls) : "met by the Verifier's trace summary, without a call";
  if (one.covered) return met + (failed.length ? "; " + numbers(failed) + " failed" : "");
  if (failed.length && policy === "succeeded") return "called, but " + numbers(failed) + " failed";
  return one.summarised ? "only in the Verifier's trace summary, which is no successful call" : "never called";
}

function evidencePart(it) {
  const requirements = it.requirements || [];
  if (!requirements.length) return null;
  const policy = it.evidencePolicy || "invoked";
  return part("Required evidence", policy === "succeeded" ? "a call must not have failed" : "",
    make("ul", { class: "signs" }, requirements.map((one) => make("li", {}, sign(one.covered ?? null), make("span", { class: "entry" }, one.label), make("span", { class: "said" + (one.covered === false ? " bad" : "") }, requirementWords(one, policy))))));
}

/** JSON on lines of its own where it is JSON. */
function pretty(text) {
  if (text.length > 20000 || !/^\s*[[{]/u.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function callRow(call, longest) {
  const time = call.durationMs ?? null;
  const details = [["arguments", call.arguments], ["error", call.error], ["result", call.result]].filter(([, value]) => value !== null && value !== undefined);
  const head = [
    make("span", { class: "number" }, call.number), sign(!call.failed),
    make("span", { class: "tool" }, call.tool ?? "a call without a name"),
    call.failed ? make("span", { class: "said bad" }, "failed") : null,
    call.forbidden ? make("span", { class: "said bad" }, "a forbidden tool") : null,
    call.meets ? make("span", { class: "meets" }, "meets " + call.meets.join(", ")) : null,
    make("span", { class: "time" }, time === null ? "" : duration(time), time === null ? null : make("span", { class: "track" }, make("span", { class: "bar", style: "width:" + Math.max(1, (100 * time) / longest).toFixed(1) + "%" }))),
  ];
  if (!details.length) return make("li", { class: "call" }, make("div", { class: "line" }, head));
  return make("li", { class: "call" }, make("details", { open: Boolean(call.failed) }, make("summary", {}, head), details.map(([name, value]) => make("div", { class: "text" }, make("h4", {}, name), make("pre", { dir: "auto", tabindex: "0" }, pretty(value))))));
}

function callsPart(it) {
  const calls = it.calls || [];
  if (it.callCount === undefined || it.callCount === null) {
    return it.status === "error" || it.status === "not_run" ? null : part("Tool calls", "", make("p", { class: "note" }, "The trace does not say (no toolInvocations)."));
  }
  const longest = Math.max(1, ...calls.map((call) => call.durationMs ?? 0));
  const left = it.callCount - calls.length;
  return part("Tool calls", figure(it.callCount) + (DATA.text ? "" : "; arguments and results are " + LEFT_OUT),
    make("ol", { class: "calls" }, calls.map((call) => callRow(call, longest))),
    left > 0 ? make("p", { class: "note" }, "… and " + figure(left) + " more") : null);
}

function claimRow(claim, it) {
  const checks = claim.checks || [];
  const bad = checks.some((check) => BAD_CLAIMS.has(check.verification));
  return make("li", { class: bad ? "bad-claim" : null },
    make("p", {}, make("code", {}, claim.claimId ?? "no id"), " ", claim.text ?? (DATA.text ? "(no text)" : "(" + LEFT_OUT + ")")),
    make("p", { class: "bound" }, "evidence: ", (claim.tools || []).length ? claim.tools.map((tool) => make("span", { class: "chip" + (tool.called ? "" : " bad") }, (tool.tool ?? "without a name") + (tool.called ? "" : " (never called)"))) : "none bound"),
    checks.map(checkRow),
    checks.length || it.claimCheckCount === undefined ? null : make("p", { class: "said bad" }, "not checked by the Verifier"));
}

function checkRow(check) {
  const bad = check.verification === undefined || BAD_CLAIMS.has(check.verification);
  return make("p", { class: "verified" }, make("span", { class: "verification " + (bad ? "bad" : check.verification === "supported" ? "good" : "neutral") }, check.verification ?? "no verification"), " ", check.detail ?? "");
}

function chainPart(it) {
  if (it.status === "error" || it.status === "not_run") return null;
  const claims = it.claims || [];
  const failed = new Set((it.failed || []).map((one) => one.check));
  const counts = new Map();
  for (const check of claims.flatMap((claim) => claim.checks || []).concat(it.strayChecks || [])) counts.set(check.verification ?? "no verification", (counts.get(check.verification ?? "no verification") || 0) + 1);
  const verdict = it.verdict === undefined ? "no verdict" : it.verdict + (it.score === undefined ? "" : " (score " + figure(it.score) + ")");
  const wrong = failed.has("verdict-allowed") || failed.has("verdict-present");
  const leaking = ["raw-protocol-leak", "degraded-output", "forbidden-confirmed-claims", "forbidden-answer-keywords", "unsupported-claim-text", "answer-present", "root-cause-keywords"].filter((check) => failed.has(check));
  const link = (name, good, ...said) => make("li", { class: good === null ? null : good ? "good" : "bad" }, make("h4", {}, name), said.filter(Boolean).map((one) => make("p", {}, one)));
  return part("Audit chain", "",
    make("ol", { class: "chain" },
      link("Executor", failed.has("claim-bindings") ? false : null, claims.length ? counted(claims.length, "claim") : "no claims recorded"),
      link("Gatekeeper", it.gatekeeperStatus === undefined ? null : it.gatekeeperStatus === "pass", it.gatekeeperStatus ?? "nothing recorded", (it.violations || []).join("; ")),
      link("Verifier", !wrong, verdict, wrong && (it.allowedVerdicts || []).length ? "allowed: " + it.allowedVerdicts.join(", ") : "", [...counts].map(([word, count]) => count + " " + word).join(", ")),
      link("Composer", failed.has("composer-auditable") ? false : null, it.composerStatus ?? "nothing recorded"),
      link("Answer", !leaking.length, leaking.length ? leaking.join(", ") : "nothing against it")),
    it.executorAnswer ? make("details", {}, make("summary", {}, "The Executor's answer before verification"), make("div", { class: "answer", dir: "auto" }, it.executorAnswer)) : null,
    claims.length ? make("ul", { class: "claims" }, claims.map((claim) => claimRow(claim, it))) : null,
    (it.strayChecks || []).length ? make("div", {}, make("h4", {}, "Claim checks of no known claim"), make("ul", { class: "claims" }, it.strayChecks.map((check) => make("li", {}, make("code", {}, check.claimId ?? "no id"), checkRow(check))))) : null);
}

function otherChecksPart(it) {
  const list = (title, checks) => (checks.length ? make("details", {}, make("summary", {}, title + " (" + checks.length + ")"), make("ul", { class: "meanings" }, checks.map((number) => make("li", {}, make("code", {}, DATA.checks[number]), " ", DATA.meanings[DATA.checks[number]] || "")))) : null);
  if (!it.passed.length && !it.skipped.length) return null;
  return part("Other checks", "", list("Passed", it.passed), list("Not asked for", it.skipped));
}

function trialsPart(one, it) {
  const trials = explanationOf(one, null).trials || [];
  if (trials.length < 2) return null;
  const held = new Set(one.places.map(([trial]) => trial));
  return part("Trials", one.passedTrials + " of " + one.trials + " passed",
    make("ul", { class: "trials" }, trials.map((trial) => {
      const name = "trial " + trial.trial;
      const shown = trial.trial === it.trial ? make("b", { "aria-current": "true" }, name) : held.has(trial.trial) ? make("a", { href: address({ case: one.id, trial: String(trial.trial) }) }, name) : name;
      return make("li", {}, statusBadge(trial.status), " ", shown, " ", trial.traceId || "", " ", (trial.failedChecks || []).join(", "));
    })));
}

function factsPart(it) {
  return part("Trace", "", pairs([
    ["trace", it.traceId], ["file", it.file === undefined ? null : it.file + (it.line === undefined ? "" : ":" + it.line)], ["run status", it.runStatus], ["model", it.model],
    ["duration", it.durationMs === undefined ? null : duration(it.durationMs)], ["tokens", it.totalTokens === undefined ? null : figure(it.totalTokens)], ["cost", it.costUsd === undefined ? null : "$" + figure(it.costUsd)],
  ]));
}

/** The whole of an opened case. */
function explained(one, it) {
  return [
    it.knownReason && one.status === "known" ? make("p", { class: "note" }, "Known: ", it.knownReason) : null,
    it.brief ? make("p", { class: "note" }, "Arguments and results are left out to keep this file small; see them with: diagnosis-eval explain " + one.id) : null,
    make("div", { class: "columns" },
      make("div", { class: "column" }, failedPart(it), changesPart(it), answerPart(it)),
      make("div", { class: "column" }, keywordsPart(it), evidencePart(it), trialsPart(one, it), factsPart(it))),
    callsPart(it), chainPart(it), otherChecksPart(it),
  ];
}
