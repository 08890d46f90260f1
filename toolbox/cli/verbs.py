"""`toolbox json VERB …` and `toolbox diff VERB …`, derived from the verbs' records."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from toolbox.arguments import Field, fields_of, nearest
from toolbox.cli.main import DONE, ERROR, NEGATIVE
from toolbox.dispatch import UNCAPPED, Call
from toolbox.registry import TOOLS, load
from toolbox.verb import Verb

STANDARD_INPUT = "-"

_INLINE = {"file": "text", "patch_file": "patch", "a": "before", "b": "after"}
"""A file argument → the inline argument that takes what `-` reads."""

ALONE_SECONDS = 60.0
"""The deadline of a call answered without a daemon: a person can interrupt it."""


def add_verbs(parser: argparse.ArgumentParser, tool: str, only: str | None) -> None:
    """A subcommand for each verb of a tool."""
    group = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name in TOOLS[tool]:
        if only is not None and name != only:
            group.add_parser(name)
            continue
        verb = load(tool, name)
        sub = group.add_parser(
            name,
            help=verb.summary,
            description=verb.summary,
            epilog=_epilog(verb),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        _add_arguments(sub, verb)


def _epilog(verb: Verb[Any]) -> str:
    lines = []
    if verb.limits:
        lines += ["limits:", *(f"  {limit}" for limit in verb.limits), ""]
    lines.append("examples:")
    for example in verb.examples:
        lines.append(f"  {command_line(verb, dict(example.args))}")
        lines.append(f"      {example.about}")
    return "\n".join(lines).replace("%", "%%")


def command_line(verb: Verb[Any], args: dict[str, Any]) -> str:
    """The command that makes this call, quoted for a shell."""
    import shlex

    words = ["toolbox", verb.tool, verb.name]
    rest = dict(args)
    for name in verb.positional:
        if name in rest and not isinstance(rest[name], list):
            words.append(shlex.quote(str(rest.pop(name))))
        else:
            break
    for name, value in rest.items():
        flag = "--" + name.replace("_", "-")
        if name == "dry_run":
            words += [] if value else ["--write"]
        elif value is True:
            words.append(flag)
        elif value is False:
            words.append("--no-" + name.replace("_", "-"))
        elif isinstance(value, list) and all(isinstance(v, str) for v in value):
            for one in value:
                words += [flag, shlex.quote(one)]
        elif isinstance(value, str):
            words += [flag, shlex.quote(value)]
        else:
            words += [flag, shlex.quote(json.dumps(value))]
    return " ".join(words)


def _add_arguments(parser: argparse.ArgumentParser, verb: Verb[Any]) -> None:
    for field in fields_of(verb.args):
        doc = field.doc.replace("%", "%%") or None
        if field.name in verb.positional:
            parser.add_argument(
                field.name,
                nargs=None if field.required else "?",
                help=doc,
                type=_converter(field),
                default=argparse.SUPPRESS,
            )
        if field.name in verb.positional and field.required:
            continue
        flag = "--" + field.name.replace("_", "-")
        if field.name == "dry_run":
            parser.add_argument(
                "--write",
                dest="dry_run",
                action="store_false",
                default=argparse.SUPPRESS,
                help="write, instead of a dry run",
            )
        elif field.kinds[0] == "boolean":
            parser.add_argument(
                flag,
                dest=field.name,
                action=argparse.BooleanOptionalAction,
                default=argparse.SUPPRESS,
                help=doc,
            )
        elif "list" in field.kinds and field.item is not None and "string" in field.item.kinds:
            parser.add_argument(
                flag,
                dest=field.name,
                action="append",
                metavar="VALUE",
                default=argparse.SUPPRESS,
                help=(doc or "") + " (may be repeated)",
            )
        else:
            dest = field.name if field.name not in verb.positional else f"option_{field.name}"
            parser.add_argument(
                flag,
                dest=dest,
                type=_converter(field),
                default=argparse.SUPPRESS,
                choices=field.choices if field.kinds == ("choice",) else None,
                metavar=None if field.kinds == ("choice",) else field.name.upper(),
                help=doc,
            )
    _common(parser, own_max_bytes=verb.own_max_bytes)


def _common(parser: argparse.ArgumentParser, *, own_max_bytes: bool) -> None:
    group = parser.add_argument_group("every verb")
    group.add_argument(
        "--workspace",
        metavar="DIR",
        default=None,
        help="the folder that files are in (default: this one)",
    )
    group.add_argument("--json", dest="as_json", action="store_true", help="print the envelope")
    if not own_max_bytes:
        group.add_argument(
            "--max-bytes",
            dest="max_bytes",
            type=int,
            default=argparse.SUPPRESS,
            help="cut the output to this many bytes (default: whole)",
        )
    group.add_argument("--no-daemon", action="store_true", help="answer alone, ask no daemon")
    group.add_argument("--color", choices=("auto", "always", "never"), default="auto")


def _converter(field: Field) -> Any:
    kinds = set(field.kinds) - {"null"}
    if kinds == {"integer"}:
        return int
    if kinds <= {"string", "choice"}:
        return str

    def convert(text: str) -> Any:
        if (
            "json" in kinds
            or text[:1] in "[{"
            or ("integer" in kinds and text.lstrip("-").isdigit())
        ):
            try:
                return json.loads(text)
            except ValueError:
                if not kinds & {"string", "choice"}:
                    raise argparse.ArgumentTypeError(
                        f"expected JSON for {field.name}, got {text[:40]!r}"
                    ) from None
        return text

    return convert


def run(options: argparse.Namespace) -> int:
    """Make the call that the options say, print its reply."""
    verb = load(options.command, options.verb)
    args = _arguments(verb, options)
    args_json = json.dumps(args, ensure_ascii=False).encode("utf-8", "surrogatepass")
    call = Call(verb.tool, verb.name, args_json, UNCAPPED, ALONE_SECONDS)
    workspace = options.workspace or os.environ.get("TOOLBOX_WORKSPACE") or "."

    from toolbox.cli import client, show

    reply = None
    if not options.no_daemon:
        reply = client.ask_daemon(workspace, call)
    if reply is None:
        reply = client.answer_alone(workspace, call)
    if options.as_json:
        sys.stdout.buffer.write(reply.envelope + b"\n")
    elif reply.ok:
        show.print_text(verb, reply.text, color=options.color)
    else:
        sys.stdout.flush()
        print(f"toolbox: {reply.text}", file=sys.stderr)
    if not reply.ok:
        return ERROR
    return NEGATIVE if reply.negative else DONE


def _arguments(verb: Verb[Any], options: argparse.Namespace) -> dict[str, Any]:
    given = vars(options)
    args: dict[str, Any] = {}
    names = {f.name for f in fields_of(verb.args)}
    for field in fields_of(verb.args):
        for key in (field.name, f"option_{field.name}"):
            if key in given and given[key] is not None:
                args[field.name] = given[key]
    if "max_bytes" in given:
        args["max_bytes"] = given["max_bytes"]
    for name, inline in _INLINE.items():
        if args.get(name) == STANDARD_INPUT and inline in names:
            del args[name]
            args[inline] = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    return args


__all__ = ["add_verbs", "command_line", "nearest", "run"]
