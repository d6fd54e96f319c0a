// What a script adds to pages that work without one: live changes, keys, and a question before something risky.
// No other file is loaded, nothing is evaluated, and what the server sends is put in place only as parts of a page of ours.
"use strict";

const body = document.body;
const state = document.querySelector("[data-live-state]");
const drawnAt = () => new Date(body.dataset.drawn).toISOString().slice(11, 19);
let source = null, timer = null, isPaused = false, isFetching = false, last = 0;

const LEAST_MS = Number(document.querySelector("[data-pace]")?.dataset.pace) || 5000;  // between two looks
const QUIET_MS = 15000;     // without a word from the stream the page looks by itself, for ages to be true
const ANSWER_MS = 15000;    // a look without an answer for so long has failed
const AGAIN_MS = 10000;     // a stream that was refused, and not only cut, is asked for again after that

const liveParts = (page) => [...page.querySelectorAll("[data-live]")];
const sent = new WeakMap(liveParts(document).map((part) => [part, part.innerHTML]));  // unlike what is there, it has no folds

function say(word, text) {
  if (state) { state.dataset.state = word; state.textContent = text; }
}
const sayStale = () => say("stale", `stale since ${drawnAt()}`);
function sayHowItStands() {
  if (isPaused) say("paused", `paused at ${drawnAt()}`);
  else if (source?.readyState === EventSource.OPEN) say("live", "live");
  else sayStale();
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
    const headers = { Accept: "text/html", "Landfast-Look": String(LEAST_MS) };
    const answer = await fetch(location.href, { headers, credentials: "same-origin", signal: AbortSignal.timeout(ANSWER_MS) });
    const text = await answer.text();
    if (isKept()) { isFetching = false; later(LEAST_MS); return; }  // somebody has begun to type meanwhile
    if (answer.status === 401) { location.reload(); return; }  // a session is over: a page that is opened anew signs in again
    if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(text, "text/html");
    // A page that was opened while a question failed has other parts than a whole one, and nowhere to put those.
    if (names(fresh) !== names(document)) { location.reload(); return; }
    replaceParts(fresh);
    sayHowItStands();
  } catch (error) {
    sayStale();
  }
  isFetching = false;
  later(Number(document.querySelector("[data-poll]")?.dataset.poll) || QUIET_MS);  // what changes faster than the stream tells
}

function later(ms) {
  if (timer) clearTimeout(timer);
  timer = setTimeout(look, Math.max(0, ms));
}

const names = (page) => liveParts(page).map((part) => part.dataset.live).sort().join();

// What a control does, and not where it stands: rows move, and the focus must not come to the button of another one.
function deedOf(control) {
  const fields = control.matches("button") && control.form ? new URLSearchParams(new FormData(control.form)) : "";
  return [control.getAttribute("href") || control.outerHTML, control.closest("details")?.id, control.form?.action, fields].join();
}

function replacePart(part, children) {
  const scrolled = () => [...part.querySelectorAll("pre, .scroll, .drawing")];
  const folds = [...part.querySelectorAll("details[id]")].map((each) => [each.id, each.open]);
  const places = scrolled().map((each) => [each.scrollLeft, each.scrollTop]);
  part.replaceChildren(...children);
  for (const [id, open] of folds) { const fold = document.getElementById(id); if (fold) fold.open = open; }
  // Where one more has come, or one less, nobody knows which is which.
  if (scrolled().length === places.length) scrolled().forEach((each, at) => each.scrollTo(...places[at]));
}

function replaceParts(fresh) {
  const chosen = new Set([...document.querySelectorAll("input[data-select]:checked")].map((each) => each.value));
  const here = document.querySelector("tr.here")?.dataset.row;
  const focus = document.activeElement, around = focus?.closest("[data-live]"), deed = around && deedOf(focus);
  const alike = () => [...around.querySelectorAll("a, button, summary, input")].filter((each) => deedOf(each) === deed);
  const nth = around ? alike().indexOf(focus) : -1;
  for (const part of liveParts(document)) {
    const other = fresh.querySelector(`[data-live="${CSS.escape(part.dataset.live)}"]`), html = other.innerHTML;
    if (html !== sent.get(part)) replacePart(part, other.childNodes);
    sent.set(part, html);
  }
  body.dataset.drawn = fresh.body.dataset.drawn;
  for (const box of document.querySelectorAll("input[data-select]")) box.checked = chosen.has(box.value);
  // Among those that the keys go through: a row of a group is named after one of its events.
  if (here) rows().find((row) => row.dataset.row === here)?.classList.add("here");
  if (around && !focus.isConnected) alike().at(nth)?.focus({ preventScroll: true });
}

function listen() {
  if (!body.dataset.stream || !document.querySelector("[data-live]") || !window.EventSource) return;
  source = new EventSource(body.dataset.stream);
  // What went on while nobody listened is looked at, and then the page is live again.
  source.onopen = () => { if (state?.dataset.state === "stale" && !isPaused) later(0); else sayHowItStands(); };
  source.onerror = () => {
    sayHowItStands();
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, AGAIN_MS);
  };
  // All open pages hear the same beat: each looks at a moment of its own after it, and all share what was drawn for the first.
  const share = Math.random() / 5;
  source.addEventListener("beat", (event) => {
    const beatMs = 1000 * JSON.parse(event.data).seconds;
    if (!isPaused && !document.querySelector("[data-poll]")) later(Math.max(share * beatMs, LEAST_MS - (Date.now() - last)));
  });
  if (!timer) later(document.querySelector("[data-poll]") ? LEAST_MS : QUIET_MS);
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
    if (!source) return;
    isPaused = !isPaused;
    sayHowItStands();
    if (!isPaused) later(0);
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
