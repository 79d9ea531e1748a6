/* One file for the pages, and the licences of what is in it. The same sources give the same bytes. */
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "..", "plugins", "streambound_airflow", "pages", "static");
const digest = createHash("sha256");
for (const name of ["editor.js", "package-lock.json"]) digest.update(readFileSync(join(here, name)));

const made = await build({
  absWorkingDir: here,
  entryPoints: ["editor.js"],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  metafile: true,
  outfile: join(out, "codemirror.js"),
  banner: {
    js: `/* CodeMirror 6 (MIT, codemirror.LICENSE.txt); built by scripts/codemirror from ${digest.digest("hex")} */`,
  },
});

const packages = new Set();
for (const path of Object.keys(made.metafile.inputs)) {
  const found = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
  if (found) packages.add(found[1]);
}
const licences = [...packages].sort().map((name) => {
  const folder = join(here, "node_modules", name);
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  return `${name} ${version}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
});
writeFileSync(join(out, "codemirror.LICENSE.txt"), licences.join(`\n${"-".repeat(78)}\n\n`));
