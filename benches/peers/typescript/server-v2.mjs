// An echo server on version 2 of the TypeScript SDK, over pipes (`--stdio`) or Streamable HTTP (`--port P`).
import { randomUUID } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

const inputSchema = z.object({ message: z.string() });

function echoServer() {
    const server = new McpServer({ name: 'typescript-peer', version: '0.0.0' });
    const about = { description: 'Answers with the message it was given', inputSchema };
    server.registerTool('echo', about, async ({ message }) => ({ content: [{ type: 'text', text: message }] }));
    return server;
}

async function serveHttp(port) {
    const { createServer } = await import('node:http');
    const { createMcpHandler } = await import('@modelcontextprotocol/server');
    const { NodeStreamableHTTPServerTransport, toNodeHandler } = await import('@modelcontextprotocol/node');

    const stateless = toNodeHandler(createMcpHandler(echoServer, { legacy: 'reject' }));
    const sessions = new Map();
    const sessionFor = async request => {
        const known = sessions.get(request.headers['mcp-session-id']);
        if (known) return known;
        const transport = new NodeStreamableHTTPServerTransport({
            sessionIdGenerator: randomUUID,
            onsessioninitialized: id => sessions.set(id, transport)
        });
        await echoServer().connect(transport);
        return transport;
    };
    const listener = createServer({ noDelay: true }, async (request, response) => {
        if (request.headers['mcp-protocol-version'] === '2026-07-28') return stateless(request, response);
        return (await sessionFor(request)).handleRequest(request, response);
    });
    listener.listen(port, '127.0.0.1');
}

const [mode, port] = process.argv.slice(2);
if (mode === '--stdio') {
    const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
    serveStdio(echoServer);
} else if (mode === '--port') {
    await serveHttp(Number(port));
} else {
    console.error('usage: server-v2.mjs --stdio | --port PORT');
    process.exitCode = 2;
}
