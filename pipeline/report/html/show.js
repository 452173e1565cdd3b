"use strict";

// Text of a trace reaches the page as text nodes only, never as markup.

// What a reader cannot see, or what changes the order of what he sees: shown as an escape.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/u;
const UNSEEN_RUN = /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;

function escapeOf(character) {
  const code = character.codePointAt(0).toString(16);
  if (code.length <= 2) return "\\x" + code.padStart(2, "0");
  return code.length <= 4 ? "\\u" + code.padStart(4, "0") : "\\U" + code.padStart(8, "0");
}

/** Put text into an element: line ends and tabs as they are, what cannot be seen as an escape. */
function put(parent, text) {
  if (!UNSEEN.test(text.replace(/[\n\t]/g, ""))) {
    parent.append(text);
    return parent;
  }
  let start = 0;
  for (const match of text.matchAll(UNSEEN_RUN)) {
    if (match[0] === "\n" || match[0] === "\t") continue;
    parent.append(text.slice(start, match.index));
    start = match.index + match[0].length;
    if (match[0] === "\r" && text[start] === "\n") continue;
    const mark = document.createElement("span");
    mark.className = "unprintable";
    mark.textContent = escapeOf(match[0]);
    parent.append(mark);
  }
  parent.append(text.slice(start));
  return parent;
}

/** An element with attributes and children; texts become text nodes, what is null is left out. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") element.className = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    if (child instanceof Node) element.append(child);
    else put(element, String(child));
  }
  return element;
}

/** Text on one line, cut. */
function brief(text, limit) {
  const line = text.replace(/\s+/gu, " ").trim();
  return line.length > limit ? line.slice(0, limit).trimEnd() + "…" : line;
}

function figure(value) {
  if (value === null || value === undefined) return "–";
  return value.toLocaleString("en-US", { maximumFractionDigits: Math.abs(value) < 0.01 ? 6 : 2 });
}

function duration(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "–";
  return milliseconds <= 10000 ? figure(milliseconds) + " ms" : figure(Math.round(milliseconds / 100) / 10) + " s";
}

function counted(count, noun, nouns) {
  return figure(count) + " " + (count === 1 ? noun : nouns || noun + "s");
}

const STATUS_WORDS = { passed: "passed", failed: "failed", error: "in error", not_run: "not run", known: "known failure" };
const CHANGE_WORDS = { regression: "worse", improvement: "better", change: "changed" };

function statusBadge(status) {
  return make("span", { class: "status status-" + status }, STATUS_WORDS[status]);
}
