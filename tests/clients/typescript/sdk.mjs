// The cases with @modelcontextprotocol/sdk 1.x: stdio, Streamable HTTP, SSE and WebSocket.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { WebSocketClientTransport } from "@modelcontextprotocol/sdk/client/websocket.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { answer, check, run } from "./cases.mjs";

function transport({ transport, address, project }) {
  switch (transport) {
    case "stdio": {
      const [command, ...args] = address;
      return new StdioClientTransport({ command, args, cwd: project, stderr: "inherit" });
    }
    case "http":
      return new StreamableHTTPClientTransport(address);
    case "sse":
      return new SSEClientTransport(address);
    case "websocket":
      return new WebSocketClientTransport(address);
    default:
      throw new Error(`no transport ${transport}`);
  }
}

await run(async (options) => {
  check(options.era === "legacy", "this package knows the handshake alone");
  const client = new Client({ name: "docent-tests", version: "1" });
  const strays = [];
  client.onerror = (error) => {
    if (String(error).includes("unknown message ID")) strays.push(String(error));
  };
  const wire = transport(options);
  let version;
  // Only the transport is informed of the negotiated version.
  const original = wire.setProtocolVersion?.bind(wire);
  wire.setProtocolVersion = (agreed) => {
    version = agreed;
    original?.(agreed);
  };
  await client.connect(wire);
  return {
    client,
    strays,
    serverName: () => client.getServerVersion().name,
    protocolVersion: () => version,
    call: async ({ name, arguments: given }, more) => answer(await client.callTool({ name, arguments: given }, undefined, more)),
    async watch(uri) {
      const updated = new Promise((resolve) => {
        client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri));
      });
      await client.subscribeResource({ uri });
      return { updated, end: () => client.unsubscribeResource({ uri }) };
    },
  };
});
