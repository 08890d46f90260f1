"""A workspace's systemd user units: a socket that starts the daemon at the first connection."""

from __future__ import annotations

import os
import re

from sandbox.gate import default_socket_path

IDLE_SECONDS = 900
"""The daemon ends this long after its last client; the socket stays and starts it again."""

_SOCKET = """\
[Unit]
Description=Toolbox of {workspace}

[Socket]
ListenStream={socket}
SocketMode=0600
DirectoryMode=0700

[Install]
WantedBy=sockets.target
"""

_SERVICE = """\
[Unit]
Description=Toolbox of {workspace}

[Service]
Type=exec
ExecStart={command} serve --workspace {quoted} --socket --idle {idle} --quiet
NoNewPrivileges=yes
"""


def units(workspace: str, command: str) -> dict[str, str]:
    """File name → text of the socket unit and the service unit, by systemd.unit(5).

    command: the `toolbox` program's path. The socket's place is the one that clients look at.
    """
    folder = os.path.realpath(workspace)
    path = default_socket_path(folder)
    digest = os.path.basename(path)[:8]
    base = re.sub(r"[^A-Za-z0-9]+", "-", os.path.basename(folder)).strip("-")[:40]
    name = f"toolbox-{base}-{digest}" if base else f"toolbox-{digest}"
    runtime = os.environ.get("XDG_RUNTIME_DIR", "").rstrip("/")
    place = _escaped(path)
    if runtime and path.startswith(runtime + "/"):
        place = "%t" + _escaped(path[len(runtime) :])
    shown = _escaped(re.sub(r"[\x00-\x1f\x7f]", "?", folder))
    return {
        f"{name}.socket": _SOCKET.format(workspace=shown, socket=place),
        f"{name}.service": _SERVICE.format(
            workspace=shown,
            command=_quoted(command),
            quoted=_quoted(folder),
            idle=IDLE_SECONDS,
        ),
    }


def default_folder() -> str:
    """Where systemd looks for this user's own units."""
    config = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(config):
        config = os.path.expanduser("~/.config")
    return os.path.join(config, "systemd", "user")


def write_units(workspace: str, command: str, folder: str) -> list[str]:
    """Write the units into a folder, which is made; their paths. OSError where that fails."""
    os.makedirs(folder, exist_ok=True)
    paths = []
    for name, text in units(workspace, command).items():
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as handle:
            handle.write(text)
        paths.append(path)
    return paths


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def _quoted(word: str) -> str:
    """A word of ExecStart=: specifiers, variables, quotes and control characters as themselves."""
    word = word.replace("\\", "\\\\").replace('"', '\\"')
    word = re.sub(r"[\x01-\x1f\x7f]", lambda m: f"\\x{ord(m[0]):02x}", word)
    return '"' + _escaped(word).replace("$", "$$") + '"'
