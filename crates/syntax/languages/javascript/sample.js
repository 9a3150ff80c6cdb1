"use strict";

const fs = require("node:fs");
const { join } = require("node:path");
const helpers = require("./helpers");

/** Where files are kept. */
const ROOT = join(__dirname, "files");
var counter = 0;

/**
 * Reads a file.
 *
 * @param {string} name what it is called
 * @param {{ encoding?: string }} [options] how it is read
 * @returns {Promise<string>} its text
 * @throws {TypeError} where the name is not a string
 */
async function readFile(name, { encoding = "utf8" } = {}, ...rest) {
  if (typeof name !== "string") {
    throw new TypeError("a name is a string");
  }
  return fs.promises.readFile(join(ROOT, name), encoding);
}

function* names(folder) {
  for (const name of fs.readdirSync(folder)) {
    if (name.startsWith(".") || name.endsWith("~")) continue;
    yield name;
  }
}

/** Keeps what was read. */
class Cache {
  static #instances = 0;
  limit = 10;

  constructor(limit = 10) {
    this.limit = limit;
    this.entries = new Map();
  }

  /** How many there are. */
  get size() {
    return this.entries.size;
  }

  static async open(path) {
    return new Cache(JSON.parse(await readFile(path)).limit);
  }

  set(key, value) {
    this.entries.set(key, value);
    return this;
  }

  onClose = () => {
    this.entries.clear();
  };

  #evict() {
    const [first] = this.entries.keys();
    this.entries.delete(first);
  }

  async *[Symbol.asyncIterator]() {
    yield* this.entries;
  }
}

/** A cache that says what it does. */
class LoudCache extends Cache {
  set(key, value) {
    console.log(key);
    return super.set(key, value);
  }
}

const double = (n) => n * 2;
const named = function inner(a, b = a) {
  return a ? b : counter++;
};

exports.double = double;
module.exports = { readFile, Cache, names };
