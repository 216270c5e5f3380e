// Asks for the view again when the stream says that something has changed.
"use strict";
const view = document.getElementById("view");
const live = document.getElementById("live");
const changes = document.body.dataset.changes;
let asking = false, again = false;

async function renew() {
  if (asking) { again = true; return; }
  asking = true;
  try {
    const answer = await fetch(location.href);
    if (answer.ok) {
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      const form = view.contains(document.activeElement) && document.activeElement.form;
      if (!form) view.replaceChildren(...fresh.getElementById("view").childNodes);
      live.textContent = "live";
    } else {
      live.textContent = (await answer.text()).trim();
    }
  } catch {
    live.textContent = "not connected";
  }
  asking = false;
  if (again) { again = false; renew(); }
}

if (changes) {
  let first = true;
  const stream = new EventSource(changes);
  stream.onopen = () => { live.textContent = "live"; };
  stream.onmessage = () => { if (!first) renew(); first = false; };
  stream.onerror = () => { live.textContent = "not connected"; first = false; };
}
const film = document.getElementById("film");
if (film) film.querySelector("input").addEventListener("change", () => film.submit());
