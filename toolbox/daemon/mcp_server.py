"""The SDK's side of MCP: tools listed and called, progress, cancellation.

Importing this module imports the SDK, which takes most of a second of CPU.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

import anyio
import mcp_types as types
import msgspec
from mcp.server.lowlevel import Server
from mcp.shared._context_streams import create_context_streams
from mcp.shared.message import SessionMessage

from toolbox.dispatch import Call, failure
from toolbox.errors import ToolboxError
from toolbox.output import Reply
from toolbox.version import __version__
from toolbox.wire import mcp as projection

if TYPE_CHECKING:
    from toolbox.daemon.mcp import McpStream
    from toolbox.daemon.runtime import Daemon

PROGRESS_SECONDS: Final = 1.0
"""A call that takes longer tells that it is alive, and again each second."""

LIST_TTL_MS: Final = 3_600_000
"""The tools never change while a daemon runs."""

INSTRUCTIONS: Final = (
    "Ask large JSON and YAML files with `json` instead of reading them whole. Compare with `diff`. "
    "Apply a patch with `diff_apply`: first a dry run, then the same call with dry_run false. "
    "Every cut and every miss names the next call."
)


def build(daemon: Daemon, shape: projection.Shape, name: str) -> Server[Any]:
    """An MCP server whose calls go to the daemon's workers."""
    specs = projection.tools(shape)
    listed = types.ListToolsResult(
        tools=[_tool(spec) for spec in specs], ttl_ms=LIST_TTL_MS, cache_scope="public"
    )

    async def list_tools(
        ctx: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return listed

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        info = getattr(ctx.session.client_params, "client_info", None)
        client_name = str(getattr(info, "name", "") or name)
        client = daemon.mcp_client(client_name)
        try:
            tool, cmd, values = projection.resolve(params.name, params.arguments, shape)
        except ToolboxError as exc:
            return _result(failure("mcp", exc), "", client_name)
        call = Call(
            tool,
            cmd,
            json.dumps(values, ensure_ascii=False).encode("utf-8", "surrogatepass"),
            projection.cap_for(client_name, cmd),
            daemon.service.seconds,
        )
        future = daemon.service.submit(client, call)
        try:
            reply = await _with_progress(ctx, future)
        except asyncio.CancelledError:
            daemon.service.cancel(future)
            raise
        return _result(reply, cmd, client_name)

    return Server(
        "toolbox",
        version=__version__,
        title="Workspace toolbox",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _with_progress(ctx: Any, future: asyncio.Future[Reply]) -> Reply:
    seconds = 0
    while True:
        done, _ = await asyncio.wait({future}, timeout=PROGRESS_SECONDS)
        if done:
            return future.result()
        seconds += 1
        await ctx.session.report_progress(float(seconds), None, "still working")


def _tool(spec: projection.ToolSpec) -> types.Tool:
    return types.Tool(
        name=spec.name,
        title=spec.title,
        description=spec.description,
        input_schema=spec.input_schema,
        annotations=types.ToolAnnotations(
            title=spec.title,
            read_only_hint=spec.read_only,
            destructive_hint=not spec.read_only,
            # A second apply of one patch is refused as already applied, and changes nothing.
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )


def _result(reply: Reply, cmd: str, client_name: str) -> types.CallToolResult:
    """One text block; `revisions` also as structured content, the same envelope in both."""
    text = reply.text
    structured: dict[str, Any] | None = None
    if reply.ok and projection.reads_json(client_name):
        structured = {}
    if cmd == "revisions":
        envelope = reply.envelope()
        text, structured = envelope.decode(), msgspec.json.decode(envelope)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=structured,
        is_error=not reply.ok,
    )


async def serve_stream(daemon: Daemon, door: McpStream, shape: projection.Shape) -> None:
    """Serve one connection until its input ends."""
    server = build(daemon, shape, "mcp")
    to_server, from_door = create_context_streams[SessionMessage | Exception](0)
    from_server, to_door = create_context_streams[SessionMessage](0)

    async def read() -> None:
        async with to_server:
            while (line := await door.lines.get()) is not None:
                try:
                    message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError as exc:
                    await to_server.send(exc)
                    continue
                await to_server.send(SessionMessage(message))

    async def write() -> None:
        async with to_door:
            async for outgoing in to_door:
                text = outgoing.message.model_dump_json(by_alias=True, exclude_unset=True)
                door.write(text.encode())

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        group.start_soon(write)
        await server.run(from_door, from_server, server.create_initialization_options())
        group.cancel_scope.cancel()
