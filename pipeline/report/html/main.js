// What the address says is what the page shows: `#case=ID` one case, anything else the overview with its filters.

function neighbours(one) {
  const cases = state.cases.includes(one) ? state.cases : CASES;
  const here = cases.indexOf(one);
  return [cases[here - 1], cases[here + 1], here + 1, cases.length];
}

function caseBar(one) {
  const bar = make("nav", { class: "case-bar", "aria-label": "Case" }, make("a", { class: "button", id: "to-all", href: address(state.filters) }, "← All cases"));
  if (!one) return bar;
  const [before, after, number, count] = neighbours(one);
  const go = (to, words, key) => (to ? make("a", { class: "button", rel: key, href: address({ case: to.id }) }, words) : make("span", { class: "button off" }, words));
  const copy = make("button", { type: "button", class: "button", id: "copy" }, "Copy link");
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      copy.textContent = "Copied";
    } catch {
      copy.textContent = "Copy it from the address bar";
    }
  });
  bar.append(go(before, "‹ Previous", "prev"), make("span", { class: "note" }, figure(number) + " of " + figure(count)), go(after, "Next ›", "next"), copy);
  return bar;
}

function openCase(id, trial) {
  const one = BY_ID.get(id);
  const article = at("case");
  const title = make("h2", { id: "case-title", tabindex: "-1" }, one ? one.id : "No such case");
  if (!one) {
    const close = near(id);
    article.replaceChildren(caseBar(null), title, make("p", {}, "This report has no case ", make("code", {}, brief(id, 120)), close.length ? ". Did you mean:" : "."), make("ul", {}, close.map((other) => make("li", {}, make("a", { href: address({ case: other.id }) }, other.id)))));
  } else {
    const it = explanationOf(one, trial);
    const badges = make("p", { class: "badges" }, statusBadge(one.status), one.change ? make("span", { class: "changed changed-" + one.change }, CHANGE_WORDS[one.change] + " than before") : null, one.tags.map((tag) => make("a", { class: "chip", href: address({ tag }) }, tag)));
    if (one.change === "change") badges.children[1].textContent = "changed since the baseline";
    article.replaceChildren(
      caseBar(one), title, badges,
      make("p", { class: "question", dir: "auto" }, it && it.question ? it.question : one.question),
      ...(it ? explained(one, it).filter(Boolean) : [make("p", { class: "note" }, "The explanation is left out to keep this file small; see it with: diagnosis-eval explain " + one.id + (trial === null ? "" : " --trial " + trial)), one.why ? make("p", {}, one.why) : ""]),
    );
  }
  if (!state.open) state.scroll = window.scrollY;
  state.open = id;
  at("overview").hidden = true;
  article.hidden = false;
  window.scrollTo(0, 0);
  title.focus({ preventScroll: true });
}

function closeCase() {
  const id = state.open;
  state.open = null;
  at("case").hidden = true;
  at("case").replaceChildren();
  at("overview").hidden = false;
  if (id === null) return;
  window.scrollTo(0, state.scroll);
  const link = [...document.querySelectorAll("#table a.case-id")].find((one) => one.textContent === id);
  if (link) link.focus({ preventScroll: true });
}

function route() {
  const asked = readAddress();
  if (asked.case !== undefined) {
    openCase(asked.case, /^\d+$/u.test(asked.trial || "") ? Number(asked.trial) : null);
    return;
  }
  const wanted = Object.fromEntries(FILTERS.filter((key) => asked[key]).map((key) => [key, asked[key]]));
  // `#cases` and other anchors leave the filters alone; coming back to the same ones keeps the page.
  const anchor = location.hash.length > 1 && !Object.keys(wanted).length;
  const changed = !anchor && address(wanted) !== address(state.filters);
  if (changed) applyFilters(wanted);
  closeCase();
  if (changed && Object.keys(wanted).length) at("cases").scrollIntoView();
}

function moveFocus(step) {
  const links = [...document.querySelectorAll("#table a.case-id")];
  const here = links.indexOf(document.activeElement);
  const to = links[here < 0 ? 0 : here + step];
  if (to) to.focus();
}

function onKey(event) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const typing = /^(?:INPUT|SELECT|TEXTAREA)$/u.test(event.target.tagName);
  if (event.key === "Escape" && state.open !== null) at("to-all").click();
  else if (typing) {
    if (event.key === "Escape") event.target.blur();
    return;
  } else if (state.open !== null && (event.key === "j" || event.key === "k")) {
    const to = document.querySelector('.case-bar a[rel="' + (event.key === "j" ? "next" : "prev") + '"]');
    if (to) to.click();
  } else if (event.key === "/" && state.open === null) at("q").focus();
  else if (event.key === "j" || event.key === "k") moveFocus(event.key === "j" ? 1 : -1);
  else return;
  event.preventDefault();
}

// On paper nothing can be opened or turned over: all of it is shown for as long as it is printed.
const PRINTED_ROWS = 2000;
let closedDetails = [];

function beforePrint() {
  closedDetails = [...document.querySelectorAll("details:not([open])")];
  for (const one of closedDetails) one.open = true;
  if (state.open === null) drawRows(0, PRINTED_ROWS);
}

function afterPrint() {
  for (const one of closedDetails) one.open = false;
  if (state.open === null) drawTable();
}

function start() {
  fillOptions();
  for (const id of ["filters", "keys"]) at(id).hidden = false;
  at("filters").addEventListener("submit", (event) => event.preventDefault());
  at("filters").addEventListener("input", (event) => setFilters({ ...state.filters, [event.target.id]: event.target.value }));
  at("filters").addEventListener("reset", (event) => {
    event.preventDefault();
    setFilters({});
    at("q").focus();
  });
  at("back").addEventListener("click", () => turn(-1));
  at("forth").addEventListener("click", () => turn(1));
  addEventListener("hashchange", route);
  addEventListener("keydown", onKey);
  addEventListener("beforeprint", beforePrint);
  addEventListener("afterprint", afterPrint);
  applyFilters({});
  route();
}

start();
