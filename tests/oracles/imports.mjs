// Compares the import edges of a TypeScript package's sources with dependency-cruiser's.
//
//     node imports.mjs --facts FACTS_BINARY --folder FOLDER_OF_SOURCES --cruiser PATH_TO_node_modules/dependency-cruiser
//                      [--config TSCONFIG]
//
// Edges are pairs of files of the folder, compared as sets. Prints one line of JSON, and the first differences on the
// error output; exits with 1 if recall or precision is below the floor. TypeScript must be installed next to
// dependency-cruiser.

import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { pathToFileURL } from "node:url";

const FLOOR = 0.98;
const SHOWN = 20;
const LARGEST_OUTPUT = 1 << 30;
const SCRIPT = /\.[cm]?[jt]sx?$/;

const text = { type: "string" };
const { values: given } = parseArgs({ options: { facts: text, folder: text, cruiser: text, config: text } });
const folder = resolve(given.folder);
const isOwn = (path) => SCRIPT.test(path) && !path.startsWith("..") && !path.includes("node_modules/");

function ours() {
  const out = execFileSync(resolve(given.facts), [folder, "imports"], { maxBuffer: LARGEST_OUTPUT, encoding: "utf8" });
  const edges = new Set();
  for (const line of out.split("\n").filter(Boolean)) {
    const fact = JSON.parse(line);
    for (const one of isOwn(fact.path) ? fact.imports : []) {
      const targets = one.files ?? (one.file ? [one.file] : []);
      for (const target of targets.filter(isOwn)) edges.add(`${fact.path} ${target}`);
    }
  }
  return edges;
}

async function theirs() {
  const root = resolve(given.cruiser);
  const own = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const entry = own.exports?.["."]?.import ?? own.exports?.["."] ?? own.main;
  const { cruise } = await import(pathToFileURL(join(root, entry?.default ?? entry)));
  const options = { baseDir: folder, tsPreCompilationDeps: true, doNotFollow: { path: "node_modules" } };
  const transpile = {};
  if (given.config) {
    const read = pathToFileURL(join(root, "src/config-utl/extract-ts-config.mjs"));
    options.ruleSet = { options: { tsConfig: { fileName: resolve(given.config) } } };
    transpile.tsConfig = (await import(read)).default(resolve(given.config));
  }
  const { output } = await cruise(readdirSync(folder), options, undefined, transpile);
  const edges = new Set();
  for (const module of output.modules.filter((one) => isOwn(one.source))) {
    for (const one of module.dependencies.filter((one) => !one.couldNotResolve && isOwn(one.resolved))) {
      edges.add(`${module.source} ${one.resolved}`);
    }
  }
  return edges;
}

const isLoop = (edge) => edge.split(" ")[0] === edge.split(" ")[1];
const without = (edges) => new Set([...edges].filter((edge) => !isLoop(edge)));
const [want, found] = [without(await theirs()), without(ours())];
const same = [...want].filter((edge) => found.has(edge)).length;
const recall = same / Math.max(want.size, 1);
const precision = same / Math.max(found.size, 1);
const differences = [
  ["missing", [...want].filter((edge) => !found.has(edge))],
  ["extra", [...found].filter((edge) => !want.has(edge))],
];
for (const [mark, edges] of differences) {
  for (const edge of edges.sort().slice(0, SHOWN)) console.error(mark, edge);
}
const rounded = (figure) => Math.round(figure * 10000) / 10000;
console.log(
  JSON.stringify({
    folder: relative(process.cwd(), folder),
    edges_cruiser: want.size,
    edges_ours: found.size,
    recall: rounded(recall),
    precision: rounded(precision),
  }),
);
process.exitCode = want.size > 0 && Math.min(recall, precision) >= FLOOR ? 0 : 1;
