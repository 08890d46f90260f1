"""`python -m bench [WORK …] [--out FILE]`: the table, printed and written as JSON.

Every comparison runs us and its peers interleaved in one run: our doors from outside, command-line
peers as whole processes. Ratios are a peer's time over ours; only they carry to another machine.
A peer that is not installed is named, not left out.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

from bench.measure import Row
from bench.works import WORKS


def show(row: Row) -> str:
    """A row of the table, Markdown."""
    ratios = ", ".join(f"{name} {ratio:.3g} ×" for name, ratio in row.ratios().items())
    missing = f" (not here: {', '.join(row.missing)})" if row.missing else ""
    low, high = row.spread_ms
    return (
        f"| {row.work} | {row.ours_ms:.3g} ({low:.3g}–{high:.3g}) | {ratios}{missing} | {row.goal} "
        f"| {row.note} |"
    )


def machine() -> str:
    """What this ran on."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as handle:
            model = next(x.split(":", 1)[1].strip() for x in handle if x.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{os.cpu_count()} cores of {model}, {platform.system()} {platform.release()}, Python {platform.python_version()}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("works", nargs="*", choices=[*WORKS, []], help="which works (default: all)")
    parser.add_argument("--folder", help="where inputs are made and kept (default: a fresh one)")
    parser.add_argument("--out", default="bench/out/table.json", help="the rows as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="toolbox-bench") as fresh:
        folder = pathlib.Path(options.folder or fresh)
        folder.mkdir(parents=True, exist_ok=True)
        print(f"{machine()}\n")
        print(
            "| work | ours, ms: median (spread) | peer's time over ours | goal | |\n|---|---|---|---|---|"
        )
        rows = []
        for name in options.works or WORKS:
            try:
                for row in WORKS[name](folder):
                    rows.append(row)
                    print(show(row), flush=True)
            except (RuntimeError, OSError, AssertionError, subprocess.SubprocessError) as exc:
                print(f"| {name} | failed: {exc} | | | |", flush=True)
                rows.append(Row(name, "", 0.0, (0, 0), note=f"failed: {exc}"))
    out = pathlib.Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(
        json.dumps(
            {
                "machine": machine(),
                "rows": [
                    {**dataclasses.asdict(r), "ratios": r.ratios() if r.ours_ms else {}}
                    for r in rows
                ],
            },
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )
    return 1 if any(r.note.startswith("failed") for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
