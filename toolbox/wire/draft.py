"""What a tag has said, as it is read, and the call or refusal that comes of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolbox.arguments import nearest
from toolbox.wire import shape
from toolbox.wire.items import NAME_BYTES, RIGHT_FORM, Bad, Call, Reason
from toolbox.wire.shape import Refused


@dataclass(frozen=True, slots=True)
class Tools:
    """What the parser knows of the tools: their verbs, and which calls write."""

    verbs: Mapping[str, Collection[str]]
    is_write: Callable[[str, dict[str, Any]], bool]

    def may_write(self, name: str, cmd: str | None, args: dict[str, Any]) -> bool:
        """Whether the verb can change files, whatever this call's `dry_run` says.

        A call that was not understood at its first reading must not be such a verb's.
        """
        inner = args.get("args") if isinstance(args.get("args"), dict) else None
        if inner is None:
            inner = {k: v for k, v in args.items() if k not in ("cmd", "args")}
        tries = (inner, {**inner, "dry_run": False})
        return any(self.is_write(name, {"cmd": cmd, "args": given}) for given in tries)


@dataclass(slots=True)
class Draft:
    """What a tag has said so far."""

    tools: Tools
    attributes: dict[str, str] = field(default_factory=dict)
    args: bytes | None = None
    quote: str = ""
    refused: Refused | None = None
    whole: bool = True

    def refuse(self, reason: Reason, message: str) -> None:
        """Keep the first thing that is wrong; the tag is read on to find its end."""
        if self.refused is None:
            self.refused = Refused(reason, message)

    @property
    def is_mention(self) -> bool:
        """True where nothing says that a call is meant: prose that names the tag."""
        return not self.attributes and self.args is None and self.refused is None


def place(what: str, data: bytearray, start: int, at: int) -> str:
    """What is wrong, with the text before the place and the character at it: no more, since more
    may not have come yet."""
    before = bytes(data[max(start, at - shape.PREVIEW_CHARACTERS) : at]).decode("utf-8", "replace")
    got = chr(data[at]) if at < len(data) and 0x20 < data[at] < 0x7F else ""
    after = f" after {before!r}" if before else ""
    return f"{what}: got {got!r}{after}" if got else f"{what}{after}"


_OF_ARGS: Final = frozenset({"bad_json", "args_not_object", "duplicate_key"})


def refusal(draft: Draft) -> Bad:
    """Why the tag makes no call: first that there is no such tool, then what is wrong with args."""
    assert draft.refused is not None
    name = draft.attributes.get("name")
    if name is not None and draft.refused.reason in _OF_ARGS and (bad := _unknown(draft, name)):
        return bad
    return Bad(
        reason=draft.refused.reason,
        message=draft.refused.message,
        hint=f"the right form: {RIGHT_FORM}",
        name=_tool_name(draft),
        id=draft.attributes.get("id"),
    )


def _tool_name(draft: Draft) -> str | None:
    name = draft.attributes.get("name")
    return "@" + name.strip().removeprefix("@") if name is not None else None


def broken(draft: Draft, reason: Reason, data: bytearray, at: int) -> Bad | None:
    """The refusal of a tag that stops being one; None where it was only named in prose."""
    if draft.is_mention:
        return None
    what = "the tag has no end" if reason == "no_tag_end" else "expected an attribute or />"
    draft.refuse(reason, place(what, data, max(at - shape.PREVIEW_CHARACTERS, 0), at))
    return refusal(draft)


def cut(draft: Draft) -> Call | Bad | None:
    """The message ends inside the tag, outside of any value."""
    if draft.is_mention:
        return None
    draft.whole = False
    if draft.args is None:
        draft.refuse("truncated", "the message ends inside the tag")
        return refusal(draft)
    return finish(draft)


def finish(draft: Draft) -> Call | Bad | None:
    """The call that the tag makes, or why it makes none."""
    if draft.is_mention:
        return None
    if draft.refused is not None:
        return refusal(draft)
    try:
        return _understand(draft)
    except Refused as exc:
        draft.refuse(exc.reason, exc.message)
        return refusal(draft)


def _understand(draft: Draft) -> Call | Bad:
    name = draft.attributes.get("name")
    if name is not None and (bad := _unknown(draft, name)):
        return bad
    decoded = (
        shape.Decoded({}, b"{}")
        if draft.args is None
        else shape.decode(draft.args, attribute_quote=draft.quote)
    )
    if isinstance(decoded.value, str):  # an object encoded twice
        decoded = shape.decode(decoded.value.encode("utf-8", "surrogatepass"))
    decoded, inner_name, ident = shape.unwrap(decoded, name)
    if inner_name is None:
        raise Refused("missing_name", "the tag has no name attribute")
    if bad := _unknown(draft, inner_name):
        return bad
    shaped = shape.shape(decoded)
    tool = inner_name.strip().removeprefix("@")
    notes = []
    if decoded.python or not draft.whole:
        writes = draft.tools.may_write(tool, shaped.cmd, shaped.args)
        if not draft.whole:
            if writes:
                raise Refused("truncated", "the message ends before the tag does; nothing was run")
            notes.append("the tag's end was missing at the end of the message")
        if decoded.python:
            if writes:
                raise Refused("bad_json", "a Python literal is not taken for a verb that writes")
            notes.append(shape.PYTHON_NOTE)
    strange = [k for k in draft.attributes if k not in ("name", "id")]
    if strange:
        notes.append(
            f"attribute{'s' if len(strange) > 1 else ''} {', '.join(k[:40] for k in strange[:5])} "
            "ignored: a tag has name, args and id"
        )
    own = draft.attributes.get("id")
    if own is None and isinstance(ident, str | int) and not isinstance(ident, bool):
        own = str(ident)[:NAME_BYTES]
    return Call(
        name="@" + tool,
        cmd=shaped.cmd,
        args=shaped.args,
        args_json=shaped.args_json,
        raw=shaped.raw,
        id=own,
        notes=tuple(notes),
    )


def _unknown(draft: Draft, name: str) -> Bad | None:
    tool = name.strip().removeprefix("@")
    if tool in draft.tools.verbs:
        return None
    known = list(draft.tools.verbs)
    near = nearest(tool, known)
    listed = " and ".join("@" + k for k in known)
    return Bad(
        reason="unknown_tool",
        message=f"no tool @{tool[:40]}",
        hint=(f"did you mean @{near}? " if near else "") + f"the tools are {listed}",
        name="@" + tool[:40],
        id=draft.attributes.get("id"),
        at={"tool": tool[:40], "nearest": near},
    )
