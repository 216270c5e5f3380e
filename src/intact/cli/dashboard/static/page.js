// Asks for the view again when the stream says that something has changed, and changes only what
// differs: focus, selection and scroll positions stay.
"use strict";
const live = document.getElementById("live");
const changes = document.body.dataset.changes;
let shown = Number(document.body.dataset.number);
let asking = false, wanted = shown;

function keyOf(node) { return node.nodeType === Node.ELEMENT_NODE ? node.dataset.key ?? node.id : ""; }

function isSame(old, fresh) { return old.nodeName === fresh.nodeName && keyOf(old) === keyOf(fresh); }

function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeType !== Node.ELEMENT_NODE) { old.data = fresh.data; return; }
  if ("kept" in old.dataset) return;
  for (const { name } of [...old.attributes]) {
    const open = name === "open" && "keptOpen" in old.dataset;
    if (!fresh.hasAttribute(name) && !open) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  morphChildren(old, fresh);
}

function morphChildren(old, fresh) {
  const keyed = new Map();
  for (const child of old.children) if (keyOf(child)) keyed.set(keyOf(child), child);
  let next = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const known = keyed.get(keyOf(child));
    if (known && isSame(known, child)) {
      keyed.delete(keyOf(child));
      if (known === next) next = next.nextSibling; else old.insertBefore(known, next);
      morph(known, child);
    } else if (next && !keyOf(next) && isSame(next, child)) {
      const same = next;
      next = next.nextSibling;
      morph(same, child);
    } else {
      old.insertBefore(child, next);
    }
  }
  while (next) { const gone = next; next = next.nextSibling; gone.remove(); }
}

async function renew() {
  if (asking || document.hidden || wanted === shown) return;
  asking = true;
  const number = wanted;
  try {
    const answer = await fetch(location.href);
    if (answer.ok || answer.status === 404) { // what is gone is said on a page, too
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      const focused = document.activeElement;
      document.title = fresh.title;
      morphChildren(document.body, fresh.body);
      if (focused.isConnected) focused.focus({ preventScroll: true }); // what was moved has lost it
      live.textContent = changes ? "live" : "";
    } else {
      live.textContent = (await answer.text()).trim();
    }
    shown = number;
  } catch {
    live.textContent = "not connected";
  }
  asking = false;
  if (live.textContent !== "not connected") renew();
}

// A browser has six connections to one server: pages that are not seen give theirs back.
let stream = null;
function follow() {
  if (document.hidden) { stream?.close(); stream = null; return; }
  if (stream) return;
  stream = new EventSource(changes);
  stream.onopen = () => { live.textContent = "live"; };
  stream.onmessage = (message) => { wanted = Number(message.data); renew(); };
  stream.onerror = () => { live.textContent = "not connected"; };
}

if (changes) {
  follow();
  document.addEventListener("visibilitychange", follow);
}

// The slider of a film: the address follows it, and the view follows the address.
const film = document.getElementById("film");
function seek() {
  const query = `?${new URLSearchParams(new FormData(film))}`;
  if (query === location.search) return;
  history.replaceState(null, "", query);
  wanted += 1;
  renew();
}
if (film) for (const name of ["input", "change"]) film.addEventListener(name, seek);

document.addEventListener("keydown", (event) => {
  const filter = document.querySelector("[type=search]");
  if (event.key === "/" && filter && event.target.tagName !== "INPUT") { event.preventDefault(); filter.focus(); }
  if (event.key === "Escape" && event.target === filter) filter.blur();
});
