// The lint itself, in Pyodide: the same modules that `streambound check` runs.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const python = await loadPyodide({ indexURL: new URL("./pyodide/", import.meta.url).href });
const [archive, text] = await Promise.all([
  fetch("lint.zip").then(found => found.arrayBuffer()),
  fetch("judge.py").then(found => found.text()),
]);
python.unpackArchive(archive, "zip", { extractDir: "/lint" });
python.runPython("import sys; sys.path.insert(0, '/lint')");
python.runPython(text);
const judge = python.globals.get("judge");
onmessage = ({ data }) => postMessage(JSON.parse(judge(JSON.stringify(data))));
postMessage({ ready: true, engines: python.globals.get("engines").toJs() });
