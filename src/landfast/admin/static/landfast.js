// What a script adds to pages that work without one: live changes, keys, and a question before something risky.
// No other file is loaded, nothing is evaluated, and what the server sends is put in place only as parts of a page of ours.
"use strict";

const body = document.body;
const state = document.querySelector("[data-live-state]");
const drawnAt = () => new Date(body.dataset.drawn).toISOString().slice(11, 19);
let source = null, timer = null, isPaused = false, isFetching = false, last = 0;

const LEAST_MS = Number(document.querySelector("[data-pace]")?.dataset.pace) || 5000;  // between two looks
const QUIET_MS = 15000;     // without a word from the stream the page looks by itself, for ages to be true

function say(word, text) {
  if (state) { state.dataset.state = word; state.textContent = text; }
}

function isInHand() {
  // Whoever types, chooses or marks something keeps what is there.
  const focus = document.activeElement;
  const typing = focus && focus.closest("main form") && focus.id !== "filter" && focus.tagName !== "BUTTON";
  const fields = [...document.querySelectorAll("main form input:not([data-select]):not(#filter), main form textarea")];
  const filled = fields.some((field) => field.value !== field.defaultValue || field.checked !== field.defaultChecked);
  return typing || filled || document.querySelector("dialog[open]") || !getSelection().isCollapsed;
}

function isKept() {
  if (document.hidden || isPaused) return true;
  if (!isInHand()) return false;
  say("paused", `kept at ${drawnAt()} for your input`);
  return true;
}

async function look() {
  timer = null;
  if (isFetching || isKept()) { later(LEAST_MS); return; }
  isFetching = true; last = Date.now();
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html", "Landfast-Look": String(LEAST_MS) }, credentials: "same-origin" });
    const text = await answer.text();
    if (isKept()) { isFetching = false; later(LEAST_MS); return; }  // somebody has begun to type meanwhile
    if (answer.status === 401) { location.reload(); return; }  // a session is over: a page that is opened anew signs in again
    if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
    replaceParts(new DOMParser().parseFromString(text, "text/html"));
    say("live", "live");
  } catch (error) {
    say("stale", `stale since ${drawnAt()}`);
  }
  isFetching = false;
  later(Number(document.querySelector("[data-poll]")?.dataset.poll) || QUIET_MS);  // what changes faster than the stream tells
}

function later(ms) {
  if (timer) clearTimeout(timer);
  timer = setTimeout(look, Math.max(0, ms));
}

function replaceParts(fresh) {
  const unfolded = new Set([...document.querySelectorAll("details[open][id]")].map((each) => each.id));
  const chosen = new Set([...document.querySelectorAll("input[data-select]:checked")].map((each) => each.value));
  const here = document.querySelector("tr.here")?.dataset.row;
  for (const part of document.querySelectorAll("[data-live]")) {
    const other = fresh.querySelector(`[data-live="${CSS.escape(part.dataset.live)}"]`);
    if (other && other.innerHTML !== part.innerHTML) part.replaceChildren(...other.childNodes);
  }
  body.dataset.drawn = fresh.body.dataset.drawn;
  for (const id of unfolded) document.getElementById(id)?.setAttribute("open", "");
  for (const box of document.querySelectorAll("input[data-select]")) box.checked = chosen.has(box.value);
  // Among those that the keys go through: a row of a group is named after one of its events.
  if (here) rows().find((row) => row.dataset.row === here)?.classList.add("here");
}

function listen() {
  if (!body.dataset.stream || !document.querySelector("[data-live]") || !window.EventSource) return;
  source = new EventSource(body.dataset.stream);
  source.onopen = () => say(isPaused ? "paused" : "live", isPaused ? `paused at ${drawnAt()}` : "live");
  source.onerror = () => say("stale", `stale since ${drawnAt()}`);
  // All open pages hear the same beat: each looks at a moment of its own after it, and all share what was drawn for the first.
  const share = Math.random() / 5;
  source.addEventListener("beat", (event) => {
    const beatMs = 1000 * JSON.parse(event.data).seconds;
    if (!isPaused && !document.querySelector("[data-poll]")) later(Math.max(share * beatMs, LEAST_MS - (Date.now() - last)));
  });
  later(document.querySelector("[data-poll]") ? LEAST_MS : QUIET_MS);
}
document.addEventListener("visibilitychange", () => { if (!document.hidden && source) later(0); });

// Keys
const rows = () => {
  // Where rows can be chosen, the keys go through those alone.
  const all = [...document.querySelectorAll("tr[data-row]")], some = all.filter((row) => row.querySelector("input[data-select]"));
  return some.length ? some : all;
};
function move(step) {
  const all = rows(), at = all.findIndex((row) => row.classList.contains("here"));
  const next = all[Math.min(all.length - 1, Math.max(0, at + step))];
  if (!next) { document.querySelector(step > 0 ? "a[rel=next]" : "a[rel=prev]")?.click(); return; }
  all[at]?.classList.remove("here");
  next.classList.add("here");
  next.scrollIntoView({ block: "nearest" });
}
const keys = {
  "/": () => { const box = document.getElementById("filter"); box.focus(); box.select(); },
  j: () => move(1),
  k: () => move(-1),
  x: () => document.querySelector("tr.here input[data-select]")?.click(),
  Enter: () => document.querySelector("tr.here a[data-open]")?.click(),
  r: () => {
    const chosen = document.querySelector("input[data-select]:checked") && document.querySelector("button[data-selected]");
    (chosen || document.querySelector("[data-key=r]"))?.click();
  },
  p: () => {
    isPaused = !isPaused;
    if (isPaused) say("paused", `paused at ${drawnAt()}`); else { say("live", "live"); later(0); }
  },
  "?": () => document.getElementById("keys").showModal(),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const inField = event.target.closest("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape" && inField) { inField.blur(); return; }
  if (inField || document.querySelector("dialog[open]")) return;
  if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
  const does = keys[event.key];
  if (does) { event.preventDefault(); does(); }
});

// A question before something risky; the server asks as well, by what has to be typed.
document.addEventListener("submit", (event) => {
  const words = event.submitter?.dataset.confirm;
  if (words && !window.confirm(words)) event.preventDefault();
});
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = document.getElementById(button.dataset.copy).textContent;
  try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; } catch { button.textContent = "Select it, and copy"; }
});

// Completion inside a filter of several terms: a datalist completes the whole value, so its options are made to begin with
// what stands before the term that is being typed.
const filter = document.getElementById("filter"), terms = document.getElementById("filter-terms");
if (filter && terms) {
  const all = [...terms.options].map((option) => option.value);
  filter.addEventListener("input", () => {
    const before = filter.value.slice(0, filter.value.lastIndexOf(" ") + 1);
    const typed = filter.value.slice(before.length);
    const fit = all.filter((each) => each.startsWith(typed) && each !== typed).slice(0, 24);
    terms.replaceChildren(...fit.map((each) => { const option = document.createElement("option"); option.value = before + each; return option; }));
  });
}

// A page that is asked for and not here yet says so.
addEventListener("beforeunload", () => { document.body.classList.add("loading"); say("", "loading"); });
addEventListener("pageshow", () => document.body.classList.remove("loading"));

// On a phone the navigation is one line: the page that is open stands in its middle.
document.querySelector(".side [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

listen();
