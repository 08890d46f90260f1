"""The filter run on paper: what it answers to each call, on both architectures."""

from __future__ import annotations

import struct

import pytest

from sandbox import seccomp, syscalls
from sandbox.landlock import Mode
from sandbox.seccomp import ALLOW, KILL_PROCESS, REFUSE, UNKNOWN
from sandbox.syscalls import Architecture, Calls

X86 = Architecture("x86-64", 0xC000003E, 0)
ARM = Architecture("arm64", 0xC00000B7, 1)
BOTH = pytest.mark.parametrize("machine", [X86, ARM], ids=lambda m: m.name)
MODES = pytest.mark.parametrize("mode", ["read", "write"])
PID = 4242
MOST_INSTRUCTIONS = 4096  # the kernel's BPF_MAXINSNS


def judge(
    machine: Architecture,
    mode: Mode,
    number: int,
    *arguments: int,
    audit: int | None = None,
    landlocked: bool = True,
) -> int:
    """What the filter answers: the kernel's own steps, over a struct seccomp_data."""
    filled = [*arguments, *[0] * 6][:6]
    data = struct.pack("<IIQ6Q", number, audit or machine.audit, 0, *(a % 2**64 for a in filled))
    code = seccomp.program(machine, mode, pid=PID, landlocked=landlocked)
    instructions = list(struct.iter_unpack("<HBBI", code))
    at = accumulator = 0
    while True:
        operation, yes, no, value = instructions[at]
        at += 1
        match operation:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", data, value)
            case 0x15:
                at += yes if accumulator == value else no
            case 0x25:
                at += yes if accumulator > value else no
            case 0x45:
                at += yes if accumulator & value else no
            case 0x06:
                return value
            case _:
                raise AssertionError(f"an instruction that the filter should not have: {operation:#x}")


def number(calls: Calls, name: str, machine: Architecture) -> int:
    found = syscalls.number(calls, name, machine)
    if found is None:
        pytest.skip(f"{machine.name} has no {name}")
    return found


@BOTH
@MODES
@pytest.mark.parametrize("landlocked", [True, False])
def test_the_program_is_one_the_kernel_takes(
    machine: Architecture, mode: Mode, landlocked: bool
) -> None:
    code = seccomp.program(machine, mode, pid=PID, landlocked=landlocked)
    instructions = list(struct.iter_unpack("<HBBI", code))
    assert len(instructions) <= MOST_INSTRUCTIONS
    assert instructions[-1][0] == 0x06
    for at, (operation, yes, no, _) in enumerate(instructions):
        if operation in (0x15, 0x25, 0x45):
            assert at + 1 + max(yes, no) < len(instructions)


@BOTH
@MODES
def test_every_denied_call_is_refused(machine: Architecture, mode: Mode) -> None:
    families = [*syscalls.EVERYWHERE, *([syscalls.WRITES] if mode == "read" else [])]
    for calls in families:
        for name in calls:
            found = syscalls.number(calls, name, machine)
            if found is not None:
                assert judge(machine, mode, found) == REFUSE, name


@BOTH
def test_no_number_stands_for_two_calls(machine: Architecture) -> None:
    names: dict[int, str] = {}
    for calls in (*syscalls.EVERYWHERE, syscalls.WRITES, syscalls.JUDGED):
        for name in calls:
            found = syscalls.number(calls, name, machine)
            if found is not None:
                assert names.setdefault(found, name) == name


@BOTH
def test_the_writer_keeps_what_works_on_descriptors(machine: Architecture) -> None:
    for name in syscalls.WRITES:
        found = syscalls.number(syscalls.WRITES, name, machine)
        if found is not None:
            assert judge(machine, "write", found) == ALLOW, name


@MODES
def test_calls_that_every_program_makes_go_through(mode: Mode) -> None:
    for machine, numbers in (
        (X86, [0, 1, 3, 5, 8, 9, 10, 11, 12, 16 + 1, 45, 60, 74, 202, 217, 228, 231, 262, 318, 332, 334]),
        (ARM, [63, 64, 57, 80, 62, 222, 226, 215, 214, 98, 207, 93, 82, 61, 113, 94, 79, 278, 291, 293]),
    ):
        for found in numbers:
            assert judge(machine, mode, found) == ALLOW, (machine.name, found)


@BOTH
@MODES
@pytest.mark.parametrize("audit", [0x40000003, 0x40000028, 0xC00000F3])
def test_another_architecture_s_calls_end_the_process(
    machine: Architecture, mode: Mode, audit: int
) -> None:
    assert judge(machine, mode, 39, audit=audit) == KILL_PROCESS


@BOTH
@MODES
def test_calls_newer_than_the_tables_do_not_exist(machine: Architecture, mode: Mode) -> None:
    for found in (452, 457, 458, 463, 464, 466, 467, 468, 469, 470, 1000, 2**31, 2**32 - 1):
        assert judge(machine, mode, found) == UNKNOWN, found
    for found in syscalls.NEWER_ALLOWED:
        assert judge(machine, mode, found) == ALLOW


@MODES
def test_the_second_spelling_of_x86_64_calls_does_not_exist(mode: Mode) -> None:
    for found in (0, 1, 39, 41, 59, 90, 512, 520):
        assert judge(X86, mode, found | syscalls.X32_BIT) == UNKNOWN


J = syscalls.JUDGED


@BOTH
@MODES
def test_threads_may_start_and_processes_not(machine: Architecture, mode: Mode) -> None:
    clone = number(J, "clone", machine)
    assert judge(machine, mode, clone, 0x3D0F00) == ALLOW  # what pthread_create asks
    assert judge(machine, mode, clone, 17) == REFUSE  # fork: SIGCHLD
    assert judge(machine, mode, clone, 0x10000011) == REFUSE  # a user namespace
    assert judge(machine, mode, clone, 0x10000 << 32) == REFUSE  # the kernel looks at the low half
    assert judge(machine, mode, number(J, "clone3", machine)) == UNKNOWN


@BOTH
@MODES
@pytest.mark.parametrize("name", ["kill", "tgkill"])
def test_only_itself_may_be_signalled(machine: Architecture, mode: Mode, name: str) -> None:
    found = number(J, name, machine)
    assert judge(machine, mode, found, PID, 6) == ALLOW
    for other in (0, 1, -1, PID + 1, -PID, 2**32 + 1):
        assert judge(machine, mode, found, other, 9) == REFUSE


@BOTH
@MODES
def test_sending_needs_no_address(machine: Architecture, mode: Mode) -> None:
    found = number(J, "sendto", machine)
    assert judge(machine, mode, found, 5, 1000, 10, 0, 0, 0) == ALLOW
    for address in (1, 0x7FFF00000000, 1 << 32):
        assert judge(machine, mode, found, 5, 1000, 10, 0, address, 16) == REFUSE


@BOTH
@MODES
def test_limits_are_read_and_not_set(machine: Architecture, mode: Mode) -> None:
    found = number(J, "prlimit64", machine)
    assert judge(machine, mode, found, 0, 7, 0, 1000) == ALLOW
    assert judge(machine, mode, found, 0, 7, 1000, 0) == REFUSE
    assert judge(machine, mode, found, 1, 7, 1 << 40, 0) == REFUSE


@BOTH
@MODES
def test_device_commands_are_few(machine: Architecture, mode: Mode) -> None:
    found = number(J, "ioctl", machine)
    for allowed in seccomp.IOCTLS:
        assert judge(machine, mode, found, 2, allowed) == ALLOW
        assert judge(machine, mode, found, 2, allowed | 1 << 32) == ALLOW  # cut off by the kernel
    for refused in (0x5412, 0x5412 | 1 << 32, 0x541C, 0x40086602, 0x8901, 0):
        assert judge(machine, mode, found, 2, refused) == REFUSE


@BOTH
@MODES
def test_locks_and_flags_of_descriptors_stay(machine: Architecture, mode: Mode) -> None:
    found = number(J, "fcntl", machine)
    for allowed in (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030):
        assert judge(machine, mode, found, 3, allowed) == ALLOW
    for refused in (8, 10, 15, 1024, 1026, 8 | 1 << 32):
        assert judge(machine, mode, found, 3, refused) == REFUSE


@BOTH
@MODES
def test_the_process_s_own_switches_stay_as_they_are(machine: Architecture, mode: Mode) -> None:
    found = number(J, "prctl", machine)
    assert judge(machine, mode, found, 15) == ALLOW
    for refused in (1, 4, 8, 22, 24, 28, 35, 47, 0x59616D61):
        assert judge(machine, mode, found, refused) == REFUSE


@BOTH
def test_times_are_set_through_a_descriptor_only(machine: Architecture) -> None:
    found = number(syscalls.WRITES, "utimensat", machine)
    assert judge(machine, "write", found, 7, 0, 1000) == ALLOW
    assert judge(machine, "write", found, 7, 1000, 1000) == REFUSE
    assert judge(machine, "write", found, -100, 1 << 33, 1000) == REFUSE
    assert judge(machine, "read", found, 7, 0, 1000) == REFUSE


@BOTH
@pytest.mark.parametrize(("name", "at"), [("open", 1), ("openat", 2)])
def test_readers_open_nothing_for_writing(machine: Architecture, name: str, at: int) -> None:
    found = number(J, name, machine)
    for flags, answer in (
        (0o0, ALLOW), (0o2000000 | 0o4000, ALLOW), (0o10200000, ALLOW),
        (0o1, REFUSE), (0o2, REFUSE), (0o3, REFUSE), (0o100, REFUSE), (0o1000, REFUSE),
    ):  # fmt: skip
        arguments = [0, 0, 0]
        arguments[at] = flags
        assert judge(machine, "read", found, *arguments) == answer, oct(flags)
        assert judge(machine, "write", found, *arguments) == ALLOW


@BOTH
def test_openat2_is_gone_only_where_landlock_does_not_hold(machine: Architecture) -> None:
    found = number(J, "openat2", machine)
    assert judge(machine, "read", found) == ALLOW
    assert judge(machine, "write", found) == ALLOW
    assert judge(machine, "read", found, landlocked=False) == UNKNOWN
    assert judge(machine, "write", found, landlocked=False) == ALLOW
