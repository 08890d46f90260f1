"""A stand-in model on loopback: it asks for the calls of a script and keeps what it is given.

Three dialects are spoken, the ones that agents use: OpenAI Responses, OpenAI chat completions and
Gemini's generateContent, each as a whole answer and as a stream of events. A request's number of
tool outputs tells which call of the script is next; after the last one the model says "done".
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Event = tuple[str, dict[str, Any]]

CALL = "call_{}"


class StandIn:
    """The model's server; `script` is (tool's own name, arguments) for each call to make."""

    def __init__(self, script: Sequence[tuple[str, dict[str, Any]]]) -> None:
        self.script = list(script)
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.outputs: list[str] = []
        """What the model was last given for each call, in order: the longest list seen."""
        self.declared: dict[str, dict[str, Any]] = {}
        """Our tools as the client declares them to the model, by the name it gives them."""
        self.problems: list[str] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def seen(self, path: str, body: dict[str, Any], outputs: list[str]) -> None:
        """Keep a request and the tool outputs in it."""
        with self._lock:
            self.requests.append((path, body))
            if len(outputs) >= len(self.outputs):
                self.outputs = outputs

    def next_call(
        self, done: int, tools: dict[str, dict[str, Any]]
    ) -> tuple[str, dict[str, Any]] | None:
        """The declared name and arguments of the call after `done` outputs; None for no more."""
        ours = {name: tool for name, tool in tools.items() if _own_name(name)}
        if not ours or done >= len(self.script):
            return None
        self.declared = ours
        wanted, arguments = self.script[done]
        for name in ours:
            if _own_name(name) == wanted:
                return name, arguments
        self.problems.append(f"no tool {wanted} among {sorted(tools)}")
        return None


def _own_name(declared: str) -> str | None:
    """json, diff or diff_apply, out of what a client makes of it: mcp__toolbox__json."""
    for name in ("diff_apply", "diff", "json"):
        if declared.endswith((f"toolbox_{name}", f"toolbox__{name}")):
            return name
    return None


# -- OpenAI Responses ---------------------------------------------------------------------------


def _text_of(output: Any) -> str:
    """A tool output's text: a string, or a list of parts with text."""
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return "".join(str(part.get("text", "")) for part in output)
    return json.dumps(output, ensure_ascii=False)


def _responses(model: StandIn, path: str, body: dict[str, Any]) -> Iterator[Event]:
    items = body.get("input") or []
    outputs = [
        _text_of(item.get("output"))
        for item in items
        if isinstance(item, dict) and item.get("type") == "function_call_output"
    ]
    model.seen(path, body, outputs)
    tools: dict[str, dict[str, Any]] = {}
    spaces: dict[str, tuple[str, str]] = {}
    for tool in body.get("tools") or []:
        if tool.get("type") == "namespace":
            for inner in tool.get("tools") or []:
                full = f"{tool['name']}{'' if tool['name'].endswith('__') else '__'}{inner['name']}"
                tools[full] = inner
                spaces[full] = (tool["name"], inner["name"])
        elif tool.get("name"):
            tools[tool["name"]] = tool
    call = model.next_call(len(outputs), tools)
    ident = f"resp_{len(model.requests)}"
    item: dict[str, Any]
    if call is None:
        item = {
            "type": "message",
            "id": f"msg_{ident}",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "done", "annotations": []}],
        }
    else:
        name, arguments = call
        item = {
            "type": "function_call",
            "id": f"fc_{ident}",
            "call_id": CALL.format(len(outputs)),
            "name": name,
            "arguments": json.dumps(arguments),
            "status": "completed",
        }
        if name in spaces:
            item["namespace"], item["name"] = spaces[name]
    response = {
        "id": ident,
        "object": "response",
        "status": "completed",
        "model": body.get("model"),
        "output": [item],
        "usage": {
            "input_tokens": 1,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2,
        },
    }
    yield "response.created", {"response": {**response, "status": "in_progress", "output": []}}
    yield "response.output_item.added", {"output_index": 0, "item": item}
    yield "response.output_item.done", {"output_index": 0, "item": item}
    yield "response.completed", {"response": response}


# -- OpenAI chat completions --------------------------------------------------------------------


def _chat(model: StandIn, path: str, body: dict[str, Any]) -> dict[str, Any]:
    outputs = [
        _text_of(m.get("content")) for m in body.get("messages") or [] if m.get("role") == "tool"
    ]
    model.seen(path, body, outputs)
    tools = {t["function"]["name"]: t["function"] for t in body.get("tools") or []}
    call = model.next_call(len(outputs), tools)
    message: dict[str, Any] = {"role": "assistant", "content": "done" if call is None else None}
    if call is not None:
        message["tool_calls"] = [
            {
                "index": 0,
                "id": CALL.format(len(outputs)),
                "type": "function",
                "function": {"name": call[0], "arguments": json.dumps(call[1])},
            }
        ]
    return {
        "id": f"chat_{len(model.requests)}",
        "created": 1,
        "model": body.get("model"),
        "message": message,
        "finish": "stop" if call is None else "tool_calls",
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _chat_whole(model: StandIn, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = _chat(model, path, body)
    choice = {"index": 0, "message": answer.pop("message"), "finish_reason": answer.pop("finish")}
    return {**answer, "object": "chat.completion", "choices": [choice]}


def _chat_stream(model: StandIn, path: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    answer = _chat(model, path, body)
    head = {k: answer[k] for k in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    yield {**head, "choices": [{"index": 0, "delta": answer["message"], "finish_reason": None}]}
    last = {"index": 0, "delta": {}, "finish_reason": answer["finish"]}
    yield {**head, "choices": [last], "usage": answer["usage"]}


# -- Gemini -------------------------------------------------------------------------------------


def _gemini(model: StandIn, path: str, body: dict[str, Any]) -> dict[str, Any]:
    outputs: list[str] = []
    for content in body.get("contents") or []:
        for part in content.get("parts") or []:
            if answer := part.get("functionResponse"):
                given = answer.get("response") or {}
                outputs.append(_text_of(given.get("output", given.get("error", given))))
    model.seen(path, body, outputs)
    tools = {
        f["name"]: f
        for tool in body.get("tools") or []
        for f in tool.get("functionDeclarations") or []
    }
    call = model.next_call(len(outputs), tools)
    part: dict[str, Any] = {"text": "done"}
    if call is not None:
        part = {
            "functionCall": {"id": CALL.format(len(outputs)), "name": call[0], "args": call[1]},
            "thoughtSignature": "c3RhbmQtaW4=",
        }
    elif not tools:
        part = {"text": '{"reasoning":"stand-in","model_choice":"flash","complexity_score":1}'}
    return {
        "candidates": [
            {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
        ],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    }


# -- HTTP ---------------------------------------------------------------------------------------


def _handler(model: StandIn) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            self._whole({"object": "list", "data": [], "models": []})

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length) or b"{}")
            path = self.path.partition("?")[0]
            if path.endswith("/responses"):
                self._events(
                    f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"
                    for kind, data in _responses(model, path, body)
                )
            elif path.endswith("/chat/completions"):
                if body.get("stream"):
                    chunks = _chat_stream(model, path, body)
                    self._events(_data(c) for c in chunks)
                    return
                self._whole(_chat_whole(model, path, body))
            elif path.endswith(":streamGenerateContent"):
                self._events(iter([_data(_gemini(model, path, body))]))
            elif path.endswith(":generateContent"):
                self._whole(_gemini(model, path, body))
            elif path.endswith(":countTokens"):
                self._whole({"totalTokens": 1})
            else:
                self.send_error(404)

        def _whole(self, value: dict[str, Any]) -> None:
            data = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _events(self, events: Iterator[str]) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            for event in events:
                self.wfile.write(event.encode())
            if self.path.endswith("/chat/completions"):
                self.wfile.write(b"data: [DONE]\n\n")
            self.close_connection = True

    return Handler


def _data(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value)}\n\n"
