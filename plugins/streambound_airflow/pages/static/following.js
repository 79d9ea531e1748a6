/* Runs while they live: asked for anew as long as one is under way; when the last has ended, so is the page. */
(() => {
  "use strict";
  const place = document.getElementById("following");
  if (!place) return;
  // Milliseconds: between two questions, and while nobody looks or the server does not answer.
  const SOON = 2000;
  const LATER = 10000;
  let timer = 0;

  const active = () => place.querySelector("[data-active=true]") !== null;
  // What is under way for this query alone is not started again.
  const mark = () => {
    const busy = new Set(Array.from(place.querySelectorAll("[data-busy]"), (one) => one.dataset.busy));
    document.querySelectorAll("button[data-start]").forEach((button) => {
      const mine = busy.has(button.dataset.start.split("/").pop());
      if (mine) button.dataset.waits = "";
      if (mine || button.dataset.waits === "") button.disabled = mine;
      if (!mine) delete button.dataset.waits;
    });
  };
  // What had the focus has it again, where it is still there.
  const kept = (change) => {
    const links = () => Array.from(place.querySelectorAll("a, [tabindex]"));
    const at = links().indexOf(document.activeElement);
    const { id, dataset } = document.activeElement ?? {};
    change();
    if (at >= 0) links()[at]?.focus();
    else if (id) document.getElementById(id)?.focus();
    else if (dataset?.start) document.querySelector(`[data-start="${CSS.escape(dataset.start)}"]`)?.focus();
  };
  const later = (pause) => {
    clearTimeout(timer);
    timer = setTimeout(ask, pause);
  };

  /* The page as it is now: what has ended may have changed any part of it. */
  const renew = async () => {
    const response = await fetch(location.href, { credentials: "same-origin" });
    if (!response.ok) return;
    const found = new DOMParser().parseFromString(await response.text(), "text/html");
    const [mine, fresh] = [document.getElementById("main"), found.getElementById("main")];
    const told = found.getElementById("following");
    // The script keeps its own place; everything around it is new.
    kept(() => {
      place.innerHTML = told.innerHTML;
      told.replaceWith(place);
      mine.replaceChildren(...fresh.childNodes);
      window.streambound.stacked(mine);
      mark();
    });
  };

  async function ask() {
    if (document.hidden) return later(LATER);
    const before = active();
    try {
      const response = await fetch(place.dataset.part, { credentials: "same-origin" });
      if (!response.ok) return later(LATER);
      const found = await response.text();
      kept(() => { place.innerHTML = found; });
      mark();
      if (active()) return later(SOON);
      if (before) await renew();
    } catch {
      later(LATER);
    }
  }

  document.addEventListener("streambound:started", ask);
  mark();
  if (active()) later(SOON);
})();
