// One question at a time goes to the worker; of what is typed meanwhile only the newest waits.
const $ = id => document.getElementById(id);
const section = document.querySelector(".verdict");
// A decision that takes longer is given up, with the worker that is at it.
const PATIENCE = 60_000;
let worker, ready = false, busy = null, waiting = null, clock;

function start() {
  ready = false;
  worker = new Worker("worker.js", { type: "module" });
  worker.onmessage = ({ data }) => data.ready ? begin(data) : answered(data);
  worker.onerror = event => tell("", `Python could not be loaded: ${event.message}`);
}

function begin({ engines }) {
  ready = true;
  if ($("engine").length === 1)
    for (const name of engines) $("engine").append(new Option(name, name));
  next();
}

function ask() {
  waiting = { sql: $("sql").value, catalog: $("catalog").value, engine: $("engine").value };
  section.ariaBusy = "true";
  next();
}

function next() {
  if (!ready || busy || !waiting) return;
  [busy, waiting] = [waiting, null];
  clock = setTimeout(() => {
    worker.terminate();
    busy = null;
    tell("unknown", `not decided within ${PATIENCE / 1000} seconds`);
    start();
  }, PATIENCE);
  worker.postMessage({ ...busy, suggest: false });
}

function answered({ verdict, said, text, suggestions, suggested }) {
  clearTimeout(clock);
  // Suggestions take some dozens of decisions: they come in a second answer, unless the text has changed by then.
  const again = verdict === "unbounded" && !suggested && !waiting ? busy : null;
  tell(verdict, said, text, suggestions);
  busy = null;
  if (again) {
    busy = again;
    clock = setTimeout(() => { worker.terminate(); busy = null; start(); }, PATIENCE);
    worker.postMessage({ ...again, suggest: true });
  } else if (waiting) next();
  section.ariaBusy = String(Boolean(busy || waiting));
}

function tell(verdict, said, text = "", suggestions = []) {
  section.dataset.verdict = verdict;
  $("outcome").textContent = verdict;
  $("said").textContent = said;
  $("text").textContent = text;
  $("suggestions").replaceChildren(...suggestions.map(({ change, size, sql }) => {
    const item = document.createElement("li"), button = document.createElement("button");
    button.type = "button";
    button.textContent = `${change}: ${size}`;
    button.onclick = () => { $("sql").value = sql; ask(); };
    item.append(button);
    return item;
  }));
}

const examples = await (await fetch("examples.json")).json();
const buttons = examples.map(({ name, sql, catalog }) => {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = name;
  button.onclick = () => {
    [$("sql").value, $("catalog").value] = [sql, catalog];
    for (const other of buttons) other.ariaPressed = String(other === button);
    ask();
  };
  return button;
});
$("examples").append(...buttons);
$("sql").oninput = $("catalog").oninput = $("engine").oninput = ask;
start();
buttons[0].click();
