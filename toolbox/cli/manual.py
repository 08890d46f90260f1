"""The man page, toolbox(1), from the same words as help and completions."""

from __future__ import annotations

import re
from typing import Final

from toolbox.cli.help import command_line
from toolbox.cli.main import COMMANDS
from toolbox.cli.outline import Outline, outlines
from toolbox.cli.table import ROWS
from toolbox.registry import load

_HEAD: Final = r"""'\" Made by `python -m toolbox.reference`; edit the records, not this page.
.TH TOOLBOX 1 "" "toolbox" "User commands"
.SH NAME
toolbox \- questions about large JSON and YAML, diffs and strict patches, in one workspace
.SH SYNOPSIS
.B toolbox json
.I VERB FILE
.RI [ PATH ]
.RI [ options ]
.br
.B toolbox diff
.I VERB A B
.RI [ options ]
.br
.B toolbox
.I COMMAND
.RI [ options ]
.SH DESCRIPTION
Every file access happens below one folder, the workspace: the current one, or
.B \-\-workspace
.IR DIR ,
or
.BR TOOLBOX_WORKSPACE .
File names are relative to it.
A running daemon of the workspace
.RB ( "toolbox serve \-\-socket" )
answers where there is one; otherwise the command answers alone, with the same bytes.
.PP
Numbers, key order and characters of a document are printed as the source has them.
Output is whole unless
.B \-\-max\-bytes
is given.
Standard output is the reply's text, byte for byte; colour, control characters made visible, and
progress are for terminals only.
Output is UTF\-8 in every locale; bytes of a compared file that are not UTF\-8 stand as \exNN in a
diff, which then says that it cannot be applied.
.PP
.B \-
in place of a file reads standard input, where the verb has an inline form of that argument, and
for either side of
.BR "toolbox diff files" .
A word that begins with one dash is a value (a path such as
.BR \-x ,
a number); after
.B \-\-
every word is.
.SH COMMANDS
"""

_TAIL: Final = r""".SH EXIT STATUS
.TP
.B 0
done
.TP
.B 1
the verb's own no: the document is invalid, the files differ
.TP
.B 2
an error: the call could not be made, or was refused; also for words that make no call
.SH ENVIRONMENT
.TP
.B TOOLBOX_WORKSPACE
the workspace, where
.B \-\-workspace
is not given
.TP
.B TOOLBOX_SOCKET
the socket of the daemon, where it is not in the usual place
.TP
.B NO_COLOR
no colour, on a terminal too
.TP
.B COLUMNS
the width of
.BR \-\-side\-by\-side
.SH SEE ALSO
.BR jq (1),
.BR diff (1),
.BR patch (1),
.BR git\-apply (1)
"""


def page() -> str:
    """The page in man(7) macros."""
    parts = [_HEAD]
    for command, about in COMMANDS.items():
        parts.append(f".TP\n.B {_r(command)}\n{_r(about)}\n")
    made = outlines()
    for tool in ROWS:
        parts.append(f".SH {tool.upper()}\n{_r(COMMANDS[tool][0].upper() + COMMANDS[tool][1:])}.\n")
        for outline in made:
            if outline.words[0] == tool:
                parts.append(_section(outline))
                parts.append(_examples(*outline.words))
    parts.append(".SH OTHER COMMANDS\n")
    parts += [_section(o) for o in made if o.words[0] not in ROWS]
    return "".join(parts) + _TAIL


def _section(outline: Outline) -> str:
    parts = [f".SS {_r(outline.usage)}\n{_r(outline.about)}\n"]
    for option in outline.options:
        takes = f" \\fI{_r(option.takes)}\\fR" if option.takes else ""
        parts.append(f".TP\n\\fB{_r(option.flag)}\\fR{takes}\n{_r(option.about) or '-'}\n")
    if outline.examples:
        parts.append(f".PP\n.nf\n{_r(outline.examples.rstrip())}\n.fi\n")
    return "".join(parts)


def _examples(tool: str, name: str) -> str:
    verb = load(tool, name)
    parts = [".PP\nExamples:\n"]
    for example in verb.examples:
        command = command_line(verb, dict(example.args))
        parts.append(f".TP\n{_r(example.about)}\n.nf\n\\fB{_r(command)}\\fR\n.fi\n")
    return "".join(parts)


def _r(text: str) -> str:
    """Text as roff takes it literally, in ASCII."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"(?m)^([.'])", r"\\&\1", text)
    return "".join(c if ord(c) < 0x80 else f"\\[u{ord(c):04X}]" for c in text)
