// The cases with @modelcontextprotocol/client 2.x: stdio and Streamable HTTP in both eras, and SSE.

import { Client, SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { answer, run } from "./cases.mjs";

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
    default:
      throw new Error(`this package has no transport ${transport}`);
  }
}

await run(async (options) => {
  const mode = options.era === "modern" ? "auto" : "legacy";
  const client = new Client({ name: "docent-tests", version: "1" }, { versionNegotiation: { mode } });
  const strays = [];
  client.onerror = (error) => {
    if (String(error).includes("unknown message ID")) strays.push(String(error));
  };
  await client.connect(transport(options));
  return {
    client,
    strays,
    serverName: () => client.getServerVersion().name,
    protocolVersion: () => client.getNegotiatedProtocolVersion(),
    call: async ({ name, arguments: given }, more) => answer(await client.callTool({ name, arguments: given }, more)),
    async watch(uri) {
      const updated = new Promise((resolve) => {
        client.setNotificationHandler("notifications/resources/updated", ({ params }) => resolve(params.uri));
      });
      if (options.era === "modern") {
        const subscription = await client.listen({ resourceSubscriptions: [uri] });
        return { updated, end: () => subscription.close() };
      }
      await client.subscribeResource({ uri });
      return { updated, end: () => client.unsubscribeResource({ uri }) };
    },
  };
});
