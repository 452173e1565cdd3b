// The table of cases: a page of rows at a time, so that ten thousand cases cost no more than a hundred.

const PAGE_ROWS = 100;
const MOST_OPTIONS = 500;
const COLUMNS = ["status", "id", "verdict", "evidence", "keywords", "calls", "time"];
const NUMBERS = new Set(["evidence", "keywords", "calls", "time"]);

const at = (id) => document.getElementById(id);
const state = { filters: {}, page: 0, cases: [], scroll: 0, open: null };

function fillOptions() {
  const counts = options();
  const fill = (id, all, entries, words) => {
    at(id).replaceChildren(
      make("option", { value: "" }, all),
      ...entries.slice(0, MOST_OPTIONS).map(([value, count]) => make("option", { value }, brief(words(value), 60) + " (" + figure(count) + ")")),
    );
  };
  const byCount = (map) => [...map].sort((a, b) => b[1] - a[1] || compare(a[0], b[0]));
  const status = ["failed", "error", "not_run", "known", "passed"].filter((key) => counts.status.has(key)).map((key) => [key, counts.status.get(key)]);
  const bad = CASES.filter((one) => one.status !== "passed" && one.status !== "known").length;
  fill("status", "any", [...(bad ? [["bad", bad]] : []), ...status], (key) => (key === "bad" ? "not passed" : STATUS_WORDS[key]));
  fill("change", "any", DATA.severities.filter((key) => counts.change.has(key)).map((key) => [key, counts.change.get(key)]), (key) => CHANGE_WORDS[key]);
  fill("check", "any", byCount(counts.check), (key) => key);
  fill("verdict", "any", byCount(counts.verdict), (key) => key);
  fill("tag", "any", byCount(counts.tag), (key) => key);
  at("sort").replaceChildren(
    ...Object.entries(SORTS).flatMap(([key, [words, by]]) => [
      make("option", { value: by ? key : "" }, words),
      ...(by && key !== "status" ? [make("option", { value: "-" + key }, words + ", down")] : []),
    ]),
  );
  at("change-label").hidden = !DATA.compared;
}

function header() {
  const sort = valueOf(state.filters, "sort");
  return COLUMNS.map((name) => {
    const down = sort === "-" + name;
    const sorted = sort === name || down;
    const button = make("button", { type: "button", class: "sort" }, SORTS[name][0], make("span", { "aria-hidden": "true" }, sorted ? (down ? " ▾" : " ▴") : ""));
    button.addEventListener("click", () => setFilters({ ...state.filters, sort: sort === name ? "-" + name : name }));
    return make("th", { scope: "col", class: NUMBERS.has(name) ? "number" : null, "aria-sort": sorted ? (down ? "descending" : "ascending") : null }, button);
  });
}

function share([found, all]) {
  return all ? make("span", { class: found < all ? "less" : null }, found + "/" + all) : "–";
}

function row(one) {
  const cell = (name, ...children) => make("td", { "data-name": SORTS[name][0], class: NUMBERS.has(name) ? "number" : null }, children);
  const link = make("a", { class: "case-id", href: address({ case: one.id }) }, one.id);
  const trials = one.trials > 1 ? " " + one.passedTrials + " of " + counted(one.trials, "trial") + " passed" : "";
  return make(
    "tr",
    { class: "is-" + one.status },
    cell("status", statusBadge(one.status), one.change ? make("span", { class: "changed changed-" + one.change }, CHANGE_WORDS[one.change]) : null),
    make(
      "th",
      { scope: "row" },
      link,
      make("span", { class: "question" }, brief(one.question, 160), trials),
      one.why ? make("span", { class: "why" }, one.checks.length ? make("code", { class: "check" }, one.checks[0]) : null, " ", brief(one.why, 200), one.checks.length > 1 ? make("b", {}, " +" + (one.checks.length - 1) + " more") : null) : null,
    ),
    cell("verdict", one.verdict === null ? "–" : brief(one.verdict, 40)),
    cell("evidence", share(one.evidence)),
    cell("keywords", share(one.keywords)),
    cell("calls", figure(one.calls)),
    cell("time", duration(one.time)),
  );
}

function drawRows(from, count) {
  at("table").tBodies[0].replaceChildren(...state.cases.slice(from, from + count).map(row));
}

function drawTable() {
  const total = state.cases.length;
  const pages = Math.max(1, Math.ceil(total / PAGE_ROWS));
  state.page = Math.min(Math.max(0, state.page), pages - 1);
  const from = state.page * PAGE_ROWS;
  at("table").tHead.rows[0].replaceChildren(...header());
  drawRows(from, PAGE_ROWS);
  const all = total === CASES.length ? counted(total, "case") : figure(total) + " of " + counted(CASES.length, "case");
  at("shown").textContent = all;
  at("table").hidden = total === 0;
  at("pages").hidden = pages === 1;
  at("page").textContent = figure(from + 1) + "–" + figure(Math.min(total, from + PAGE_ROWS)) + " of " + figure(total);
  at("back").disabled = state.page === 0;
  at("forth").disabled = state.page === pages - 1;
}

/** Show what the filters choose, and put them into the form and the address. */
function applyFilters(filters) {
  state.filters = Object.fromEntries(FILTERS.filter((key) => filters[key]).map((key) => [key, filters[key]]));
  state.cases = chosen(state.filters);
  state.page = 0;
  for (const key of FILTERS) {
    const value = valueOf(state.filters, key);
    const field = at(key);
    if (field.tagName === "SELECT" && value && ![...field.options].some((option) => option.value === value)) {
      field.append(make("option", { value }, brief(value, 60) + " (0)"));
    }
    if (field.value !== value) field.value = value;
  }
  drawTable();
}

function setFilters(filters) {
  applyFilters(filters);
  history.replaceState(null, "", address(state.filters));
}

function turn(pages) {
  state.page += pages;
  drawTable();
  at("cases").scrollIntoView();
  const link = document.querySelector("#table a.case-id");
  if (link) link.focus({ preventScroll: true });
}
