"""Shell completions, from the same words that the parsers know: bash, zsh, fish."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from toolbox.cli.main import COMMANDS
from toolbox.cli.outline import Option, Outline, Place, outlines
from toolbox.cli.rows import Row, verbs
from toolbox.cli.table import ROWS

FILES: Final = {"bash": "toolbox.bash", "zsh": "_toolbox", "fish": "toolbox.fish"}
"""Shell → the name of its script, as the shell looks for it."""


def script(shell: str) -> str:
    """A completion script for one shell."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


def _first_sentence(text: str) -> str:
    return text.split("; ")[0].split(". ")[0].rstrip(".")


def _q(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# bash: words only. The flags' values are told from the word before; files are the default.

_BASH_HEAD: Final = """\
# bash completion for toolbox
_toolbox() {
    local cur prev words cword
    cur=${COMP_WORDS[COMP_CWORD]}
    # With = among the word breaks, --color=al comes as three words.
    prev=${COMP_WORDS[COMP_CWORD-1]}
    if [[ $cur == = ]]; then cur=
    elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
    COMPREPLY=()
    if (( COMP_CWORD == 1 )); then
        COMPREPLY=($(compgen -W '@COMMANDS@ --help --version' -- "$cur"))
        return
    fi
    local command=${COMP_WORDS[1]} verb= values= flags= place= kind=
    case $command in
@TOOLS@
    help)
        if (( COMP_CWORD == 2 )); then values='@COMMANDS@'
        elif (( COMP_CWORD == 3 )); then
            case ${COMP_WORDS[2]} in
@VERBS@
            esac
        fi
        COMPREPLY=($(compgen -W "$values" -- "$cur"))
        return ;;
    esac
    case "$command $verb" in
"""

_BASH_TAIL: Final = """\
    esac
    if [[ -n $values ]]; then
        COMPREPLY=($(compgen -W "$values" -- "$cur"))
    elif [[ $kind == folder ]]; then
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -d -- "$cur"))
    elif [[ $kind == value ]]; then
        return
    elif [[ $cur == -* && $kind != file ]]; then
        COMPREPLY=($(compgen -W "$flags" -- "$cur"))
    elif [[ -n $place && $kind != file ]]; then
        COMPREPLY=($(compgen -W "$place" -- "$cur"))
    else
        compopt -o filenames 2>/dev/null
        local IFS=$'\\n'
        COMPREPLY=($(compgen -f -- "$cur"))
    fi
}
complete -F _toolbox toolbox
"""


def _bash() -> str:
    tools = []
    for tool in ROWS:
        names = " ".join(verbs(tool))
        tools.append(
            f"    {tool})\n"
            "        if (( COMP_CWORD == 2 )); then\n"
            f"            COMPREPLY=($(compgen -W '{names} --help' -- \"$cur\")); return\n"
            "        fi\n"
            "        verb=${COMP_WORDS[2]} ;;"
        )
    helped = [f"            {tool}) values='{' '.join(verbs(tool))}' ;;" for tool in ROWS]
    head = _BASH_HEAD.replace("@COMMANDS@", " ".join(COMMANDS))
    lines = [head.replace("@TOOLS@", "\n".join(tools)).replace("@VERBS@", "\n".join(helped))]
    for outline in outlines():
        if outline.words == ("help",):
            continue
        key = " ".join(outline.words) if len(outline.words) > 1 else outline.words[0] + " "
        lines.append(f"    {_q(key)})\n")
        lines.append(f"        flags={_q(' '.join(_flags(outline)))}\n")
        if place := next((p for p in outline.places if p.choices), None):
            lines.append(f"        place={_q(' '.join(place.choices))}\n")
        lines.append("        case $prev in\n")
        for option in outline.options:
            if option.choices:
                what = f"values={_q(' '.join(option.choices))}"
            elif option.takes:
                what = f"kind={option.completes or 'value'}"
            else:
                continue
            lines.append(f"        {option.flag}) {what} ;;\n")
        lines.append("        esac ;;\n")
    return "".join(lines) + _BASH_TAIL


def _flags(outline: Outline) -> Iterable[str]:
    return dict.fromkeys(option.flag for option in outline.options)


# zsh: _arguments, which knows values, files and what each flag is for.


def _zsh() -> str:
    lines = ["#compdef toolbox", "# zsh completion for toolbox", "", "_toolbox() {"]
    lines += [
        "    local curcontext=$curcontext state line",
        "    local -a names",
        "    if (( CURRENT == 2 )); then",
        "        names=(",
        *(f"            {_q(f'{name}:{_colon(about)}')}" for name, about in COMMANDS.items()),
        "        )",
        "        _describe -t commands command names",
        "        return",
        "    fi",
        "    case $words[2] in",
    ]
    for tool in ROWS:
        lines += [
            f"    {tool})",
            "        if (( CURRENT == 3 )); then",
            "            names=(",
            *(
                f"                {_q(f'{v}:{_colon(_first_sentence(Row(tool, v).summary))}')}"
                for v in verbs(tool)
            ),
            "            )",
            "            _describe -t verbs verb names",
            "            return",
            "        fi",
            "        case $words[3] in",
        ]
        for outline in outlines():
            if outline.words[0] == tool:
                lines += _zsh_arguments(outline, outline.words[1], "        ")
        lines += ["        esac ;;"]
    lines += [
        "    help)",
        "        if (( CURRENT == 3 )); then",
        f"            names=({' '.join(COMMANDS)})",
        "        else",
        "            case $words[3] in",
        *(f"            {tool}) names=({' '.join(verbs(tool))}) ;;" for tool in ROWS),
        "            esac",
        "        fi",
        "        compadd -a names ;;",
    ]
    for outline in outlines():
        if len(outline.words) == 1 and outline.words != ("help",):
            lines += _zsh_arguments(outline, outline.words[0], "    ")
    lines += [
        "    esac",
        "}",
        "",
        'if [ "$funcstack[1]" = _toolbox ]; then _toolbox "$@"; else compdef _toolbox toolbox; fi',
    ]
    return "\n".join(lines) + "\n"


def _zsh_arguments(outline: Outline, name: str, indent: str) -> list[str]:
    shift = len(outline.words)
    specs = []
    for option in outline.options:
        about = option.about.replace("[", "(").replace("]", ")")
        spec = f"*{option.flag}" if "repeated" in option.about else option.flag
        spec += f"=[{about}]" if option.takes else f"[{about}]"
        if option.takes:
            spec += f":{option.takes.lower()}:{_zsh_action(option)}"
        specs.append(spec)
    places = outline.places or ((Place("FILE", "file"),) if outline.words[0] == "call" else ())
    specs += [f":{place.name.lower()}:{_zsh_action(place)}" for place in places]
    return [
        f"{indent}{name})",
        f"{indent}    shift {shift} words",
        f"{indent}    (( CURRENT -= {shift} ))",
        f"{indent}    _arguments \\",
        *(f"{indent}        {_q(spec)} \\" for spec in specs[:-1]),
        *(f"{indent}        {_q(spec)} ;;" for spec in specs[-1:]),
    ]


def _zsh_action(word: Option | Place) -> str:
    if word.choices:
        return f"({' '.join(word.choices)})"
    return {"file": "_files", "folder": "_files -/"}.get(word.completes, "{:}")


def _colon(text: str) -> str:
    return text.replace(":", "\\:")


# fish: one line for each word.


def _fish() -> str:
    lines = ["# fish completion for toolbox", "complete -c toolbox -f"]
    first = "test (count (commandline -opc)) -eq 1"
    for name, about in COMMANDS.items():
        lines.append(f"complete -c toolbox -n {_f(first)} -a {name} -d {_f(about)}")
    for tool in ROWS:
        second = f"test (count (commandline -opc)) -eq 2; and {_at(2, tool)}"
        third = f"test (count (commandline -opc)) -eq 3; and {_at(2, 'help')}; and {_at(3, tool)}"
        for verb in verbs(tool):
            about = _first_sentence(Row(tool, verb).summary)
            lines.append(f"complete -c toolbox -n {_f(second)} -a {verb} -d {_f(about)}")
            lines.append(f"complete -c toolbox -n {_f(third)} -a {verb}")
    helped = f"test (count (commandline -opc)) -eq 2; and {_at(2, 'help')}"
    lines.append(f"complete -c toolbox -n {_f(helped)} -a {_f(' '.join(COMMANDS))}")
    for outline in outlines():
        if outline.words == ("help",):
            continue
        here = "; and ".join(_at(k + 2, word) for k, word in enumerate(outline.words))
        for option in outline.options:
            line = f"complete -c toolbox -n {_f(here)} -l {option.flag.removeprefix('--')}"
            if option.choices:
                line += f" -x -a {_f(' '.join(option.choices))}"
            elif option.completes == "file":
                line += " -r -F"
            elif option.completes == "folder":
                line += " -x -a '(__fish_complete_directories)'"
            elif option.takes:
                line += " -x"
            lines.append(line + f" -d {_f(option.about)}")
        for place in outline.places:
            if place.choices:
                lines.append(f"complete -c toolbox -n {_f(here)} -a {_f(' '.join(place.choices))}")
        if any(place.completes == "file" for place in outline.places):
            lines.append(f"complete -c toolbox -n {_f(here)} -F")
    return "\n".join(lines) + "\n"


def _at(place: int, word: str) -> str:
    return f"test (commandline -opc)[{place}] = {word} 2>/dev/null"


def _f(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
