// The cases that every client must pass, with any TypeScript package.
//
// A program passes `run` a function that connects and returns a peer: an object with the methods that the cases use.
// Every case prints `ok NAME` or `FAIL NAME: why`; the exit code is 1 if one failed.

import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";

const CASE_MILLISECONDS = 60_000;

async function given() {
  const { values } = parseArgs({
    options: {
      transport: { type: "string" }, // stdio, http, sse or websocket
      era: { type: "string", default: "legacy" }, // legacy or modern
      address: { type: "string" }, // a URL, or for stdio the server's command as a JSON array
      expect: { type: "string" }, // a JSON file: what the server has, and what it must answer
      project: { type: "string", default: "." }, // the folder that the server works on
    },
  });
  const expect = JSON.parse(await readFile(values.expect, "utf8"));
  const address = values.transport === "stdio" ? JSON.parse(values.address) : new URL(values.address);
  return { ...values, expect, address };
}

export function check(condition, message) {
  if (!condition) throw new Error(message);
}

function holds(text, wanted, what) {
  check(text.includes(wanted), `${what}: ${JSON.stringify(wanted)} is not in ${JSON.stringify(text.slice(0, 300))}`);
}

// Order matters: later cases may rely on files that earlier calls made the server read.
const CASES = {
  async server(peer, { expect, era }) {
    check(peer.serverName() === expect.server, `the server calls itself ${peer.serverName()}, not ${expect.server}`);
    const modern = peer.protocolVersion() >= "2026-07-28";
    check(modern === (era === "modern"), `${era} connection at ${peer.protocolVersion()}`);
  },

  async tools(peer, { expect }) {
    const names = (await peer.client.listTools()).tools.map((tool) => tool.name);
    for (const name of expect.tools) check(names.includes(name), `${name} not among ${names}`);
  },

  async calls(peer, { expect }) {
    for (const call of expect.calls) {
      let { text, isError } = await peer.call(call);
      // An index that is not built yet says so, with advice.
      for (let asked = 0; asked < 50 && text.includes("Ask again in a moment"); asked++) {
        ({ text, isError } = await peer.call(call));
      }
      check(isError === (call.is_error ?? false), `${call.name}: isError is ${isError}: ${text.slice(0, 300)}`);
      holds(text, call.text, call.name);
    }
  },

  async resource(peer, { expect: { resource } }) {
    const uris = [];
    for (let cursor; ; ) {
      const page = await peer.client.listResources(cursor ? { cursor } : {});
      uris.push(...page.resources.map((found) => found.uri));
      cursor = page.nextCursor;
      if (!cursor) break;
    }
    check(uris.includes(resource.uri), `${resource.uri} not among ${uris}`);
    holds(await read(peer, resource.uri), resource.text, resource.uri);
  },

  async subscribe(peer, { expect: { subscribe }, project }) {
    const watch = await peer.watch(subscribe.uri);
    if (subscribe.append) await appendFile(join(project, subscribe.append.file), subscribe.append.text);
    if (subscribe.call) await peer.call(subscribe.call);
    const uri = await watch.updated;
    check(uri === subscribe.uri, `an update of ${uri}`);
    await watch.end();
    if (subscribe.text) holds(await read(peer, subscribe.uri), subscribe.text, subscribe.uri);
  },

  async prompt(peer, { expect: { prompt } }) {
    const names = (await peer.client.listPrompts()).prompts.map((found) => found.name);
    check(names.includes(prompt.name), `${prompt.name} not among ${names}`);
    const { messages } = await peer.client.getPrompt({ name: prompt.name, arguments: prompt.arguments });
    holds(messages.map(({ content }) => content.text ?? JSON.stringify(content)).join("\n"), prompt.text, prompt.name);
  },

  async completion(peer, { expect: { completion } }) {
    const { completion: found } = await peer.client.complete({
      ref: { type: "ref/prompt", name: completion.prompt },
      argument: { name: completion.argument, value: completion.value },
    });
    check(found.values.includes(completion.has), `${completion.has} is not among ${found.values}`);
  },

  async progress(peer, { expect: { progress } }) {
    const steps = [];
    await peer.call(progress, { onprogress: (step) => steps.push(step.progress) });
    check(steps.length >= 2, `${steps.length} progress notifications`);
    check(steps.every((step, index) => index === 0 || step > steps[index - 1]), `progress did not rise: ${steps}`);
  },

  async cancel(peer, { expect: { cancel } }) {
    const stop = new AbortController();
    const ended = await peer.call(cancel, { signal: stop.signal, onprogress: () => stop.abort("no longer needed") }).then(
      ({ text }) => `the call was answered before it could be cancelled: ${text.slice(0, 300)}`,
      (error) => (stop.signal.aborted ? undefined : `the call failed by itself: ${error}`),
    );
    check(ended === undefined, ended);
    const { text, isError } = await peer.call(cancel.afterwards);
    check(!isError, `${cancel.afterwards.name} afterwards: ${text.slice(0, 300)}`);
    holds(text, cancel.afterwards.text, cancel.afterwards.name);
    check(peer.strays.length === 0, `a cancelled call was answered: ${peer.strays}`);
  },
};

async function read(peer, uri) {
  return (await peer.client.readResource({ uri })).contents[0].text;
}

async function within(milliseconds, work) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function report(name, work) {
  try {
    await within(CASE_MILLISECONDS, work());
    console.log(`ok ${name}`);
    return true;
  } catch (error) {
    console.log(`FAIL ${name}: ${String(error).replaceAll("\n", " ")}`);
    console.error(error);
    return false;
  }
}

export async function run(connect) {
  const options = await given();
  let peer;
  let passed = await report("connect", async () => {
    peer = await connect(options);
  });
  if (peer) {
    for (const [name, body] of Object.entries(CASES)) {
      if (name in options.expect) passed = (await report(name, () => body(peer, options))) && passed;
    }
    passed = (await report("close", () => peer.client.close())) && passed;
  }
  process.exit(passed ? 0 : 1);
}

/** The text of a tool's answer. */
export function answer(result) {
  return { text: result.content.map((item) => item.text ?? "").join("\n"), isError: result.isError ?? false };
}
