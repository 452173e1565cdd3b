// Which cases are shown, in which order: kept in the address, so that a view can be pasted into a chat.

const FILTERS = ["q", "status", "change", "check", "verdict", "tag", "sort"];
const NO_VERDICT = "(none)";
const SORTS = {
  worst: ["Worst first", null],
  id: ["Case", (one) => one.id],
  status: ["Status", (one) => ["failed", "error", "not_run", "known", "passed"].indexOf(one.status)],
  verdict: ["Verdict", (one) => one.verdict],
  evidence: ["Evidence", (one) => (one.evidence[1] ? one.evidence[0] / one.evidence[1] : null)],
  keywords: ["Keywords", (one) => (one.keywords[1] ? one.keywords[0] / one.keywords[1] : null)],
  calls: ["Calls", (one) => one.calls],
  time: ["Time", (one) => one.time],
};

function valueOf(filters, key) {
  return filters[key] || "";
}

function matches(one, filters) {
  const status = valueOf(filters, "status");
  if (status === "bad" ? one.status === "passed" || one.status === "known" : status && one.status !== status) return false;
  if (filters.change && one.change !== filters.change) return false;
  if (filters.check && !one.checks.includes(filters.check)) return false;
  if (filters.verdict && (one.verdict === null ? NO_VERDICT : one.verdict) !== filters.verdict) return false;
  if (filters.tag && !one.tags.includes(filters.tag)) return false;
  const words = valueOf(filters, "q").toLowerCase().split(/\s+/u).filter(Boolean);
  return words.every((word) => searched(one).includes(word));
}

/** How bad a case is, for the order in which a person wants to read. */
function badness(one) {
  if (one.change === "regression" && one.status !== "passed") return 0;
  const order = { failed: 1, error: 2, not_run: 3, known: 5, passed: 6 }[one.status];
  return one.change === "regression" ? 4 : order;
}

function compare(a, b) {
  // Unknown last, whatever the direction.
  if (a === null || b === null) return (a === null) - (b === null);
  return a < b ? -1 : a > b ? 1 : 0;
}

function ordered(cases, sort) {
  const down = sort.startsWith("-");
  const name = sort.replace(/^-/u, "");
  const key = (SORTS[name] || SORTS.worst)[1];
  if (key === null) return cases.sort((a, b) => badness(a) - badness(b) || a.position - b.position);
  return cases.sort((a, b) => {
    const [left, right] = [key(a), key(b)];
    const order = compare(left, right);
    return (down && left !== null && right !== null ? -order : order) || a.position - b.position;
  });
}

function chosen(filters) {
  return ordered(CASES.filter((one) => matches(one, filters)), valueOf(filters, "sort") || "worst");
}

function readAddress() {
  const found = {};
  for (const part of location.hash.slice(1).split("&")) {
    const at = part.indexOf("=");
    if (at < 1) continue;
    try {
      found[part.slice(0, at)] = decodeURIComponent(part.slice(at + 1));
    } catch {
      // Half an escape, cut by whoever pasted it: as it stands.
      found[part.slice(0, at)] = part.slice(at + 1);
    }
  }
  return found;
}

function address(parts) {
  const written = Object.entries(parts).filter(([, value]) => value);
  return "#" + written.map(([key, value]) => key + "=" + encodeURIComponent(value)).join("&");
}

/** The values that a filter offers, with how many cases each has. */
function options() {
  const counts = { status: new Map(), change: new Map(), check: new Map(), verdict: new Map(), tag: new Map() };
  const add = (map, key) => map.set(key, (map.get(key) || 0) + 1);
  for (const one of CASES) {
    add(counts.status, one.status);
    if (one.change) add(counts.change, one.change);
    for (const check of new Set(one.checks)) add(counts.check, check);
    add(counts.verdict, one.verdict === null ? NO_VERDICT : one.verdict);
    for (const tag of new Set(one.tags)) add(counts.tag, tag);
  }
  return counts;
}
