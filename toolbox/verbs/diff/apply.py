"""`@diff apply`: a patch applied exactly, to all its files or to none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from sandbox import errors as refusals
from sandbox import transaction
from sandbox.changes import Change
from sandbox.reader import read_open
from sandbox.root import Root
from toolbox import errors, limits
from toolbox.engines.patch.outcome import Options, Plan
from toolbox.engines.patch.parse import parse
from toolbox.engines.patch.plan import plan
from toolbox.engines.patch.records import Patch
from toolbox.engines.patch.verdict import Repairs
from toolbox.verb import Answer, Args, Context, Example, Verb
from toolbox.verbs.diff.patch_files import PatchFiles
from toolbox.verbs.diff.patch_reply import ApplyResult, answer_done, answer_dry, refuse

_STRIP_MOST: Final = 64


class ApplyArgs(Args, frozen=True, kw_only=True):
    patch: Annotated[
        str | None,
        Meta(description="the patch: unified diff text (git diff, diff -u, git format-patch)"),
    ] = None
    patch_file: Annotated[
        str | None, Meta(description="instead: a file of the workspace that holds the patch")
    ] = None
    file: Annotated[
        str | None,
        Meta(description="the file that the hunks are for; without it the patch names its files"),
    ] = None
    dry_run: Annotated[
        bool, Meta(description="true only tells what would happen; false writes")
    ] = True
    strip: Annotated[
        Literal["auto"] | Annotated[int, Meta(ge=0, le=_STRIP_MOST)],
        Meta(description="leading components to take off the patch's file names; auto finds out"),
    ] = "auto"
    relocate: Annotated[
        bool,
        Meta(description="apply a hunk elsewhere where its old lines stand at exactly one place"),
    ] = False
    recount: Annotated[
        bool, Meta(description="take a hunk's lines as they are where its header counts them wrong")
    ] = False
    eol: Annotated[
        Literal["exact", "file"],
        Meta(description="file: LF lines match CRLF ones, and added lines get the file's ends"),
    ] = "exact"
    expect_sha256: Annotated[
        Any,
        Meta(
            description="the SHA-256 that the file must have now, or an object of path to SHA-256; "
            "a file with another is refused"
        ),
    ] = None


def run(args: ApplyArgs, ctx: Context) -> Answer:
    """The verdicts of a dry run, or what was written; a patch that does not fit raises."""
    expect = _expected(args.expect_sha256)
    data = _patch_bytes(args, ctx.root)
    patch = parse(data, clock=ctx.deadline)
    options = Options(
        file=None if args.file is None else PatchFiles(ctx.root).named(args.file),
        strip=None if args.strip == "auto" else args.strip,
        repairs=Repairs(args.relocate, args.recount, args.eol == "file"),
        expect_sha256=expect,
    )
    planned, changes = _plan(patch, options, ctx, dry_run=args.dry_run)
    in_place = all(change.action in ("replace", "mode") for change in changes)
    if changes and not in_place:
        # Where names come and go, the writer knows more of what may stand in their way.
        transaction.check(ctx.root, changes)
    if args.dry_run:
        return answer_dry(planned, args.patch_file)
    if not changes:
        return answer_done(planned, (), None, ("the files hold this already; nothing was written",))
    with transaction.lock(ctx.root, exclusive=True) as held:
        try:
            receipt = transaction.commit(ctx.root, changes, held=held)
        except (refusals.Changed, refusals.Exists, refusals.NotFound):
            # Another process wrote between the reading and the lock: once more, under the lock.
            planned, changes = _plan(patch, options, ctx, dry_run=False)
            receipt = transaction.commit(ctx.root, changes, held=held)
    return answer_done(planned, receipt.files, receipt.id, receipt.notes)


def _plan(
    patch: Patch, options: Options, ctx: Context, *, dry_run: bool
) -> tuple[Plan, list[Change]]:
    """What the patch does to the files as they are now; raises where it does not fit."""
    files = PatchFiles(ctx.root)
    try:
        planned = plan(
            patch, files.state, options,
            guard=files.guard, suggest=files.suggest, clock=ctx.deadline,
        )  # fmt: skip
    finally:
        files.close()
    if planned.refused:
        raise refuse(planned, dry_run=dry_run)
    return planned, [change for f in planned.files if (change := files.change(f)) is not None]


def _expected(given: object) -> Mapping[str, str] | str | None:
    """`expect_sha256` held against its two forms."""
    values = given.values() if isinstance(given, dict) else [] if given is None else [given]
    for value in values:
        if (
            not isinstance(value, str)
            or len(value) != 64
            or not set(value.lower()) <= set("0123456789abcdef")
        ):
            raise errors.InvalidArg(
                "expect_sha256: expected 64 hex digits, or an object of path to 64 hex digits",
                hint="the dry run tells each file's sha256_before",
                at={"fields": ["expect_sha256"]},
            )
    return given  # type: ignore[return-value]


def _patch_bytes(args: ApplyArgs, root: Root) -> bytes:
    if args.patch_file is not None:
        with root.open_file(args.patch_file) as opened:
            return read_open(opened, limit_bytes=limits.PATCH_BYTES, what="patch").data
    data = (args.patch or "").encode()
    if len(data) > limits.PATCH_BYTES:
        raise errors.TooLarge(
            f"the patch has {len(data)} bytes, at most {limits.PATCH_BYTES} are applied in one "
            f"call",
            hint="split it by file, and apply the parts one after the other",
            at={"size_bytes": len(data), "limit_bytes": limits.PATCH_BYTES},
        )
    return data


def _writes(args: Mapping[str, Any]) -> bool:
    return args.get("dry_run", args.get("dryRun", True)) is False


_PATCH: Final = "--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,2 @@\n def main():\n-    go()\n+    go(1)\n"

VERB: Final = Verb(
    tool="diff",
    name="apply",
    summary="Applies a unified patch exactly, to all its files or to none, or says for each hunk "
    "why it does not fit and what would repair it.",
    args=ApplyArgs,
    result=ApplyResult,
    run=run,
    cap_bytes=limits.DIFF_OUTPUT_BYTES,
    errors=(
        "E_INVALID_ARG", "E_OUTSIDE_WORKSPACE", "E_PROTECTED", "E_NOT_FOUND", "E_NOT_A_FILE",
        "E_TOO_LARGE", "E_CHANGED", "E_PATCH_MALFORMED", "E_PATCH_MISMATCH",
        "E_PATCH_UNSUPPORTED", "E_EXISTS", "E_WRITE_FAILED", "E_TIMEOUT", "E_BUSY",
    ),
    examples=(
        Example(
            about="a dry run tells what would happen",
            args={"patch": _PATCH},
            shows="hunk 1 fits",
            files={"app.py": "def main():\n    go()\n"},
        ),
        Example(
            about="hunks alone, for a file named in the call, written",
            args={
                "file": "app.py",
                "patch": "@@ -2 +2 @@\n-    go()\n+    go(1)\n",
                "dry_run": False,
            },
            shows="backup app.py.bak",
            files={"app.py": "def main():\n    go()\n"},
        ),
        Example(
            about="lines that stand elsewhere are offered with the header that fits",
            args={"patch": _PATCH},
            shows='use "@@ -3,2 +3,2 @@"',
            files={"app.py": "# one\n# two\ndef main():\n    go()\n"},
            fails="E_PATCH_MISMATCH",
        ),
        Example(
            about="and are taken there only when asked",
            args={"patch": _PATCH, "relocate": True},
            shows="2 lines lower",
            files={"app.py": "# one\n# two\ndef main():\n    go()\n"},
        ),
        Example(
            about="a wrong count is refused with the header that fits",
            args={"patch": _PATCH.replace("-1,2 +1,2", "-1,3 +1,3")},
            shows='The body fits "@@ -1,2 +1,2 @@"',
            files={"app.py": "def main():\n    go()\n"},
            fails="E_PATCH_MALFORMED",
        ),
    ),
    limits=(
        f"a patch and each of its files may have {limits.PATCH_BYTES} bytes",
        "every context and removed line must stand at its stated place, byte for byte",
    ),
    exactly_one=(("patch", "patch_file"),),
    writes=_writes,
    positional=("patch_file",),
)  # fmt: skip
