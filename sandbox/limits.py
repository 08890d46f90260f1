"""Every limit of the sandbox, with its reason and what happens past it."""

from __future__ import annotations

from typing import Final

PATH_BYTES: Final = 4095
"""A path as given: the kernel's PATH_MAX of 4 096 less the closing NUL; past it InvalidPath."""

COMPONENT_BYTES: Final = 255
"""One component of a path, NAME_MAX of every common file system; past it InvalidPath."""

LINKS: Final = 40
"""Symbolic links followed in one path, the kernel's MAXSYMLINKS; past it ELOOP."""

TRIES: Final = 128
"""Tries of one open that the kernel answers with EAGAIN because a rename ran beside it.

Under a rename race 3 to 7 % of opens fail once; 128 in a row never happened. Past it Changed."""

HELD_FOLDERS: Final = 32
"""Parent descriptors that the component-wise walk keeps for `..`; deeper ones are walked again."""

SUGGESTION_ENTRIES: Final = 5_000
"""Names of a folder looked at for a suggestion: a miss must not cost a million-entry listing."""

SUGGESTIONS: Final = 3
"""Names that a miss suggests."""

IDENTITY_CHECK_SECONDS: Final = 1.0
"""How often at most the root's path is compared with the held descriptor: a warning only."""

READ_CHUNK_BYTES: Final = 1 << 20
"""What one read asks for once a file turned out longer than its size said."""

TREE_ENTRIES: Final = 1_000_000
"""Entries that one walk of a tree looks at: some seconds of work; past it the walk says so."""

TREE_OPEN_FOLDERS: Final = 64
"""Folder descriptors that one walk holds, whatever the depth; RLIMIT_NOFILE is often 1 024."""

TRANSACTION_FILES: Final = 10_000
"""Files of one transaction: each costs an undo copy and some syncs; past it TooLarge."""

JOURNAL_BYTES: Final = 64 * 1024 * 1024
"""A journal that recovery reads: 10 000 files of the longest paths fit; past it it is foreign."""

STAGED_BYTES: Final = 1 << 30
"""New content of one transaction, all files together; past it TooLarge."""

HISTORY_ENTRIES: Final = 100
"""Transactions kept for undo; the oldest goes when a new one comes."""

BACKUP_NAMES: Final = 10_000
"""Numbered backup names tried beside one file before the write is refused."""

LOCK_SECONDS: Final = 8.0
"""How long a write waits for the workspace's lock: below a call's ten seconds; past it Busy."""

SKIPPED_FOLDERS: Final = frozenset({".git", "node_modules", "vendor", ".toolbox"})
"""Folders that walks leave out by default; a call that names a file in one still reads it."""

WORKER_MEMORY_BYTES: Final = 3 << 30
"""Address space of one worker: a 20 MiB document as objects takes a few hundred MiB; past it an
allocation fails in the call that asked for it."""

WORKER_HEADROOM_BYTES: Final = 256 << 20
"""What a worker may map beyond what it was forked with, however low its limit is set."""

WORKER_DESCRIPTORS: Final = 1_024
"""Open files of one worker: walks hold 64, a repository's packs some hundred; past it EMFILE."""
