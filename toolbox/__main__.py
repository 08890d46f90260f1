"""`python -m toolbox` and the command `toolbox`."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run the command line; the exit status.

    File names, JSON and output are UTF-8. Where the locale makes Python take names for something
    else, it is started once more in its UTF-8 mode.
    """
    if sys.getfilesystemencoding() != "utf-8" and os.environ.get("PYTHONUTF8") != "1":
        environment = {**os.environ, "PYTHONUTF8": "1"}
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)

    from toolbox.cli.main import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
