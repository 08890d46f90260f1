"""Names of backups: the newest is `<file>.bak`, an older one moves to a free `.bak.N`.

No backup is ever overwritten, and what is no regular file is left alone.
"""

from __future__ import annotations

import stat

from sandbox.errors import WriteFailed
from sandbox.folders import Folders, Spot
from sandbox.limits import BACKUP_NAMES, COMPONENT_BYTES

_ROOM_BYTES = len(".bak.99999")


def choose_backup(folders: Folders, spot: Spot, taken: set[bytes]) -> tuple[bytes, bytes | None]:
    """The name for the backup of a file, and the name its predecessor moves to, if there is one.

    taken: paths that are spoken for; the names chosen are added.
    """
    stem = _stem(spot.name)
    plain = Spot(spot.folder, stem + b".bak")
    found = folders.look(plain)
    if plain.path not in taken and found is None:
        taken.add(plain.path)
        return plain.name, None
    free = _free(folders, spot, stem, taken)
    if plain.path in taken or found is None or not stat.S_ISREG(found.st_mode):
        return free, None
    taken.add(plain.path)
    return plain.name, free


def _free(folders: Folders, spot: Spot, stem: bytes, taken: set[bytes]) -> bytes:
    for number in range(1, BACKUP_NAMES + 1):
        one = Spot(spot.folder, stem + b".bak.%d" % number)
        if one.path not in taken and folders.look(one) is None:
            taken.add(one.path)
            return one.name
    raise WriteFailed(
        f"{spot.shown} has {BACKUP_NAMES} backups; nothing was changed",
        hint="a person should move some of them away",
        at={"path": spot.shown},
    )


def _stem(name: bytes) -> bytes:
    """The name, shortened where the suffix would make it too long; never inside a character."""
    room = COMPONENT_BYTES - _ROOM_BYTES
    if len(name) <= room:
        return name
    text = name[:room].decode("utf-8", "ignore")
    return text.encode() or name[:room]
