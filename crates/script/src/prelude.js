// The globals of a script. Evaluated once in each engine before the script; returns the functions that the host calls.
// `host` has: print(level, text), call(id, server, tool, json) -> "" or "kind\nmessage", timer(id, ms) -> bool,
// clear(id), done(ok, json, losses), failed(kind, message, stack), isProxy(value).
(function (host, clients) {
  "use strict";
  const { parse, stringify } = JSON;
  const { isArray } = Array;
  const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf, keys } = Object;
  const global = globalThis;
  const kinds = new WeakMap();

  // Built in, but useless without threads, or able to block this one.
  delete global.SharedArrayBuffer;
  delete global.Atomics;

  const hide = (target, name, value) =>
    defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });

  // ---- limits for the engine's uninterruptible loops ----
  const LONGEST = 2 ** 24;
  const check = (value) => {
    if (value === null || typeof value !== "object") return;
    if (host.isProxy(value)) throw new TypeError("this method does not work on a Proxy here; copy it to an array first");
    const length = getOwnPropertyDescriptor(value, "length");
    if (length === undefined ? !ArrayBuffer.isView(value) && "length" in value : !("value" in length))
      throw new TypeError("this method needs a plain length property");
    if (length !== undefined && length.value > LONGEST)
      throw new RangeError(`a length of ${length.value} is over the limit of ${LONGEST}`);
  };
  const guard = (prototype, name, verify) => {
    const original = prototype[name];
    if (typeof original !== "function") return;
    const { apply } = Reflect;
    const guarded = {
      [name](...given) {
        verify(this, given);
        return apply(original, this, given);
      },
    }[name];
    defineProperty(guarded, "length", { value: original.length, configurable: true });
    hide(prototype, name, guarded);
  };
  for (const name of ["concat", "copyWithin", "fill", "flat", "join", "reverse", "shift", "slice", "sort", "splice",
    "toLocaleString", "toReversed", "toSorted", "toSpliced", "unshift", "with"])
    guard(Array.prototype, name, (self, given) => {
      check(self);
      if (name === "concat") for (const item of given) check(item);
    });
  for (const name of ["indexOf", "lastIndexOf", "includes", "split", "replace", "replaceAll"])
    guard(String.prototype, name, (self, given) => {
      const wanted = given[0];
      if (typeof wanted === "string" && typeof self === "string" && self.length * wanted.length > 2 ** 33)
        throw new RangeError("both texts are too long to look for one in the other");
    });

  // ---- calls ----
  const waiting = new Map();
  let lastCall = 0;

  const failure = (message, server, tool, site, more) => {
    const error = new Error(message);
    if (site) hide(error, "stack", site);
    return Object.assign(error, { server, tool }, more);
  };

  const wellFormed = (key, value) => (typeof value === "string" ? value.toWellFormed() : value);

  const call = (server, tool, given, raw) =>
    new Promise((resolve, reject) => {
      const site = new Error().stack;
      const problem = (message, kind) => {
        const error = failure(message, server, tool, site);
        if (kind) kinds.set(error, kind);
        reject(error);
      };
      const value = given === undefined || given === null ? {} : given;
      if (typeof value !== "object" || isArray(value))
        return problem(`${tool} of ${server} takes one object with named arguments, not ${isArray(value) ? "an array" : typeof value}`);
      let text;
      try {
        text = stringify(value, wellFormed);
      } catch (error) {
        return problem(`the arguments of ${tool} of ${server} are not JSON: ${error.message}`);
      }
      const id = ++lastCall;
      const refused = host.call(id, server, tool, text === undefined ? "{}" : text);
      if (refused !== "") {
        const [kind, ...rest] = refused.split("\n");
        return problem(rest.join("\n"), kind);
      }
      waiting.set(id, { resolve, reject, server, tool, raw, site });
    });

  const textOf = (result) =>
    isArray(result?.content) ? result.content.filter((item) => item?.type === "text").map((item) => item.text).join("\n") : "";

  const unpack = (result) => {
    if (result?.structuredContent !== undefined && result.structuredContent !== null) return result.structuredContent;
    const content = result?.content;
    if (!isArray(content) || content.length === 0 || !content.every((item) => item?.type === "text")) return result;
    const text = textOf(result);
    try {
      return parse(text);
    } catch {
      return text;
    }
  };

  const settle = (id, ok, json) => {
    const entry = waiting.get(id);
    if (entry === undefined) return;
    waiting.delete(id);
    const { server, tool, site } = entry;
    try {
      const result = parse(json);
      if (!ok) {
        const { message, ...more } = result;
        entry.reject(failure(message, server, tool, site, more));
      } else if (result?.isError === true) {
        entry.reject(failure(textOf(result) || `${tool} of ${server} failed`, server, tool, site, { result }));
      } else {
        entry.resolve(entry.raw ? result : unpack(result));
      }
    } catch (error) {
      entry.reject(error);
    }
  };

  // ---- modules ----
  const modules = new Map();
  const mcp = Object.create(null);
  for (const { id, tools } of clients) {
    const module = Object.create(null);
    for (const [name, tool] of tools) {
      const call_it = { [name]: (given) => call(id, tool, given, false) }[name];
      module[name] = call_it;
      if (!(tool in module)) hide(module, tool, call_it);
    }
    hide(module, "$call", (tool, given) => call(id, String(tool), given, true));
    Object.freeze(module);
    modules.set(id, module);
    mcp[id] = module;
  }
  hide(global, "mcp", Object.freeze(mcp));

  const moduleOf = (specifier) => {
    const name = String(specifier).replace(/^\.\//, "").replace(/^mcp-clients\//, "");
    const found = modules.get(name) ?? modules.get(name.replace(/\.[jt]s$/, ""));
    if (found !== undefined) return found;
    const known = [...modules.keys()].map((id) => `mcp-clients/${id}`);
    throw new Error(`there is no module "${specifier}"; ${known.length ? `available: ${known.join(", ")}` : "no client may be imported"}`);
  };

  // ---- console ----
  const WIDTH = 76;
  const DEEPEST = 8;
  const MOST = 100;

  const quote = (text) => (text.includes("'") ? stringify(text) : `'${stringify(text).slice(1, -1).replaceAll('\\"', '"')}'`);
  const keyText = (key) => (typeof key === "symbol" ? `[${String(key)}]` : /^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key));

  const surround = (open, parts, close, indent) => {
    if (parts.length === 0) return open + close;
    const line = `${open} ${parts.join(", ")} ${close}`;
    if (line.length + indent.length <= WIDTH && !line.includes("\n")) return line;
    return `${open}\n${parts.map((part) => `${indent}  ${part}`).join(",\n")}\n${indent}${close}`;
  };

  const errorText = (error) =>
    error.name && error.message ? `${error.name}: ${error.message}` : String(error.message || error.name || "Error");

  const className = (value) => {
    const prototype = getPrototypeOf(value);
    if (prototype === null) return "";
    const name = prototype.constructor?.name;
    return typeof name === "string" && name !== "" && name !== "Object" && name !== "Array" ? `${name} ` : "";
  };

  const inspect = (value, indent, above) => {
    switch (typeof value) {
      case "string": return quote(value);
      case "bigint": return `${value}n`;
      case "symbol": return String(value);
      case "function": return `[${/^class\b/.test(Function.prototype.toString.call(value)) ? "class" : "Function"}: ${value.name || "(anonymous)"}]`;
      case "object": break;
      default: return Object.is(value, -0) ? "-0" : String(value);
    }
    if (value === null) return "null";
    if (above.includes(value)) return "[Circular]";
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
    if (value instanceof RegExp) return String(value);
    if (value instanceof Promise) return "Promise { … }";
    if (above.length >= DEEPEST) return isArray(value) ? "[Array]" : "[Object]";
    const inner = [...above, value];
    const deeper = `${indent}  `;
    const show = (item) => inspect(item, deeper, inner);
    const cut = (parts, size) => (size > parts.length ? [...parts, `… ${size - parts.length} more`] : parts);
    if (value instanceof Error) {
      const extra = keys(value).map((key) => `${keyText(key)}: ${show(value[key])}`);
      return errorText(value) + (extra.length ? ` ${surround("{", extra, "}", indent)}` : "");
    }
    if (isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))) {
      const parts = [];
      for (let index = 0; index < value.length && index < MOST; index++) parts.push(index in value ? show(value[index]) : "<empty>");
      return surround(isArray(value) ? `${className(value)}[` : `${className(value)}(${value.length}) [`, cut(parts, value.length), "]", indent);
    }
    if (value instanceof Map) {
      const parts = [...value].slice(0, MOST).map(([key, item]) => `${show(key)} => ${show(item)}`);
      return surround(`Map(${value.size}) {`, cut(parts, value.size), "}", indent);
    }
    if (value instanceof Set) return surround(`Set(${value.size}) {`, cut([...value].slice(0, MOST).map(show), value.size), "}", indent);
    const names = keys(value);
    const parts = names.slice(0, MOST).map((key) => {
      const { get } = getOwnPropertyDescriptor(value, key) ?? {};
      return `${keyText(key)}: ${get ? "[Getter]" : show(value[key])}`;
    });
    return surround(`${className(value)}{`, cut(parts, names.length), "}", indent);
  };

  const shown = (value) => {
    if (typeof value === "string") return value;
    try {
      return inspect(value, "", []);
    } catch (error) {
      return `[can't be shown: ${error?.message ?? "it throws"}]`;
    }
  };

  const format = (given) => {
    let rest = given;
    let text = "";
    if (typeof given[0] === "string" && given.length > 1 && given[0].includes("%")) {
      let next = 1;
      text = given[0].replace(/%([sdifjoOc%])/g, (whole, sign) => {
        if (sign === "%") return "%";
        if (next >= given.length) return whole;
        const value = given[next++];
        if (sign === "c") return "";
        if (sign === "d" || sign === "f") return String(Number(value));
        if (sign === "i") return String(Math.trunc(Number(value)));
        if (sign === "j") return stringify(value);
        return shown(value);
      });
      rest = given.slice(next);
      if (rest.length) text += " ";
    }
    return (text + rest.map(shown).join(" ")).toWellFormed();
  };

  const print = (level) => (...given) => {
    let text;
    try {
      text = format(given);
    } catch (error) {
      text = `[can't be shown: ${error?.message ?? "it throws"}]`;
    }
    host.print(level, text);
  };
  const console = { log: print("log"), info: print("info"), warn: print("warn"), error: print("error"), debug: print("debug") };
  console.trace = console.debug;
  console.dir = (value) => console.log(value);
  console.table = console.dir;
  console.assert = (holds, ...given) => { if (!holds) console.error("Assertion failed:", ...given); };
  hide(global, "console", console);

  // ---- timers and clones ----
  const timers = new Map();
  let lastTimer = 0;
  hide(global, "setTimeout", function setTimeout(callback, delay, ...given) {
    if (typeof callback !== "function") throw new TypeError("setTimeout takes a function");
    const id = ++lastTimer;
    const wait = Number(delay);
    if (!host.timer(id, wait > 0 ? Math.min(wait, 2 ** 31) : 0)) throw new RangeError("too many timers are waiting");
    timers.set(id, () => callback(...given));
    return id;
  });
  hide(global, "clearTimeout", function clearTimeout(id) {
    if (timers.delete(id)) host.clear(id);
  });
  hide(global, "queueMicrotask", function queueMicrotask(callback) {
    if (typeof callback !== "function") throw new TypeError("queueMicrotask takes a function");
    Promise.resolve().then(callback);
  });
  const fire = (id) => {
    const callback = timers.get(id);
    timers.delete(id);
    if (callback) callback();
  };

  const clone = (value, seen) => {
    if (typeof value === "function" || typeof value === "symbol") throw new TypeError(`structuredClone can't copy a ${typeof value}`);
    if (typeof value !== "object" || value === null) return value;
    if (seen.has(value)) return seen.get(value);
    const keep = (made) => (seen.set(value, made), made);
    if (value instanceof Date) return keep(new Date(value.getTime()));
    if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
    if (value instanceof ArrayBuffer) return keep(value.slice(0));
    if (ArrayBuffer.isView(value)) return keep(value instanceof DataView ? new DataView(value.buffer.slice(0)) : value.slice());
    if (value instanceof Map) {
      const made = keep(new Map());
      for (const [key, item] of value) made.set(clone(key, seen), clone(item, seen));
      return made;
    }
    if (value instanceof Set) {
      const made = keep(new Set());
      for (const item of value) made.add(clone(item, seen));
      return made;
    }
    if (value instanceof Error) return keep(Object.assign(new Error(value.message), { name: value.name }));
    const made = keep(isArray(value) ? [] : {});
    for (const key of keys(value)) made[key] = clone(value[key], seen);
    return made;
  };
  hide(global, "structuredClone", function structuredClone(value) { return clone(value, new Map()); });

  // ---- the value ----
  const MOST_LOSSES = 20;
  const DEEPEST_VALUE = 100;

  const plain = (value, path, above, lost) => {
    const lose = (why, kept) => {
      if (lost.length < MOST_LOSSES) lost.push(`${path}: ${why}`);
      return kept;
    };
    switch (typeof value) {
      case "string": return value.toWellFormed();
      case "boolean": return value;
      case "number": return Number.isFinite(value) ? value : lose(`${value} is not JSON and becomes null`, null);
      case "bigint": return Number.isSafeInteger(Number(value)) ? Number(value) : lose("a BigInt is kept as text", String(value));
      case "undefined": return undefined;
      case "function": return lose("a function is left out", undefined);
      case "symbol": return lose("a symbol is left out", undefined);
    }
    if (value === null) return null;
    if (above.includes(value)) return lose("a circular reference is cut", "[Circular]");
    if (above.length >= DEEPEST_VALUE) return lose(`everything more than ${DEEPEST_VALUE} levels deep is cut`, null);
    const inner = [...above, value];
    const item = (part, key) => plain(part, `${path}${key}`, inner, lost);
    if (typeof value.toJSON === "function") return item(value.toJSON(), "");
    if (value instanceof Promise) return lose("a promise that is not awaited is left out", undefined);
    if (value instanceof Error) return { name: String(value.name), message: String(value.message).toWellFormed() };
    if (value instanceof Map) {
      const made = {};
      let index = 0;
      for (const [key, part] of value) {
        if (typeof key === "object" && key !== null) return [...value].map((pair, at) => item(pair, `[${at}]`));
        defineProperty(made, String(key).toWellFormed(), { value: item(part, `.get(${index++})`), writable: true, enumerable: true, configurable: true });
      }
      return made;
    }
    const list = value instanceof Set ? [...value] : ArrayBuffer.isView(value) && !(value instanceof DataView) ? Array.from(value) : value;
    if (isArray(list)) {
      const made = [];
      for (let index = 0; index < list.length; index++) made.push(item(list[index], `[${index}]`) ?? null);
      return made;
    }
    if (value instanceof RegExp) return String(value);
    const made = {};
    for (const key of keys(value)) {
      const part = item(value[key], `.${key}`);
      if (part !== undefined) defineProperty(made, key.toWellFormed(), { value: part, writable: true, enumerable: true, configurable: true });
    }
    return made;
  };

  const succeed = (value) => {
    const lost = [];
    const made = plain(value, "value", [], lost);
    const text = made === undefined ? "null" : stringify(made);
    host.done(text, lost.map((line) => line.toWellFormed()));
  };

  const fail = (error) => {
    let message = "an error that can't be shown";
    let stack = "";
    let kind = "thrown";
    try {
      const object = typeof error === "object" && error !== null;
      kind = (object && kinds.get(error)) || kind;
      message = error instanceof Error ? errorText(error) : `${shown(error)} was thrown`;
      stack = object ? String(error.stack ?? "") : "";
      if (error instanceof AggregateError) message += ` (${error.errors.map(shown).join("; ")})`;
    } catch {}
    host.failed(kind, message.toWellFormed(), stack.toWellFormed());
  };

  // ---- rejected promises without a handler ----
  const unheard = new Map();
  const rejection = (promise, reason, heard) => {
    if (heard) unheard.delete(promise);
    else if (unheard.size < 100) unheard.set(promise, reason);
  };
  const leftovers = () => {
    for (const reason of unheard.values()) host.print("warn", `a promise without a handler was rejected: ${shown(reason)}`.toWellFormed());
    unheard.clear();
  };

  const start = (main, imports) => {
    const docent = { modules: imports.map((id) => modules.get(id)), load: async (specifier) => moduleOf(specifier), value: undefined };
    const whole = async () => {
      let value = await main(docent);
      if (value === undefined) value = await docent.value;
      // If the value of a script is a function, the function is called for its value.
      return typeof value === "function" ? value() : value;
    };
    whole().then(succeed).catch(fail);
  };

  const uncaught = (error) => host.print("error", `Uncaught ${shown(error)}`.toWellFormed());

  return { start, settle, fire, rejection, leftovers, uncaught };
})
