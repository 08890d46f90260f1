"""MCP by the official SDK's client, through the bridge and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx2
import pytest
from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.daemon.conftest import Stdio

BRIDGE = ["-m", "toolbox", "mcp"]


def _environment(tmp_path: pathlib.Path) -> dict[str, str]:
    return {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}


def _through_bridge(
    tmp_path: pathlib.Path, use: Callable[[ClientSession], Awaitable[Any]], *more: str
) -> Any:
    """Run a session against `toolbox mcp`, then stop the daemon that it started."""
    workspace = tmp_path / "ws"
    environment = _environment(tmp_path)

    async def main() -> Any:
        server = StdioServerParameters(
            command=sys.executable, args=[*BRIDGE, "--workspace", str(workspace), *more], env=environment
        )
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            return await use(session)

    try:
        return asyncio.run(asyncio.wait_for(main(), 90))
    finally:
        subprocess.run(
            [sys.executable, "-m", "toolbox", "stop", "--workspace", str(workspace)], env=environment,
            capture_output=True, timeout=60,
        )  # fmt: skip


@pytest.fixture
def ws(tmp_path: pathlib.Path) -> pathlib.Path:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "a.json").write_text('{"price": 1.10, "id": 12345678901234567890123, "rows": [{"n": 1}]}')
    return root


def test_three_tools_with_honest_annotations(tmp_path: pathlib.Path, ws: pathlib.Path) -> None:
    async def use(session: ClientSession) -> Any:
        return (await session.list_tools()).tools

    tools = {t.name: t for t in _through_bridge(tmp_path, use)}
    assert list(tools) == ["json", "diff", "diff_apply"]
    for name, tool in tools.items():
        assert tool.annotations.read_only_hint is (name != "diff_apply")
        assert tool.annotations.destructive_hint is (name == "diff_apply")
        assert tool.annotations.open_world_hint is False
        assert tool.input_schema["type"] == "object" and tool.input_schema["required"] == ["cmd"]
    assert "apply" not in tools["diff"].input_schema["properties"]["cmd"]["enum"]


def test_one_tool_a_verb_when_asked(tmp_path: pathlib.Path, ws: pathlib.Path) -> None:
    async def use(session: ClientSession) -> Any:
        names = [t.name for t in (await session.list_tools()).tools]
        got = await session.call_tool("json_get", {"file": "a.json", "path": "price"})
        return names, got.content[0].text

    names, text = _through_bridge(tmp_path, use, "--tools", "verbs")
    assert "json_get" in names and "diff_apply" in names and text == "1.10"
    assert all(n.replace("_", "").replace("-", "").isalnum() for n in names)


def test_answers_are_one_text_block_and_failures_are_results(tmp_path: pathlib.Path, ws: pathlib.Path) -> None:
    calls = [
        ("json", {"cmd": "get", "file": "a.json", "path": "price"}),
        ("json", {"cmd": "get", "file": "a.json", "path": "id"}),
        ("json", {"cmd": "get", "args": json.dumps({"file": "a.json", "path": "rows[0].n"})}),
        ("json", {"cmd": "get", "file": "a.json", "path": "rows[0]", "max_bytes": "400"}),
        ("json", {"cmd": "get", "file": "a.json", "path": "prise"}),
        ("json", {"cmd": "gte", "file": "a.json"}),
        ("jsn", {}),
        ("diff", {"cmd": "apply", "file": "a.json", "patch": "@@ -1 +1 @@\n-x\n+y\n", "dry_run": False}),
    ]

    async def use(session: ClientSession) -> Any:
        return [await session.call_tool(name, args) for name, args in calls]

    results = _through_bridge(tmp_path, use)
    assert all(len(r.content) == 1 and r.content[0].type == "text" for r in results)
    assert all(r.structured_content is None for r in results)
    assert [r.is_error for r in results] == [False] * 4 + [True] * 4
    texts = [r.content[0].text for r in results]
    assert texts[:3] == ["1.10", "12345678901234567890123", "1"]
    assert "price" in texts[4] and "did you mean 'get'" in texts[5] and "json" in texts[6]
    assert "diff_apply" in texts[7]
    assert (ws / "a.json").read_text().startswith('{"price"')


def test_a_patch_is_applied_through_the_destructive_tool(tmp_path: pathlib.Path, ws: pathlib.Path) -> None:
    (ws / "t.txt").write_text("a\nb\n")
    patch = {"cmd": "apply", "file": "t.txt", "patch": "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"}

    async def use(session: ClientSession) -> Any:
        dry = await session.call_tool("diff_apply", patch)
        before = (ws / "t.txt").read_text()
        real = await session.call_tool("diff_apply", {**patch, "dry_run": False})
        return dry, before, real

    dry, before, real = _through_bridge(tmp_path, use)
    assert not dry.is_error and before == "a\nb\n"
    assert not real.is_error and (ws / "t.txt").read_text() == "a\nc\n"
    assert (ws / "t.txt.bak").read_text() == "a\nb\n"


def test_two_bridges_share_one_daemon(tmp_path: pathlib.Path, ws: pathlib.Path) -> None:
    async def use(session: ClientSession) -> Any:
        first = await session.call_tool("json", {"cmd": "get", "file": "a.json", "path": "price"})
        status = await asyncio.to_thread(_status)
        return first, status

    def _status() -> dict[str, Any]:
        second = subprocess.run(
            [sys.executable, *BRIDGE, "--workspace", str(ws)], env=_environment(tmp_path), timeout=60,
            capture_output=True, check=True,
            input=b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
            b'"capabilities":{},"clientInfo":{"name":"second","version":"1"}}}\n',
        )  # fmt: skip
        assert b'"serverInfo"' in second.stdout
        done = subprocess.run(
            [sys.executable, "-m", "toolbox", "status", "--json", "--workspace", str(ws)],
            env=_environment(tmp_path), capture_output=True, timeout=60, check=True,
        )  # fmt: skip
        return json.loads(done.stdout)

    _, status = _through_bridge(tmp_path, use)
    assert status["verbs"]["json.get"]["calls"] == 1


def test_a_long_answer_is_cut_to_what_the_client_shows(tmp_path: pathlib.Path, ws: pathlib.Path) -> None:
    from toolbox.wire.mcp import cap_for

    assert cap_for("Visual Studio Code") == 8_000
    assert cap_for("codex-mcp-client") == 11_500
    assert cap_for("codex-mcp-client", "revisions") == 4_600
    assert cap_for("gemini-cli-mcp-client") is None
    assert cap_for("something else") is None


ERAS = ["legacy", "2026-07-28", "auto"]


async def _both(client: Client) -> tuple[str, list[str], str, bool]:
    async with client:
        names = [t.name for t in (await client.list_tools()).tools]
        got = await client.call_tool("json", {"cmd": "get", "file": "a.json", "path": "price"})
        miss = await client.call_tool("json", {"cmd": "get", "file": "a.json", "path": "prise"})
        return str(client.protocol_version), names, got.content[0].text, bool(miss.is_error)


def _version(era: str) -> str:
    return "2025-11-25" if era == "legacy" else "2026-07-28"


@pytest.mark.parametrize("era", ERAS)
def test_the_sdk_s_client_in_each_era_through_the_bridge(tmp_path: pathlib.Path, ws: pathlib.Path, era: str) -> None:
    environment = _environment(tmp_path)
    server = StdioServerParameters(
        command=sys.executable, args=[*BRIDGE, "--workspace", str(ws)], env=environment
    )
    try:
        got = asyncio.run(asyncio.wait_for(_both(Client(server, mode=era)), 90))
    finally:
        subprocess.run(
            [sys.executable, "-m", "toolbox", "stop", "--workspace", str(ws)], env=environment,
            capture_output=True, timeout=60,
        )  # fmt: skip
    assert got == (_version(era), ["json", "diff", "diff_apply"], "1.10", True)


@pytest.fixture
def http_door(workspace: pathlib.Path, serve: Callable[..., Stdio]) -> Iterator[dict[str, Any]]:
    (workspace / "a.json").write_text('{"price": 1.10}')
    yield serve("--http", "127.0.0.1:0").logged("http")


@pytest.mark.parametrize("era", ERAS)
def test_the_sdk_s_client_in_each_era_over_http(http_door: dict[str, Any], era: str) -> None:
    async def main() -> Any:
        headers = {"authorization": f"Bearer {http_door['token']}"}
        async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http:
            transport = streamable_http_client(http_door["url"] + "/mcp", http_client=http)
            return await _both(Client(transport, mode=era))

    got = asyncio.run(asyncio.wait_for(main(), 90))
    assert got == (_version(era), ["json", "diff", "diff_apply"], "1.10", True)
