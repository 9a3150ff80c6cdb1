"""The cases with major version 1 of the official Python client: stdio, Streamable HTTP, SSE and WebSocket."""

import warnings
from contextlib import asynccontextmanager

import anyio
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl

import cases


class Peer:
    def __init__(self):
        self.session = None
        self.hello = None
        self.updates, self.heard = anyio.create_memory_object_stream(100)

    async def on_message(self, message):
        if isinstance(message, types.ServerNotification) and isinstance(message.root, types.ResourceUpdatedNotification):
            self.updates.send_nowait(str(message.root.params.uri))

    def server_name(self):
        return self.hello.serverInfo.name

    def protocol_version(self):
        return self.hello.protocolVersion

    async def tools(self):
        return [tool.name for tool in (await self.session.list_tools()).tools]

    async def call(self, name, arguments, on_progress=None):
        result = await self.session.call_tool(name, arguments, progress_callback=on_progress)
        return "\n".join(getattr(item, "text", "") for item in result.content), bool(result.isError)

    async def resources(self):
        uris, params = [], None
        while True:
            page = await self.session.list_resources(params=params)
            uris += [str(resource.uri) for resource in page.resources]
            if not page.nextCursor:
                return uris
            params = types.PaginatedRequestParams(cursor=page.nextCursor)

    async def read(self, uri):
        return (await self.session.read_resource(AnyUrl(uri))).contents[0].text

    @asynccontextmanager
    async def watch(self, uri):
        await self.session.subscribe_resource(AnyUrl(uri))
        yield self.heard.receive
        await self.session.unsubscribe_resource(AnyUrl(uri))

    async def prompts(self):
        return [prompt.name for prompt in (await self.session.list_prompts()).prompts]

    async def prompt(self, name, arguments):
        messages = (await self.session.get_prompt(name, arguments)).messages
        return "\n".join(getattr(message.content, "text", str(message.content)) for message in messages)

    async def complete(self, prompt, argument, value):
        reference = types.PromptReference(type="ref/prompt", name=prompt)
        return (await self.session.complete(reference, {"name": argument, "value": value})).completion.values

    async def cancel_at_first_progress(self, name, arguments):
        """This version has no call for it: sends the notification manually, after which no answer may arrive."""
        started, answered = anyio.Event(), []

        async def on_progress(progress, total, message):
            started.set()

        async def call():
            answered.append(await self.call(name, arguments, on_progress))
            started.set()

        # The session numbers its requests; the next one is the call's.
        request_id = self.session._request_id
        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await started.wait()
            assert not answered, "the call ended without progress"
            await self.session.send_notification(types.ClientNotification(types.CancelledNotification(
                params=types.CancelledNotificationParams(requestId=request_id, reason="no longer needed"))))
            await self.session.send_ping()
            assert not answered, f"a cancelled call was answered: {answered}"
            group.cancel_scope.cancel()


def transport(given):
    if given.transport == "stdio":
        command, *rest = given.address
        return stdio_client(StdioServerParameters(command=command, args=rest, cwd=given.project))
    if given.transport == "http":
        return streamable_http_client(given.address)
    if given.transport == "sse":
        return sse_client(given.address)
    warnings.simplefilter("ignore", DeprecationWarning)
    from mcp.client.websocket import websocket_client
    return websocket_client(given.address)


@asynccontextmanager
async def connect(given):
    assert given.era == "legacy", "this version of the client knows the handshake alone"
    peer = Peer()
    async with transport(given) as streams:
        async with ClientSession(streams[0], streams[1], message_handler=peer.on_message) as session:
            peer.session = session
            peer.hello = await session.initialize()
            yield peer


if __name__ == "__main__":
    cases.run(connect)
