"""Ways out of a worker, each as a function that succeeds unconfined. Nothing is imported late."""

from __future__ import annotations

import array
import ctypes
import errno
import fcntl
import mmap
import os
import pathlib
import platform
import resource
import signal
import socket
import struct
import termios
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.sandbox.children import AT_FDCWD, LIBC, call

X86 = platform.machine() == "x86_64"
SECRET = b"the secret outside"
AT_EMPTY_PATH = 0x1000


@dataclass
class Scene:
    """A workspace and what lies beside it. Descriptors are open before the confinement."""

    root: pathlib.Path
    outside: pathlib.Path
    root_fd: int
    parent: int
    inherited: int
    handle: bytes
    handle_mount: int
    listener: str
    abstract: bytes
    tcp_port: int
    terminal: int

    @property
    def secret(self) -> str:
        return str(self.outside / "secret")


def take(fd: int) -> None:
    """Read the secret from an open descriptor."""
    assert os.read(fd, 64) == SECRET


def read_at(path: str, *, dir_fd: int | None = None) -> None:
    take(os.open(path, os.O_RDONLY, dir_fd=dir_fd))


def list_at(path: str) -> None:
    os.close(os.open(path, os.O_RDONLY | os.O_DIRECTORY))


def openat2_outside(s: Scene) -> None:
    how = struct.pack("QQQ", os.O_RDONLY, 0, 0)
    take(call(437, AT_FDCWD, s.secret.encode(), how, ctypes.c_size_t(len(how))))


def reopen_path_descriptor(s: Scene) -> None:
    fd = os.open(s.secret, os.O_PATH)
    read_at(f"/proc/self/fd/{fd}")


def chmod_path_descriptor(s: Scene) -> None:
    fd = os.open(s.secret, os.O_PATH)
    os.chmod(f"/proc/self/fd/{fd}", 0o640)


def open_by_handle(s: Scene) -> None:
    take(call(304 if X86 else 265, s.handle_mount, s.handle, os.O_RDONLY))


def name_to_handle(path: str) -> bytes:
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 8 + 128)
    mount = ctypes.c_int()
    call(303 if X86 else 264, AT_FDCWD, path.encode(), handle, ctypes.byref(mount), 0)
    return handle.raw


def make_outside(s: Scene) -> None:
    os.close(os.open(s.outside / "made", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def append_outside(s: Scene) -> None:
    os.close(os.open(s.secret, os.O_WRONLY | os.O_APPEND))


def empty_by_read_only_open(s: Scene) -> None:
    os.close(os.open(s.secret, os.O_RDONLY | os.O_TRUNC))


def link_in_and_read(s: Scene) -> None:
    os.link(s.secret, s.root / "linked")
    take(os.open(s.root / "linked", os.O_RDONLY))


def move_in_and_read(s: Scene) -> None:
    os.rename(s.secret, s.root / "moved")
    take(os.open(s.root / "moved", os.O_RDONLY))


def set_attribute_raw(s: Scene) -> None:
    value = ctypes.create_string_buffer(b"x", 1)
    args = struct.pack("QII", ctypes.addressof(value), 1, 0)
    call(463, AT_FDCWD, s.secret.encode(), 0, b"user.b", args, ctypes.c_size_t(len(args)))


def file_setattr(s: Scene) -> None:
    attr = ctypes.create_string_buffer(24)
    call(468, AT_FDCWD, s.secret.encode(), attr, ctypes.c_size_t(24), 0)
    call(469, AT_FDCWD, s.secret.encode(), attr, ctypes.c_size_t(24), 0)


def get_attribute(s: Scene) -> None:
    assert os.getxattr(s.secret, "user.a") == b"old"


def watch_outside(s: Scene) -> None:
    fd = call(294 if X86 else 26, 0)
    call(254 if X86 else 27, fd, str(s.outside).encode(), ctypes.c_uint32(0x100))


def udp(s: Scene) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.sendto(b"x", ("127.0.0.1", 9))


def tcp(s: Scene) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as out:
        out.connect(("127.0.0.1", s.tcp_port))


def mptcp(s: Scene) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as out:
        out.connect(("127.0.0.1", s.tcp_port))


def fast_open(s: Scene) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as out:
        out.sendto(b"x", socket.MSG_FASTOPEN, ("127.0.0.1", s.tcp_port))


def family(kind: int, shape: int, protocol: int = 0) -> Callable[[Scene], None]:
    def attack(s: Scene) -> None:
        socket.socket(kind, shape, protocol).close()

    return attack


def unix_connect(s: Scene) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as out:
        out.connect(s.listener)


def abstract_connect(s: Scene) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as out:
        out.connect(s.abstract)


def bind_tcp(s: Scene) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as door:
        door.bind(("127.0.0.1", 0))


def io_uring(s: Scene) -> None:
    params = ctypes.create_string_buffer(120)
    os.close(call(425, ctypes.c_uint(4), params))


def legacy_aio(s: Scene) -> None:
    context = ctypes.c_ulong(0)
    call(206 if X86 else 0, ctypes.c_uint(1), ctypes.byref(context))


def trace_parent(s: Scene) -> None:
    call(101 if X86 else 117, 0x4206, s.parent, 0, 0)  # PTRACE_SEIZE; our end lets it go


def read_parent_memory(s: Scene) -> None:
    here = ctypes.create_string_buffer(8)
    local = struct.pack("PN", ctypes.addressof(here), 8)
    remote = struct.pack("PN", ctypes.addressof(_MAPPED_BEFORE), 8)  # there too, being forked
    one = ctypes.c_ulong(1)
    call(310 if X86 else 270, s.parent, local, one, remote, one, ctypes.c_ulong(0))


_MAPPED_BEFORE = ctypes.create_string_buffer(8)


def steal_descriptor(s: Scene) -> None:
    pidfd = os.pidfd_open(s.parent)
    os.close(call(438, pidfd, s.inherited, 0))


def signal_by_pidfd(s: Scene) -> None:
    signal.pidfd_send_signal(os.pidfd_open(s.parent), 0)


def queue_signal(s: Scene) -> None:
    info = struct.pack("iii", signal.SIGCONT, 0, -1).ljust(128, b"\0")
    call(129 if X86 else 138, s.parent, int(signal.SIGCONT), info)


def signal_by_descriptor(s: Scene) -> None:
    source, _ = os.pipe()
    fcntl.fcntl(source, fcntl.F_SETOWN, s.parent)


def become_program(s: Scene) -> None:
    os.execv("/bin/true", ["true"])


def become_program_inside(s: Scene) -> None:
    os.execv(s.root / "program", ["program"])


def fork(s: Scene) -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def clone3(s: Scene) -> None:
    arguments = struct.pack("8Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    pid = call(435, arguments, ctypes.c_size_t(len(arguments)))
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def new_user_namespace(s: Scene) -> None:
    if LIBC.unshare(0x10000000) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def mount(s: Scene) -> None:
    call(272 if X86 else 97, ctypes.c_ulong(0x00020000))  # a mount namespace of its own
    call(165 if X86 else 40, b"none", str(s.root).encode(), b"tmpfs", ctypes.c_ulong(0), None)


def chroot(s: Scene) -> None:
    os.chroot(s.outside)
    take(os.open("/secret", os.O_RDONLY))


def bpf(s: Scene) -> None:
    attr = struct.pack("IIII", 2, 4, 8, 1).ljust(128, b"\0")  # an array map
    os.close(call(321 if X86 else 280, 0, attr, ctypes.c_uint(128)))


def perf(s: Scene) -> None:
    attr = struct.pack("IIQ", 1, 128, 0).ljust(128, b"\0")
    os.close(call(298 if X86 else 241, attr, s.parent, -1, -1, ctypes.c_ulong(0)))


def userfault(s: Scene) -> None:
    os.close(call(323 if X86 else 282, ctypes.c_int(os.O_CLOEXEC)))


def keyring(s: Scene) -> None:
    call(250 if X86 else 219, 0, -3, 1)  # KEYCTL_GET_KEYRING_ID of the session


def memory_file(s: Scene) -> None:
    os.close(os.memfd_create("x"))


def shared_segment(s: Scene) -> None:
    ident = call(29 if X86 else 194, 0, ctypes.c_size_t(4096), 0o1600)
    call(31 if X86 else 195, ident, 0, None)  # IPC_RMID


def message_queue(s: Scene) -> None:
    name = b"toolbox-test-%d" % os.getpid()
    attr = struct.pack("8l", 0, 1, 8, 0, 0, 0, 0, 0)
    os.close(call(240 if X86 else 180, name, os.O_CREAT | os.O_RDWR, 0o600, attr))
    call(241 if X86 else 181, name)


def become_user(s: Scene) -> None:
    os.setuid(12345)


def kernel_log(s: Scene) -> None:
    call(103 if X86 else 116, 10, None, 0)


def type_into_terminal(s: Scene) -> None:
    fcntl.ioctl(s.terminal, termios.TIOCSTI, b"x")


def set_prctl(option: int, value: int) -> Callable[[Scene], None]:
    def attack(s: Scene) -> None:
        if LIBC.prctl(option, value, 0, 0, 0) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))

    return attack


def limit_parent(s: Scene) -> None:
    resource.prlimit(s.parent, resource.RLIMIT_NOFILE, resource.prlimit(s.parent, resource.RLIMIT_NOFILE))


def slow_parent(s: Scene) -> None:
    os.setpriority(os.PRIO_PROCESS, s.parent, os.getpriority(os.PRIO_PROCESS, s.parent))


def pin_parent(s: Scene) -> None:
    os.sched_setaffinity(s.parent, os.sched_getaffinity(s.parent))


_PAIR = socket.socketpair()


def pass_descriptor(s: Scene) -> None:
    ours, theirs = _PAIR
    fds = array.array("i", [s.root_fd])
    ours.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
    theirs.recv(1)


def splice(s: Scene) -> None:
    source, sink = os.pipe()
    os.write(sink, b"x")
    _, other = os.pipe()
    call(276 if X86 else 77, source, other, ctypes.c_size_t(1), 0)


OUTSIDE: dict[str, Callable[[Scene], Any]] = {
    "absolute path": lambda s: read_at(s.secret),
    "dots": lambda s: read_at("../outside/secret", dir_fd=s.root_fd),
    "link inside": lambda s: read_at("out", dir_fd=s.root_fd),
    "folder link inside": lambda s: read_at("outdir/secret", dir_fd=s.root_fd),
    "proc fd": lambda s: read_at(f"/proc/self/fd/{s.root_fd}/../outside/secret"),
    "proc root": lambda s: read_at("/proc/self/root" + s.secret),
    "proc cwd": lambda s: read_at("/proc/self/cwd/outside/secret"),
    "own environment": lambda s: os.close(os.open("/proc/self/environ", os.O_RDONLY)),
    "parent's environment": lambda s: os.close(os.open(f"/proc/{s.parent}/environ", os.O_RDONLY)),
    "parent's memory file": lambda s: os.close(os.open(f"/proc/{s.parent}/mem", os.O_RDONLY)),
    "parent's descriptor": lambda s: os.close(os.open(f"/proc/{s.parent}/fd/{s.inherited}", os.O_RDONLY)),
    "openat2": openat2_outside,
    "O_PATH reopened": reopen_path_descriptor,
    "open_by_handle_at": open_by_handle,
    "name_to_handle_at": lambda s: name_to_handle(s.secret),
    "list a folder": lambda s: list_at(str(s.outside)),
    "list the root": lambda s: list_at("/"),
    "device": lambda s: os.close(os.open("/dev/zero", os.O_RDONLY)),
    "get an attribute": get_attribute,
    "list attributes": lambda s: os.listxattr(s.secret),
    "watch a folder": watch_outside,
    "append": append_outside,
    "create": make_outside,
    "truncate": lambda s: os.truncate(s.secret, 1),
    "O_RDONLY | O_TRUNC": empty_by_read_only_open,
    "unlink": lambda s: os.unlink(s.secret),
    "rename": lambda s: os.rename(s.secret, s.outside / "other"),
    "move out": lambda s: os.rename(s.root / "f", s.outside / "f"),
    "move in": move_in_and_read,
    "link in": link_in_and_read,
    "link out": lambda s: os.link(s.root / "f", s.outside / "linked"),
    "symlink": lambda s: os.symlink("x", s.outside / "link"),
    "mkdir": lambda s: os.mkdir(s.outside / "folder"),
    "rmdir": lambda s: os.rmdir(s.outside / "empty"),
    "mknod": lambda s: os.mknod(s.outside / "fifo", 0o010600),
    "chmod": lambda s: os.chmod(s.secret, 0o640),
    "chmod O_PATH": chmod_path_descriptor,
    "fchmodat": lambda s: os.chmod("../outside/secret", 0o640, dir_fd=s.root_fd),
    "fchmodat2": lambda s: call(452, AT_FDCWD, s.secret.encode(), 0o640, 0),
    "fchmodat2 empty path": lambda s: call(452, os.open(s.secret, os.O_PATH), b"", 0o640, AT_EMPTY_PATH),
    "chown": lambda s: os.chown(s.secret, os.getuid(), os.getgid()),
    "lchown": lambda s: os.lchown(s.secret, os.getuid(), os.getgid()),
    "fchownat": lambda s: os.chown("../outside/secret", -1, os.getgid(), dir_fd=s.root_fd),
    "utime": lambda s: os.utime(s.secret, (1, 1)),
    "utimensat": lambda s: os.utime("../outside/secret", (1, 1), dir_fd=s.root_fd),
    "setxattr": lambda s: os.setxattr(s.secret, "user.a", b"new"),
    "lsetxattr": lambda s: os.setxattr(s.secret, "user.a", b"new", follow_symlinks=False),
    "setxattrat": set_attribute_raw,
    "removexattr": lambda s: os.removexattr(s.secret, "user.a"),
    "file_setattr": file_setattr,
    "chroot": chroot,
}  # fmt: skip
"""Files outside the workspace."""

NETWORK: dict[str, Callable[[Scene], Any]] = {
    "UDP": udp,
    "TCP": tcp,
    "TCP bind": bind_tcp,
    "MPTCP": mptcp,
    "TCP Fast Open": fast_open,
    "IPv6": family(socket.AF_INET6, socket.SOCK_DGRAM),
    "netlink": family(socket.AF_NETLINK, socket.SOCK_RAW),
    "raw": family(socket.AF_INET, socket.SOCK_RAW, 1),
    "packet": family(socket.AF_PACKET, socket.SOCK_RAW),
    "vsock": family(40, socket.SOCK_STREAM),
    "kernel crypto": family(38, socket.SOCK_SEQPACKET),
    "Unix socket": unix_connect,
    "abstract Unix socket": abstract_connect,
    "socket pair": lambda s: [end.close() for end in socket.socketpair()],
    "pass a descriptor": pass_descriptor,
    "io_uring": io_uring,
    "io_setup": legacy_aio,
}
"""Ways to talk to anyone but the daemon."""

PROCESSES: dict[str, Callable[[Scene], Any]] = {
    "ptrace": trace_parent,
    "process_vm_readv": read_parent_memory,
    "pidfd_getfd": steal_descriptor,
    "pidfd_send_signal": signal_by_pidfd,
    "kill": lambda s: os.kill(s.parent, 0),
    "kill a group": lambda s: os.killpg(os.getpgrp(), 0),
    "tgkill": lambda s: call(234 if X86 else 131, s.parent, s.parent, 0),
    "tkill": lambda s: call(200 if X86 else 130, s.parent, 0),
    "rt_sigqueueinfo": queue_signal,
    "F_SETOWN": signal_by_descriptor,
    "execve": become_program,
    "execve inside": become_program_inside,
    "fork": fork,
    "clone3": clone3,
    "prlimit": limit_parent,
    "setpriority": slow_parent,
    "sched_setaffinity": pin_parent,
    "shmget": shared_segment,
    "mq_open": message_queue,
    "unshare": new_user_namespace,
    "mount": mount,
    "bpf": bpf,
    "perf_event_open": perf,
    "userfaultfd": userfault,
    "keyctl": keyring,
    "memfd_create": memory_file,
    "tee": splice,
    "setuid": become_user,
    "syslog": kernel_log,
    "TIOCSTI": type_into_terminal,
    "PR_SET_DUMPABLE": set_prctl(4, 1),
    "PR_SET_PDEATHSIG": set_prctl(1, 0),
}
"""Other processes, programs, and the kernel's own state."""

MISSING = {errno.ENOSYS, errno.EOPNOTSUPP, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.ENODEV}
"""What an unconfined attack says where the kernel was built without the feature."""


def change_times(s: Scene) -> None:
    os.utime(os.open(s.root / "f", os.O_RDONLY), (1, 1))


def writes_inside() -> dict[str, Callable[[Scene], Any]]:
    """Changes within the workspace: the writer's work, refused to readers."""
    return {
        "open to write": lambda s: os.close(os.open(s.root / "f", os.O_WRONLY)),
        "open to read and write": lambda s: os.close(os.open(s.root / "f", os.O_RDWR)),
        "empty it": lambda s: os.close(os.open(s.root / "f", os.O_RDONLY | os.O_TRUNC)),
        "openat2 to write": lambda s: os.close(_openat2_write(s)),
        "create": lambda s: os.close(os.open(s.root / "n", os.O_WRONLY | os.O_CREAT | os.O_EXCL)),
        "fchmod": lambda s: os.fchmod(os.open(s.root / "f", os.O_RDONLY), 0o640),
        "fchown": lambda s: os.fchown(os.open(s.root / "f", os.O_RDONLY), os.getuid(), -1),
        "futimens": change_times,
        "fsetxattr": lambda s: os.setxattr(os.open(s.root / "f", os.O_RDONLY), "user.a", b"1"),
        "mkdir": lambda s: os.mkdir("made", dir_fd=s.root_fd),
        "rmdir": lambda s: os.rmdir("empty", dir_fd=s.root_fd),
        "unlink": lambda s: os.unlink("f", dir_fd=s.root_fd),
        "rename": lambda s: os.rename("f", "g", src_dir_fd=s.root_fd, dst_dir_fd=s.root_fd),
        "rename across": lambda s: os.rename(s.root / "f", s.root / "sub" / "f"),
        "link": lambda s: os.link(s.root / "f", s.root / "g"),
        "link across": lambda s: os.link(s.root / "f", s.root / "sub" / "f", follow_symlinks=False),
    }


def _openat2_write(s: Scene) -> int:
    how = struct.pack("QQQ", os.O_RDWR, 0, 0)
    return call(437, s.root_fd, b"f", how, ctypes.c_size_t(len(how)))


def call_32_bit() -> int:
    """getpid by the 32-bit door of an x86-64 kernel: the same number means another call there."""
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, 20; int 0x80; ret
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return int(ctypes.CFUNCTYPE(ctypes.c_int)(address)())


def start_thread() -> str:
    """A thread's own word, for what must still work."""
    said: list[str] = []
    thread = threading.Thread(target=lambda: said.append("ran"))
    thread.start()
    thread.join()
    return said[0]
