"""The cases with major version 2 of the official Python client: stdio and Streamable HTTP in both eras, and SSE."""

import warnings
from contextlib import asynccontextmanager

import anyio
import mcp_types as types
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.sse import sse_client
from mcp.client.subscriptions import ResourceUpdated

import cases


class Peer:
    def __init__(self, given):
        self.era = given.era
        self.updates, self.heard = anyio.create_memory_object_stream(100)
        self.client = Client(server(given), mode="legacy" if given.era == "legacy" else "auto",
                             message_handler=self.on_message, cache=None)

    async def on_message(self, message):
        if isinstance(message, types.ResourceUpdatedNotification):
            self.updates.send_nowait(str(message.params.uri))

    def server_name(self):
        return self.client.server_info.name

    def protocol_version(self):
        return self.client.protocol_version

    async def tools(self):
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call(self, name, arguments, on_progress=None):
        result = await self.client.call_tool(name, arguments, progress_callback=on_progress)
        return "\n".join(getattr(item, "text", "") for item in result.content), bool(result.is_error)

    async def resources(self):
        uris, cursor = [], None
        while True:
            page = await self.client.list_resources(cursor=cursor)
            uris += [str(resource.uri) for resource in page.resources]
            cursor = page.next_cursor
            if not cursor:
                return uris

    async def read(self, uri):
        return (await self.client.read_resource(uri)).contents[0].text

    @asynccontextmanager
    async def watch(self, uri):
        if self.era == "legacy":
            await self.client.subscribe_resource(uri)
            yield self.heard.receive
            await self.client.unsubscribe_resource(uri)
            return
        async with self.client.listen(resource_subscriptions=[uri]) as events:
            async def next_update():
                async for event in events:
                    if isinstance(event, ResourceUpdated):
                        return event.uri
                raise AssertionError("the server closed the subscription")

            yield next_update

    async def prompts(self):
        return [prompt.name for prompt in (await self.client.list_prompts()).prompts]

    async def prompt(self, name, arguments):
        messages = (await self.client.get_prompt(name, arguments)).messages
        return "\n".join(getattr(message.content, "text", str(message.content)) for message in messages)

    async def complete(self, prompt, argument, value):
        reference = types.PromptReference(type="ref/prompt", name=prompt)
        return (await self.client.complete(reference, {"name": argument, "value": value})).completion.values

    async def cancel_at_first_progress(self, name, arguments):
        """Leaving the scope of a call is what cancels it: by a notification, or by closing its stream."""
        answered = []

        async def on_progress(progress, total, message):
            scope.cancel()

        with anyio.CancelScope() as scope:
            answered.append(await self.call(name, arguments, on_progress))
        assert not answered, f"the call was answered before it could be cancelled: {answered}"
        assert scope.cancelled_caught


def server(given):
    if given.transport == "stdio":
        command, *rest = given.address
        return StdioServerParameters(command=command, args=rest, cwd=given.project)
    if given.transport == "http":
        return given.address
    assert given.transport == "sse", "this version of the client has no WebSocket transport"
    return sse_client(given.address)


@asynccontextmanager
async def connect(given):
    # Subscribing by request is deprecated in favor of listening, which only the modern era supports.
    warnings.simplefilter("ignore", DeprecationWarning)
    peer = Peer(given)
    async with peer.client:
        yield peer


if __name__ == "__main__":
    cases.run(connect)
