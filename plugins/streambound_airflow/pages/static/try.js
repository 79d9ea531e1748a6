/* Try a query: the editor, its problems underlined while somebody types, and an address for what is in it. */
(() => {
  "use strict";

  const form = document.getElementById("try");
  const area = form.elements.sql;
  const status = document.getElementById("try-status");
  const place = document.getElementById("verdict");
  const limit = Number(form.dataset.limit);
  const CHOICES = ["dialect", "engine", "criterion"];
  // Half a second after the last key, one question at a time.
  const PAUSE = 500;
  let timer = 0;
  let asked = 0;
  let pending = null;

  // In the fragment, so that no server's log has it and no limit of addresses holds.
  const shared = new URLSearchParams(location.hash.slice(1));
  if (shared.has("sql")) area.value = shared.get("sql");
  CHOICES.forEach((name) => {
    const select = form.elements[name];
    if (Array.from(select.options).some((one) => one.value === shared.get(name))) select.value = shared.get(name);
  });

  const editor = window.streamboundEditor({
    parent: document.getElementById("editor"),
    text: area.value,
    label: area.getAttribute("aria-label"),
    schema: JSON.parse(form.dataset.schema),
    changed: () => {
      clearTimeout(timer);
      if (document.getElementById("live").checked) timer = setTimeout(decide, PAUSE);
    },
    decide: () => decide(),
  });
  area.hidden = true;

  const fragment = () => {
    const known = [["sql", editor.read()], ...CHOICES.map((name) => [name, form.elements[name].value])];
    return `#${new URLSearchParams(known.filter((pair) => pair[1]))}`;
  };

  const said = (text) => {
    place.replaceChildren();
    editor.mark([]);
    status.textContent = text;
  };

  async function decide() {
    clearTimeout(timer);
    const mine = ++asked;
    pending?.abort();
    const text = editor.read();
    if (!text.trim()) return said("");
    const size = new TextEncoder().encode(text).length;
    if (size > limit) {
      return said(`Too large: ${size.toLocaleString("en")} bytes, at most ${limit.toLocaleString("en")}.`);
    }
    pending = new AbortController();
    status.textContent = "Deciding…";
    try {
      const choices = CHOICES.map((name) => [name, form.elements[name].value || null]);
      const response = await fetch(form.getAttribute("action"), {
        method: "POST",
        credentials: "same-origin",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ sql: text, query: form.dataset.query, ...Object.fromEntries(choices) }),
        signal: pending.signal,
      });
      const told = response.ok ? null : await window.streambound.refusal(response);
      const found = response.ok ? await response.text() : "";
      if (mine !== asked) return;
      if (told !== null) return said(told);
      place.innerHTML = found;
      window.streambound.stacked(place);
      const marks = JSON.parse(document.getElementById("answer").dataset.marks);
      editor.mark(marks);
      const problems = marks.length === 1 ? "1 problem is" : `${marks.length} problems are`;
      const verdict = document.querySelector("#answer .verdict").textContent;
      status.textContent = `Decided: ${verdict}${marks.length ? `; ${problems} underlined` : ""}.`;
    } catch (error) {
      if (error.name === "AbortError" || mine !== asked) return;
      said("The server did not answer.");
    }
  }

  const share = async (button) => {
    const before = button.textContent;
    history.replaceState(null, "", fragment());
    // In Airflow's frame the address that people see is the frame's: its path leads here, the fragment too.
    let base = location.href.split("#")[0];
    try {
      if (window.parent !== window) base = window.parent.location.href.split("#")[0];
    } catch {
      // The frame is of another origin.
    }
    try {
      await window.streambound.copyText(base + fragment());
      button.textContent = "Copied";
    } catch {
      button.textContent = "The address has it";
    }
    setTimeout(() => { button.textContent = before; }, 2000);
  };

  form.addEventListener("submit", (event) => { event.preventDefault(); decide(); });
  CHOICES.forEach((name) => form.elements[name].addEventListener("change", decide));
  document.getElementById("share").addEventListener("click", (event) => share(event.currentTarget));
  decide();
})();
