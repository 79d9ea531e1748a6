/* What the pages do beyond links and forms: sort, filter, copy, start a run. */
(() => {
  "use strict";

  const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));

  /* Sorting: a button in a heading; what is empty comes last, whichever way. */
  const valueOf = (row, place, kind) => {
    const text = row.cells[place].dataset.value ?? row.cells[place].textContent.trim();
    if (kind !== "number") return text.toLowerCase();
    const number = parseFloat(text.replaceAll(",", ""));
    return Number.isNaN(number) ? null : number;
  };
  const compare = (a, b, sign) => {
    if (a === null || a === "") return b === null || b === "" ? 0 : 1;
    if (b === null || b === "") return -1;
    if (typeof a === "number") return sign * (a - b);
    return sign * a.localeCompare(b, "en", { numeric: true });
  };
  const sort = (button) => {
    const heading = button.closest("th");
    const body = button.closest("table").tBodies[0];
    const sign = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const place = heading.cellIndex;
    const rows = Array.from(body.rows).map((row) => [valueOf(row, place, button.dataset.sort), row]);
    rows.sort((one, other) => compare(one[0], other[0], sign));
    all("th[aria-sort]", heading.parentNode).forEach((th) => th.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", sign === 1 ? "ascending" : "descending");
    body.append(...rows.map((pair) => pair[1]));
  };

  /* Filtering the table of queries, whose rows are all there; the form works without this too. */
  const filtered = () => {
    const form = document.getElementById("filters");
    const table = document.getElementById("queries");
    if (!form || !table) return;
    const { text, verdict, notable, owner, quality, engine } = form.elements;
    const count = document.getElementById("filter-count");
    const none = document.getElementById("none-match");
    const rows = Array.from(table.tBodies[0].rows).map((row) => ({
      row,
      // What the server looks for words in.
      text: [0, 1, 2].map((cell) => row.cells[cell].textContent).join(" ").toLowerCase(),
      quality: row.cells[7].querySelector(".quality")?.classList[1] ?? "unchecked",
    }));
    const apply = () => {
      const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
      const classes = [verdict.value, notable.value].filter(Boolean);
      let shown = 0;
      rows.forEach((one) => {
        const { classList, dataset } = one.row;
        const fits = classes.every((name) => classList.contains(name))
          && (!owner.value || dataset.owner === owner.value)
          && (!engine.value || (dataset.engine ?? "spark") === engine.value)
          && (!quality.value || one.quality === quality.value)
          && words.every((word) => one.text.includes(word));
        one.row.hidden = !fits;
        shown += fits ? 1 : 0;
      });
      count.textContent = `${shown} of ${rows.length} queries`;
      none.hidden = shown > 0;
      // Back, and a link to this address, find the same rows.
      const asked = new URLSearchParams([...new FormData(form)].filter((pair) => pair[1]));
      history.replaceState(null, "", asked.size ? `?${asked}` : location.pathname);
      all(".tiles a").forEach((tile) => {
        if (new URL(tile.href).search === location.search) tile.setAttribute("aria-current", "true");
        else tile.removeAttribute("aria-current");
      });
    };
    form.addEventListener("submit", (event) => { event.preventDefault(); apply(); });
    text.addEventListener("input", apply);
    form.addEventListener("change", apply);
  };

  /* On narrow screens a table is a card a row, and each cell says what its heading is. */
  const stacked = (within = document) => {
    all("table", within).forEach((table) => {
      table.classList.add("stacked");
      // Without the question marks beside some.
      const said = (cell) => (cell.querySelector("[data-sort]") ?? cell).textContent.trim();
      const headings = Array.from(table.tHead?.rows[0].cells ?? [], said);
      all("tbody td", table).forEach((cell) => { cell.dataset.label = headings[cell.cellIndex] ?? ""; });
    });
  };

  const copyText = async (text) => {
    if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "hidden";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("refused");
  };
  const copy = async (button) => {
    const before = button.textContent;
    try {
      await copyText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select and copy by hand";
    }
    setTimeout(() => { button.textContent = before; }, 2000);
  };

  /* A link to Airflow's own pages leads out of its frame: the frame's sandbox lets nothing inside do that. */
  const outside = (link, event) => {
    try {
      if (window.parent === window || event.ctrlKey || event.metaKey || event.shiftKey) return;
      const made = window.parent.document.createElement("a");
      made.href = link.href;
      if (link.hasAttribute("download")) made.download = link.download;
      event.preventDefault();
      made.click();
    } catch {
      // The frame is of another origin: the link opens where it is.
    }
  };

  /* What an answer that is no success says. */
  const refusal = async (response) => {
    const text = await response.text();
    try {
      const { message, fix } = JSON.parse(text).error;
      return fix ? `${message}: ${fix}` : message;
    } catch {
      const page = new DOMParser().parseFromString(text, "text/html");
      return page.getElementById("problem")?.textContent.trim().replace(/\s+/g, " ") ?? `HTTP ${response.status}`;
    }
  };

  const start = async (button) => {
    const told = document.getElementById("started");
    button.disabled = true;
    told.textContent = "Starting…";
    try {
      const response = await fetch(button.dataset.start, { method: "POST", credentials: "same-origin" });
      if (!response.ok) throw new Error(await refusal(response));
      const run = await response.json();
      const link = document.createElement("a");
      link.href = button.dataset.runs + encodeURIComponent(run.run_id);
      link.dataset.airflow = "";
      link.textContent = `${run.dag_id} is ${run.state}${run.started ? "" : " already"}`;
      told.replaceChildren(link);
      document.dispatchEvent(new Event("streambound:started"));
    } catch (error) {
      told.textContent = error.message;
    }
    button.disabled = false;
  };

  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    const button = target?.closest("button");
    if (button?.dataset.sort) sort(button);
    else if (button?.dataset.copy) copy(button);
    else if (button?.dataset.start) start(button);
    const link = target?.closest("a[data-airflow]");
    if (link) outside(link, event);
  });
  filtered();
  stacked();
  // What the scripts of single pages take.
  window.streambound = { copyText, refusal, stacked };
})();
