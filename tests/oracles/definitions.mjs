// The definitions that TypeScript's own parser finds in the files of a folder, one line of JSON per file.
//
//     node definitions.mjs PATH_TO_node_modules/typescript FOLDER
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative } from "node:path";

const [modulePath, folder] = process.argv.slice(2);
const ts = createRequire(import.meta.url)(modulePath);

function* files(at) {
  for (const entry of readdirSync(at, { withFileTypes: true })) {
    const path = join(at, entry.name);
    if (entry.isDirectory()) yield* files(path);
    else if (entry.isFile() && /\.(ts|tsx|mts|cts)$/.test(entry.name)) yield path;
  }
}

const isFunction = (node) => node !== undefined && (ts.isArrowFunction(node) || ts.isFunctionExpression(node));

/** Whether a variable is at the top level of its file. */
function isTop(node) {
  const statement = node.parent?.parent;
  return statement !== undefined && ts.isVariableStatement(statement) && ts.isSourceFile(statement.parent);
}

/** What a node defines: a group that is counted, "lends" if it only provides a name prefix, or nothing. */
function group(node) {
  if (ts.isFunctionDeclaration(node)) return node.name && "function";
  if (ts.isClassDeclaration(node)) return node.name && "type";
  if (ts.isInterfaceDeclaration(node) || ts.isEnumDeclaration(node) || ts.isTypeAliasDeclaration(node)) return "type";
  if (ts.isMethodDeclaration(node) || ts.isMethodSignature(node)) return "method";
  if (ts.isConstructorDeclaration(node) || ts.isGetAccessor(node) || ts.isSetAccessor(node)) return "method";
  if (ts.isPropertyDeclaration(node)) return isFunction(node.initializer) ? "method" : undefined;
  if (ts.isModuleDeclaration(node)) return "lends";
  if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && isTop(node)) {
    if (isFunction(node.initializer)) return "function";
    return node.parent.flags & ts.NodeFlags.Const ? "lends" : undefined;
  }
  return undefined;
}

function nameOf(node, source) {
  if (ts.isConstructorDeclaration(node)) return "constructor";
  const text = node.name.getText(source);
  return ts.isStringLiteral(node.name) ? node.name.text : text.split(/\s+/).join(" ");
}

/** The line of a definition's first word after its decorators and comments. */
function lineOf(node, source) {
  const words = (node.modifiers ?? []).filter((one) => !ts.isDecorator(one));
  const decorators = (node.modifiers ?? []).filter((one) => ts.isDecorator(one));
  let at = node.getStart(source);
  if (decorators.length > 0) {
    const end = decorators.at(-1).end;
    at = words.find((one) => one.pos >= end)?.getStart(source) ?? skip(source.text, end);
  }
  return source.getLineAndCharacterOfPosition(at).line + 1;
}

function skip(text, from) {
  const scanner = ts.createScanner(ts.ScriptTarget.Latest, true, ts.LanguageVariant.Standard, text, undefined, from);
  scanner.scan();
  return scanner.getTokenStart();
}

for (const path of files(folder)) {
  const kind = path.endsWith(".tsx") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const source = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true, kind);
  const definitions = [];
  const open = [{ node: source, names: [] }];
  while (open.length > 0) {
    const { node, names } = open.pop();
    const found = group(node);
    const inner = found ? [...names, nameOf(node, source)] : names;
    if (found && found !== "lends") {
      const line = lineOf(node, source);
      const bare = (found === "function" || found === "method") && !node.body && !node.initializer;
      definitions.push({ group: found, name: inner.join("."), line, bare });
    }
    ts.forEachChild(node, (child) => void open.push({ node: child, names: inner }));
  }
  const withBody = new Set(definitions.filter((one) => !one.bare).map((one) => `${one.group} ${one.name}`));
  // A repeated signature of a function that has a body is not a separate definition.
  const kept = definitions.filter((one) => !one.bare || !withBody.has(`${one.group} ${one.name}`));
  console.log(JSON.stringify({ path: relative(folder, path), definitions: kept }));
}
