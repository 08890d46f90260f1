"""The commands beside the verbs: serve, call, status, stop, tools, doctor, and the doors."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from typing import Any, Final

from toolbox import limits
from toolbox.cli.main import COMMANDS
from toolbox.cli.out import DONE, complain, write, write_line

EXAMPLES: Final = {
    "call": """\
  toolbox call reply.txt            run the calls in a model's text
  toolbox call --explain reply.txt  only tell what the parser finds
""",
    "serve": """\
  toolbox serve --socket                      for the command line, Python and MCP bridges
  toolbox serve --stdio --format jsonl        one JSON object a line, in and out
  toolbox serve --socket --http 127.0.0.1:0   HTTP and MCP over HTTP; the URL is printed
""",
    "mcp": """\
  toolbox mcp --workspace /path/to/project    starts or joins the workspace's daemon
""",
    "attach": """\
  toolbox attach claude-code           shows the change, then asks
  toolbox attach zed --print           only shows it
""",
    "tools": """\
  toolbox tools                 every verb in a line
  toolbox tools json get        one verb: arguments, examples, the call as a model writes it
  toolbox tools --json          the catalogue with every schema
""",
    "completions": """\
  toolbox completions bash > ~/.local/share/bash-completion/completions/toolbox
  toolbox completions zsh > ~/.zfunc/_toolbox        with fpath+=~/.zfunc before compinit
  toolbox completions fish > ~/.config/fish/completions/toolbox.fish
""",
}
"""Of the commands beside the verbs, printed below their options."""


def parser(command: str) -> argparse.ArgumentParser:
    """The parser of one command."""
    about = COMMANDS[command]
    examples = EXAMPLES.get(command)
    made = argparse.ArgumentParser(
        prog=f"toolbox {command}",
        description=about[0].upper() + about[1:] + ".",
        epilog="examples:\n" + examples if examples else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_options(made, command)
    return made


def add_options(parser: argparse.ArgumentParser, command: str) -> None:
    """The options of one command."""
    match command:
        case "serve":
            _serve_options(parser)
        case "call":
            parser.add_argument(
                "message",
                nargs="?",
                default="-",
                help="a file with the message (default: standard input)",
            )
            parser.add_argument(
                "--explain",
                action="store_true",
                help="run nothing; print what the parser found, a JSON line each",
            )
            parser.add_argument("--jsonl", action="store_true", help="print envelopes, not tags")
            _workspace(parser)
        case "status" | "stop" | "doctor":
            parser.add_argument("--json", dest="as_json", action="store_true")
            _workspace(parser)
        case "tools":
            parser.add_argument(
                "verb", nargs="*", metavar="VERB", help="one verb: get, json get or json-get"
            )
            parser.add_argument(
                "--json",
                dest="as_json",
                action="store_true",
                help="the whole catalogue with schemas",
            )
        case _:
            from toolbox.cli import doors

            doors.add_options(parser, command)


def _workspace(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workspace",
        metavar="DIR",
        default=os.environ.get("TOOLBOX_WORKSPACE") or ".",
        help="the workspace's folder (default: this one)",
    )


def _serve_options(parser: argparse.ArgumentParser) -> None:
    _workspace(parser)
    parser.add_argument("--stdio", action="store_true", help="listen on standard input and output")
    parser.add_argument(
        "--format",
        choices=("tags", "jsonl"),
        default="tags",
        dest="framing",
        help="framing on standard input and output and on the socket",
    )
    parser.add_argument(
        "--socket",
        nargs="?",
        const="",
        default=None,
        metavar="PATH",
        help="listen on a Unix socket (default: the workspace's usual place)",
    )
    parser.add_argument("--http", metavar="HOST:PORT", help="listen for HTTP and MCP over HTTP")
    parser.add_argument("--token-file", metavar="FILE", help="the bearer token of the HTTP door")
    parser.add_argument("--no-token", action="store_true", help="no bearer token; loopback only")
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        default=max(2, os.cpu_count() or 2),
        help="read workers (default: one for each core)",
    )
    parser.add_argument(
        "--deadline",
        type=float,
        default=limits.CALL_SECONDS,
        metavar="SECONDS",
        help="a call's time before its worker is killed (default: %(default)g)",
    )
    parser.add_argument(
        "--kept-mib",
        type=int,
        default=limits.KEPT_DOCUMENT_BYTES >> 20,
        metavar="MIB",
        help="memory for kept documents (default: %(default)d)",
    )
    parser.add_argument(
        "--confine",
        choices=("require", "warn", "off"),
        default="warn",
        help="kernel confinement of workers (default: %(default)s)",
    )
    parser.add_argument(
        "--idle",
        type=float,
        default=None,
        metavar="SECONDS",
        help="stop this long after the last client of the socket (default: never)",
    )
    parser.add_argument(
        "--quiet", action="store_true", help="log starts, stops and faults, not each call"
    )
    parser.add_argument(
        "--warm-mcp", action="store_true", help="import what MCP needs at the start"
    )
    parser.add_argument(
        "--cross-mounts", action="store_true", help="allow mounts below the workspace"
    )
    parser.add_argument(
        "--write-units",
        nargs="?",
        const="",
        default=None,
        metavar="DIR",
        help="write systemd user units for this workspace, start nothing "
        "(default: ~/.config/systemd/user)",
    )


def run(command: str, options: argparse.Namespace) -> int:
    """Run one of these commands; the exit status."""
    match command:
        case "serve":
            return _serve(options)
        case "call":
            return _call(options)
        case "status":
            return _status(options)
        case "stop":
            return _stop(options)
        case "tools":
            return _tools(options)
        case "doctor":
            return _doctor(options)
        case _:
            from toolbox.cli import doors

            return doors.run(command, options)


def _fail(message: str, hint: str = "") -> int:
    return complain(message, hint)


def _serve(options: argparse.Namespace) -> int:
    from sandbox.errors import SandboxError
    from toolbox.daemon.lifecycle import Settings, serve

    if options.write_units is not None:
        return _write_units(options.workspace, options.write_units)
    if not options.stdio and options.socket is None and not options.http:
        return _fail("serve: name at least one door: --stdio, --socket or --http HOST:PORT")
    http = None
    if options.http:
        host, colon, port = options.http.rpartition(":")
        if not colon or not port.isdigit() or int(port) > 65535:
            return _fail(f"--http: expected HOST:PORT, got {options.http!r}")
        http = (host.strip("[]") or "127.0.0.1", int(port))
    if options.workers < 1:
        return _fail(f"--workers: expected at least 1, got {options.workers}")
    try:
        return serve(
            Settings(
                workspace=options.workspace,
                stdio=options.stdio,
                framing=options.framing,
                socket_path=options.socket,
                http=http,
                token_file=options.token_file,
                no_token=options.no_token,
                workers=options.workers,
                seconds=options.deadline,
                kept_bytes=options.kept_mib << 20,
                confine=options.confine,
                cross_mounts=options.cross_mounts,
                idle_seconds=options.idle,
                warm_mcp=options.warm_mcp,
                quiet=options.quiet,
            )
        )
    except SandboxError as exc:
        return _fail(f"{exc.code}: {exc.message}")


def _write_units(workspace: str, folder: str) -> int:
    from toolbox.daemon import units

    if not os.path.isdir(workspace):
        return _fail(f"--workspace: expected a folder, got {workspace!r}")
    command = os.path.abspath(shutil.which(sys.argv[0]) or sys.argv[0])
    try:
        paths = units.write_units(workspace, command, folder or units.default_folder())
    except OSError as exc:
        return _fail(f"--write-units: {exc.filename}: {exc.strerror}")
    for path in paths:
        print(f"wrote {path}")
    name = os.path.basename(paths[0])
    print(f"start it: systemctl --user daemon-reload && systemctl --user enable --now {name}")
    return DONE


def _call(options: argparse.Namespace) -> int:
    if options.message == "-":
        data = sys.stdin.buffer.read()
    else:
        try:
            with open(options.message, "rb") as handle:
                data = handle.read()
        except OSError as exc:
            return _fail(f"{options.message}: {exc.strerror}")
    if options.explain:
        from toolbox.daemon.session import tool_table
        from toolbox.registry import is_write
        from toolbox.wire.explain import explain_lines

        for line in explain_lines(data, tool_table(), is_write):
            if not write_line(line):
                break
        return DONE
    from toolbox.cli import message

    return message.send(options.workspace, data, jsonl=options.jsonl)


def _control(workspace: str, op: str) -> dict[str, Any] | None:
    from toolbox.cli import client

    channel = client.connect(workspace, "TOOLBOX/1 control\n")
    if channel is None:
        return None
    with channel:
        channel.sendall(json.dumps({"op": op}).encode() + b"\n")
        line = client.read_line(channel)
        if op == "stop":
            while channel.recv(4096):  # until the daemon has closed: it has stopped then
                pass
    answer = json.loads(line) if line else {}
    return answer.get("result") if isinstance(answer, dict) else None


def _status(options: argparse.Namespace) -> int:
    status = _control(options.workspace, "status")
    if status is None:
        return _fail(
            "no daemon runs for this workspace; start one: toolbox serve --workspace DIR --socket"
        )
    if options.as_json:
        print(json.dumps(status, indent=2, ensure_ascii=False))
        return DONE
    workers = status["workers"]
    print(f"toolbox {status['version']}, pid {status['pid']}, up {status['uptime_seconds']:.0f} s")
    print(f"workspace  {status['workspace']}")
    print(f"socket     {status['socket'] or '-'}")
    print(f"http       {status['http'] or '-'}")
    print(
        f"workers    {len(workers['read'])} read, {'1' if workers['write'] else 'no'} write, "
        f"{workers['replaced']} replaced"
    )
    print(f"calls      {status['running']} running, {status['waiting']} waiting")
    for role, layers in (status.get("layers") or {}).items():
        print(f"confined   {role}: {_layers(layers)}")
    for op, verb in status["verbs"].items():
        print(
            f"  {op:20} {verb['calls']:>8} calls   p50 ≤ {_ms(verb['p50_ms_at_most'])}   "
            f"p99 ≤ {_ms(verb['p99_ms_at_most'])}   {verb['outcomes']}"
        )
    return DONE


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:g} ms"


def _layers(layers: Any) -> str:
    if isinstance(layers, list):
        return "; ".join(
            f"{x.get('name')}: {'holds' if x.get('holds') else 'no, ' + str(x.get('why'))}"
            for x in layers
        )
    return str(layers)


def _stop(options: argparse.Namespace) -> int:
    answer = _control(options.workspace, "stop")
    if answer is None:
        return _fail("no daemon runs for this workspace")
    if options.as_json:
        print(json.dumps(answer))
    else:
        print(f"stopped {answer['pid']}")
    return DONE


def _tools(options: argparse.Namespace) -> int:
    from toolbox.registry import all_verbs

    if options.verb:
        return _one_tool(options)
    if options.as_json:
        from toolbox import catalogue

        write_line(json.dumps(catalogue.catalogue(), indent=2, ensure_ascii=False))
        return DONE
    write("".join(f"@{verb.tool} {verb.name:10} {verb.summary}\n" for verb in all_verbs()))
    return DONE


def _one_tool(options: argparse.Namespace) -> int:
    """One verb of the catalogue, by any of the names it goes by."""
    from toolbox.cli.help import verb_text
    from toolbox.cli.words import nearest
    from toolbox.registry import TOOLS, load

    asked = "-".join(options.verb).replace(".", "-").removeprefix("@")
    names = {f"{tool}-{name}": (tool, name) for tool in TOOLS for name in TOOLS[tool]}
    found = [names[asked]] if asked in names else [p for p in names.values() if p[1] == asked]
    if not found:
        near = nearest(asked, list(names)) or nearest(asked, [p[1] for p in names.values()])
        hint = f"did you mean toolbox tools {near.replace('-', ' ')}?" if near else "toolbox tools"
        return _fail(f"no verb {' '.join(options.verb)[:60]!r}", hint)
    if options.as_json:
        from toolbox import catalogue

        entries = [catalogue.entry(load(*pair)) for pair in found]
        write_line(json.dumps(entries, indent=2, ensure_ascii=False))
        return DONE
    for tool, name in found:
        call = {"cmd": name, "args": dict(load(tool, name).examples[0].args)}
        text = json.dumps(call, ensure_ascii=False)
        write(f"@{tool} {name}\n\n{verb_text(tool, name)}\nas a model calls it:\n")
        write(f"  <tool_call name=\"@{tool}\" args='{text}' />\n")
    return DONE


def _doctor(options: argparse.Namespace) -> int:
    from sandbox import survey

    if options.as_json:
        print(json.dumps(survey.survey().as_json(), indent=2))
    else:
        print("\n".join(survey.lines(survey.survey())))
    return DONE
