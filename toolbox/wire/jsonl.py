"""One line of the JSON Lines framing decoded: a message, or a call without tags."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from toolbox.wire import shape
from toolbox.wire.shape import Decoded, Refused

FORM: Final = (
    '{"id": 1, "name": "@json", "args": {"cmd": "get", "args": {"file": "resp.json", "path": "a"}}}'
    ' or {"id": 1, "message": "text with tags"}'
)


@dataclass(frozen=True, slots=True)
class Direct:
    """One call. id is the JSON text to give back, None where the line has none."""

    id: bytes | None
    name: str
    cmd: str
    """The verb, empty where none was given."""
    args: bytes
    """The JSON text of the verb's own arguments, numbers as spelled."""


@dataclass(frozen=True, slots=True)
class Message:
    """A model's text with tags in it."""

    id: bytes | None
    message: str


@dataclass(frozen=True, slots=True)
class Bad:
    """A line that is neither: where it broke, and the right form."""

    id: bytes | None
    op: str
    """What the reply's `op` says: the tool where it is known, else `message`."""
    message: str
    hint: str | None = f"a line is {FORM}"
    at: dict[str, Any] = field(default_factory=dict)


Line = Direct | Message | Bad


class _Frame(msgspec.Struct, gc=False):
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    name: str | msgspec.UnsetType = msgspec.UNSET
    args: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Inner(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    cmd: str
    args: msgspec.Raw


_frame = msgspec.json.Decoder(_Frame)
_frame_strictly = msgspec.json.Decoder(
    msgspec.defstruct(
        "_Strict",
        [("name", str), ("args", _Inner), ("id", msgspec.Raw, msgspec.UNSET)],
        forbid_unknown_fields=True,
        gc=False,
    )
)
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


def decode(line: bytes) -> Line:
    """What one line asks for; a line that is wrong comes back as Bad and says where."""
    return _decode_plain(line) or _decode_any(line)


def _decode_plain(line: bytes) -> Direct | None:
    """A call in its usual form, fast; None for anything that needs a closer look."""
    try:
        frame: Any = _frame_strictly.decode(line)
        args = _members.decode(frame.args.args)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    ident = None if frame.id is msgspec.UNSET else bytes(frame.id)
    if ident is not None and ident[0] in b"{[":
        return None
    # Each key has its colon: as many colons as different keys means that none stands twice.
    keys = 4 + (ident is not None) + len(args)
    if line.count(b":") != keys or not _is_utf8(line):
        return None
    return Direct(ident, frame.name, frame.args.cmd, bytes(frame.args.args))


def _is_utf8(line: bytes) -> bool:
    if line.isascii():
        return True
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _decode_any(line: bytes) -> Line:
    try:
        text = line.decode()
    except UnicodeDecodeError as exc:
        return Bad(None, "message", f"the line is not UTF-8: byte {line[exc.start]:#04x} at "
                   f"{exc.start}", at={"offset": exc.start})  # fmt: skip
    try:
        decoded = shape.decode_strict(text, "the line is")
    except Refused as exc:
        return Bad(_id_of(line), "message", exc.message, at={"reason": exc.reason})
    frame = decoded.value
    if not isinstance(frame, dict):
        return Bad(None, "message", f"expected a line to be an object, got {shape.kind(frame)}")
    texts = shape.members(decoded.text, frame)
    ident = texts.get("id")
    name = frame.get("name")
    op = name.removeprefix("@")[:40] if isinstance(name, str) and name else "message"

    def bad(message: str) -> Bad:
        return Bad(ident if not isinstance(frame.get("id"), dict | list) else None, op, message)

    if isinstance(frame.get("id"), dict | list):
        return bad(f"expected id to be a string, number, boolean or null, got "
                   f"{shape.kind(frame['id'])}")  # fmt: skip
    strange = [key for key in frame if key not in ("id", "message", "name", "args")]
    if strange:
        return bad(f"unknown member{'s' if len(strange) > 1 else ''} "
                   f"{', '.join(repr(key[:40]) for key in strange[:5])}")  # fmt: skip
    if "message" in frame:
        if "name" in frame or "args" in frame:
            return bad("a line has either message, or name and args, not both")
        if not isinstance(frame["message"], str):
            return bad(f"expected message to be a string, got {shape.kind(frame['message'])}")
        return Message(ident, frame["message"])
    if not isinstance(name, str):
        return bad("the line has neither message nor name" if "name" not in frame else
                   f"expected name to be a string, got {shape.kind(name)}")  # fmt: skip
    try:
        shaped = shape.shape(Decoded(frame.get("args", {}), texts.get("args", b"{}")))
    except Refused as exc:
        return bad(exc.message)
    return Direct(ident, name, shaped.cmd or "", shaped.args_json)


def _id_of(line: bytes) -> bytes | None:
    """The id of a line that is otherwise wrong, where it can be told."""
    try:
        ident = _frame.decode(line).id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if isinstance(ident, msgspec.UnsetType) or bytes(ident)[:1] in (b"{", b"["):
        return None
    return bytes(ident)
