"""Numbers of the system calls that a worker's filter judges, by family, on both architectures.

Each entry is (x86-64, arm64); None where the architecture never had the call. Source: the kernel's
own tables (`arch/x86/entry/syscalls/syscall_64.tbl` and `asm-generic/unistd.h`); from 424 on the
numbers are the same everywhere.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Final

Calls = dict[str, tuple[int | None, int | None]]


@dataclass(frozen=True, slots=True)
class Architecture:
    """What a filter needs to know of the machine. audit: the AUDIT_ARCH value the kernel reports;
    column: which number of a table entry counts."""

    name: str
    audit: int
    column: int


_MACHINES: Final = {
    "x86_64": Architecture("x86-64", 0xC000003E, 0),
    "aarch64": Architecture("arm64", 0xC00000B7, 1),
}


def architecture() -> Architecture | None:
    """This process's architecture; None where there are no tables for it (also 32-bit Python)."""
    if sys.maxsize < 2**32 or sys.byteorder != "little":
        return None
    return _MACHINES.get(os.uname().machine)


def number(calls: Calls, name: str, machine: Architecture) -> int | None:
    """The number of one call; None where the machine never had it."""
    return calls[name][machine.column]


LAST_TABLED: Final = 450
"""Calls above it are refused as unknown, so that a kernel newer than these tables opens nothing:
fchmodat2, statmount, setxattrat, file_setattr and open_tree_attr are among them."""

NEWER_ALLOWED: Final = (451, 453, 454, 455, 456, 462)
"""cachestat, map_shadow_stack, futex_wake, futex_wait, futex_requeue, mseal: a newer C library may
use them, and none takes a path or names another process."""

X32_BIT: Final = 0x40000000
"""x86-64 numbers with this bit are the x32 calls: a second spelling of every call."""

BY_PATH: Final[Calls] = {
    "chmod": (90, None), "fchmodat": (268, 53), "chown": (92, None), "lchown": (94, None),
    "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None),
    "futimesat": (261, None), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "getxattr": (191, 8),
    "lgetxattr": (192, 9), "listxattr": (194, 11), "llistxattr": (195, 12),
    "truncate": (76, 45), "mknod": (133, None), "mknodat": (259, 33),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "inotify_init": (253, None), "inotify_init1": (294, 26), "inotify_add_watch": (254, 27),
    "fanotify_init": (300, 262), "fanotify_mark": (301, 263), "chroot": (161, 51),
    "acct": (163, 89), "quotactl": (179, 60), "quotactl_fd": (443, 443), "uselib": (134, None),
    "ustat": (136, None), "sysfs": (139, None), "lookup_dcookie": (212, 18),
}
"""Reach a file by its path, or watch it, where Landlock has no say. Denied to both roles: the
writer changes modes, owners, times and attributes through descriptors it has opened."""

NETWORK: Final[Calls] = {
    "socket": (41, 198), "socketpair": (53, 199), "connect": (42, 203), "bind": (49, 200),
    "listen": (50, 201), "accept": (43, 202), "accept4": (288, 242), "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
}
"""Sockets of every kind. A worker has one, made before; `send` and `recv` on it stay."""

RINGS: Final[Calls] = {
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "io_setup": (206, 0),
}
"""Work handed to the kernel in memory: a filter on calls does not see it."""

PROGRAMS: Final[Calls] = {
    "execve": (59, 221), "execveat": (322, 281), "fork": (57, None), "vfork": (58, None),
}
"""Other programs and processes."""

PROCESSES: Final[Calls] = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "kcmp": (312, 272),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424),
    "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "setrlimit": (160, 164), "setpriority": (141, 140), "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119), "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122), "ioprio_set": (251, 30), "migrate_pages": (256, 238),
    "move_pages": (279, 239), "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195),
    "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187),
    "semget": (64, 190), "semop": (65, 193), "semctl": (66, 191), "semtimedop": (220, 192),
    "mq_open": (240, 180), "mq_unlink": (241, 181),
}
"""Other processes of the same user: their memory, descriptors, signals, limits, shared segments."""

MOUNTS: Final[Calls] = {
    "mount": (165, 40), "umount2": (166, 39), "move_mount": (429, 429),
    "open_tree": (428, 428), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "pivot_root": (155, 41), "unshare": (272, 97), "setns": (308, 268),
}
"""Mounts and namespaces: a new user namespace would give every capability back."""

KERNEL: Final[Calls] = {
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "splice": (275, 76),
    "tee": (276, 77), "vmsplice": (278, 75), "seccomp": (317, 277), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224),
    "swapoff": (168, 225), "sethostname": (170, 161), "setdomainname": (171, 162),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "syslog": (103, 116), "nfsservctl": (180, 42),
    "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None),
    "personality": (135, 92), "vhangup": (153, 58), "_sysctl": (156, None),
}
"""The machine's own state, and parts of the kernel that no worker needs and attackers like."""

IDENTITY: Final[Calls] = {
    "setuid": (105, 146), "setgid": (106, 144), "setreuid": (113, 145), "setregid": (114, 143),
    "setresuid": (117, 147), "setresgid": (119, 149), "setfsuid": (122, 151),
    "setfsgid": (123, 152), "setgroups": (116, 159), "capset": (126, 91),
}
"""Another user, group or set of capabilities."""

WRITES: Final[Calls] = {
    "fchmod": (91, 52), "fchown": (93, 55), "fsetxattr": (190, 7), "fremovexattr": (199, 16),
    "utimensat": (280, 88), "mkdir": (83, None), "mkdirat": (258, 34), "rmdir": (84, None),
    "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276), "link": (86, None),
    "linkat": (265, 37), "symlink": (88, None), "symlinkat": (266, 36), "unlink": (87, None),
    "unlinkat": (263, 35), "creat": (85, None), "ftruncate": (77, 46), "fallocate": (285, 47),
    "copy_file_range": (326, 285),
}
"""Change a file: denied to read workers, whatever Landlock says."""

EVERYWHERE: Final = (BY_PATH, NETWORK, RINGS, PROGRAMS, PROCESSES, MOUNTS, KERNEL, IDENTITY)
"""Denied to both roles."""

JUDGED: Final[Calls] = {
    "open": (2, None), "openat": (257, 56), "openat2": (437, 437), "utimensat": (280, 88),
    "sendto": (44, 206), "clone": (56, 220), "clone3": (435, 435), "kill": (62, 129),
    "tgkill": (234, 131), "prlimit64": (302, 261), "ioctl": (16, 29), "fcntl": (72, 25),
    "prctl": (157, 167),
}
"""Judged by their arguments: see `sandbox.seccomp`."""

LANDLOCK_CREATE_RULESET: Final = 444
LANDLOCK_ADD_RULE: Final = 445
LANDLOCK_RESTRICT_SELF: Final = 446
