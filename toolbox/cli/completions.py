"""Shell completions, made by shtab from the argument parser (its own table for fish)."""

from __future__ import annotations

import argparse

from toolbox.registry import TOOLS


def script(shell: str) -> str:
    """A completion script for one shell."""
    parser = whole_parser()
    if shell == "fish":
        return _fish(parser)
    import shtab

    return str(shtab.complete(parser, shell=shell)) + "\n"


def whole_parser() -> argparse.ArgumentParser:
    """The parser with every command and verb filled in."""
    from toolbox.cli.main import build

    return build(everything=True)


def _fish(parser: argparse.ArgumentParser) -> str:
    lines = ["# fish completion for toolbox", "complete -c toolbox -f"]
    commands = _subparsers(parser)
    names = " ".join(commands)
    for name, (sub, summary) in commands.items():
        lines.append(
            f"complete -c toolbox -n 'not __fish_seen_subcommand_from {names}' -a {name} -d {_q(summary)}"
        )
        if name in TOOLS:
            verbs = _subparsers(sub)
            for verb, (inner, about) in verbs.items():
                seen = f"__fish_seen_subcommand_from {name}"
                lines.append(
                    f"complete -c toolbox -n '{seen}; and not __fish_seen_subcommand_from "
                    f"{' '.join(verbs)}' -a {verb} -d {_q(about)}"
                )
                lines += _options(inner, f"{seen}; and __fish_seen_subcommand_from {verb}")
        else:
            lines += _options(sub, f"__fish_seen_subcommand_from {name}")
    lines.append("complete -c toolbox -n '__fish_seen_subcommand_from json diff call' -F")
    return "\n".join(lines) + "\n"


def _subparsers(
    parser: argparse.ArgumentParser,
) -> dict[str, tuple[argparse.ArgumentParser, str]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            about = {a.dest: a.help or "" for a in action._choices_actions}
            return {n: (p, about.get(n, "")) for n, p in action.choices.items()}
    return {}


def _options(parser: argparse.ArgumentParser, condition: str) -> list[str]:
    lines = []
    for action in parser._actions:
        for flag in action.option_strings:
            if flag.startswith("--"):
                line = f"complete -c toolbox -n '{condition}' -l {flag[2:]}"
                if action.choices:
                    line += f" -x -a {_q(' '.join(map(str, action.choices)))}"
                elif action.nargs != 0:
                    line += " -r"
                if action.help:
                    line += f" -d {_q(action.help.split(chr(10))[0])}"
                lines.append(line)
    return lines


def _q(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
