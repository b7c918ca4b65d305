# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Facts of this machine that matter to Millrace, read without changing anything."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import resource
import shutil
import socket
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from millrace.run import elf, launcher

NETWORKED = {
    "nfs",
    "nfs4",
    "lustre",
    "gpfs",
    "beegfs",
    "ceph",
    "cifs",
    "smb3",
    "glusterfs",
    "fuse.glusterfs",
    "fuse.sshfs",
    "fuse.mfs",
    "moosefs",
    "pvfs2",
    "orangefs",
    "afs",
    "panfs",
    "9p",
    "virtiofs",
    "wekafs",
}
IN_MEMORY = {"tmpfs", "ramfs", "hugetlbfs"}
_IFF_UP = 1
_IO_URING_SETUP = 425  # the same number on x86-64 and aarch64
_IO_URING_PARAMS_BYTES = 120


def read_text(path: str, default: str = "") -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return default


def io_uring() -> dict[str, Any]:
    """Facts: whether this process may set up an io_uring, and the reason if it may not."""
    disabled = read_text("/proc/sys/kernel/io_uring_disabled")
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(_IO_URING_SETUP, 4, ctypes.create_string_buffer(_IO_URING_PARAMS_BYTES))
    if fd >= 0:
        os.close(fd)
        return {"usable": True, "reason": "", "io_uring_disabled": disabled or None}
    number = ctypes.get_errno()
    reason = {
        errno.ENOSYS: "the kernel has none, or a container's filter hides it",
        errno.EPERM: "not permitted (kernel.io_uring_disabled, or a container's filter)",
        errno.ENOMEM: "the memlock limit is too small",
    }.get(number, os.strerror(number))
    return {"usable": False, "reason": reason, "io_uring_disabled": disabled or None}


def memory() -> dict[str, Any]:
    """Sizes of memory in bytes; None: no limit."""
    info = {}
    for line in read_text("/proc/meminfo").splitlines():
        name, _, rest = line.partition(":")
        number = rest.split()
        if number:
            info[name] = int(number[0]) * (1024 if rest.endswith("kB") else 1)
    group = read_text("/sys/fs/cgroup/memory.max", "max")
    return {
        "total": info.get("MemTotal"),
        "available": info.get("MemAvailable"),
        "cgroup_limit": int(group) if group.isdigit() else None,
        "memlock": _limit(resource.RLIMIT_MEMLOCK),
        "open_files": _limit(resource.RLIMIT_NOFILE),
        "huge_pages_total": info.get("HugePages_Total", 0),
        "huge_page_bytes": info.get("Hugepagesize"),
        "transparent_huge_pages": _chosen(read_text("/sys/kernel/mm/transparent_hugepage/enabled")),
        "shared_huge_pages": _chosen(read_text("/sys/kernel/mm/transparent_hugepage/shmem_enabled")),
    }


def last_cache_bytes(root: Path = Path("/sys/devices/system/cpu")) -> int:
    """The size of all last-level caches of the usable processors; 0 if the kernel does not tell."""
    found: dict[str, tuple[int, int]] = {}  # processors that share it -> level, bytes
    for processor in os.sched_getaffinity(0):
        caches = []
        for folder in (root / f"cpu{processor}" / "cache").glob("index*"):
            level, size = read_text(str(folder / "level")), read_text(str(folder / "size"))
            if level.isdigit() and size.endswith("K") and read_text(str(folder / "type")) != "Instruction":
                shared = read_text(str(folder / "shared_cpu_list"))
                caches.append((int(level), int(size[:-1]) * 1024, shared))
        if caches:
            level, size_bytes, shared = max(caches)
            found[shared] = (level, size_bytes)
    return sum(size_bytes for _, size_bytes in found.values())


def _limit(which: int) -> int | None:
    soft = resource.getrlimit(which)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def _chosen(text: str) -> str | None:
    match = re.search(r"\[(\w+)\]", text)
    return match[1] if match else None


def shared_memory() -> dict[str, Any]:
    """The needs of agents and ranks: anonymous shared memory, a page in /dev/shm, abstract UNIX sockets."""
    facts: dict[str, Any] = {"memfd": True, "memfd_reason": "", "abstract_socket": True}
    try:
        fd = os.memfd_create("millrace-doctor", os.MFD_CLOEXEC)
        try:
            os.ftruncate(fd, 1 << 20)
        finally:
            os.close(fd)
    except OSError as error:
        facts.update(memfd=False, memfd_reason=error.strerror)
    try:
        fd = os.open("/dev/shm", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(fd, 0, 1 << 20)
        finally:
            os.close(fd)
    except OSError as error:
        facts.update(page_reason=error.strerror)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
            probe.bind(f"\0millrace-doctor-{os.getpid()}")
    except OSError as error:
        facts.update(abstract_socket=False, socket_reason=error.strerror)
    return facts


def _addresses() -> list[tuple[str, str]]:
    """Name and address of each active interface, in the order in which the library looks at them.

    IPv4 before IPv6. Link-local addresses are valid on one host only, so they are left out.
    """

    class SocketAddress(ctypes.Structure):
        _fields_ = [("family", ctypes.c_ushort), ("data", ctypes.c_ubyte * 26)]

    class Entry(ctypes.Structure):
        pass

    Entry._fields_ = [
        ("next", ctypes.POINTER(Entry)),
        ("name", ctypes.c_char_p),
        ("flags", ctypes.c_uint),
        ("address", ctypes.POINTER(SocketAddress)),
    ]
    libc = ctypes.CDLL(None, use_errno=True)
    first = ctypes.POINTER(Entry)()
    if libc.getifaddrs(ctypes.byref(first)) != 0:
        return []
    found = []
    entry = first
    while entry:
        one = entry.contents
        if one.address and one.flags & _IFF_UP:
            data = bytes(one.address.contents.data)  # port, then the address; of IPv6 after 4 bytes of flow
            if one.address.contents.family == socket.AF_INET:
                found.append((one.name.decode(), socket.inet_ntop(socket.AF_INET, data[2:6])))
            elif one.address.contents.family == socket.AF_INET6 and data[6:8] != b"\xfe\x80":
                found.append((one.name.decode(), socket.inet_ntop(socket.AF_INET6, data[6:22])))
        entry = one.next
    libc.freeifaddrs(first)
    return sorted(found, key=lambda pair: ":" in pair[1])


def network(interfaces: list[str]) -> dict[str, Any]:
    """The address that the agents of other nodes would be told, by the library's rule: of the first interface in the
    list that has one, else of the first that is up and is not the loopback."""
    addresses = _addresses()
    loopback = {name for name, address in addresses if address in ("127.0.0.1", "::1")}
    usable = [(name, address) for name, address in addresses if name not in loopback]
    wanted = [pair for interface in interfaces for pair in addresses if pair[0] == interface]
    name, address = next(iter(wanted if interfaces else usable), (None, None))
    return {
        "interface": name,
        "address": address,
        "asked_for": interfaces,
        "others": list(dict.fromkeys(other for other, _ in usable if other != name)),
    }


def mount_of(path: Path) -> dict[str, Any]:
    """The mount that holds `path`, from /proc/self/mountinfo."""
    target = str(path.resolve())
    best: dict[str, Any] = {}
    for line in read_text("/proc/self/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        words, tail = left.split(), right.split()
        point = re.sub(r"\\(\d{3})", lambda m: chr(int(m[1], 8)), words[4])
        inside = target == point or target.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best.get("mount_point", "")):
            best = {
                "mount_point": point,
                "type": tail[0],
                "source": tail[1],
                "device": words[2],
                "options": words[5] + ("," + tail[2] if len(tail) > 2 else ""),
            }
    return best


def _rotational(device: str) -> bool | None:
    base = Path("/sys/dev/block") / device
    for place in (base / "queue" / "rotational", base.resolve().parent / "queue" / "rotational"):
        text = read_text(str(place))
        if text in ("0", "1"):
            return text == "1"
    return None


def _locking(folder: Path) -> str:
    """The state of byte-range locks in the folder: ok, or the reason of their failure."""
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".millrace-doctor-") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)
            fcntl.lockf(file, fcntl.LOCK_UN, 1)
    except OSError as error:
        return error.strerror or str(error)
    return "ok"


def file_system(path: Path) -> dict[str, Any]:
    """The file system below `path` (a folder, or a file that exists or is to be written)."""
    folder = path if path.is_dir() else path.parent
    facts: dict[str, Any] = {"path": str(path), "exists": folder.is_dir()}
    if not folder.is_dir():
        return facts
    facts.update(mount_of(folder))
    usage = shutil.disk_usage(folder)
    kind = str(facts.get("type", ""))
    facts.update(
        writable=os.access(folder, os.W_OK) and "ro" not in str(facts.get("options", "")).split(","),
        free_bytes=usage.free,
        total_bytes=usage.total,
        networked=kind in NETWORKED,
        in_memory=kind in IN_MEMORY,
        rotational=_rotational(str(facts.get("device", ""))),
    )
    facts["locking"] = _locking(folder) if facts["writable"] else "not tried: not writable"
    return facts


def mpi_libraries(environment: Mapping[str, str]) -> dict[str, Any]:
    """Launchers and compiler wrappers on PATH, MPI libraries that the loader knows."""
    wanted = re.compile(r"^(mpicc|mpiexec|mpirun|orterun|prterun|srun)([.-][\w.]+)?$")
    launchers, compilers = [], []
    # /bin is often the same folder as /usr/bin.
    folders = {os.path.realpath(f): f for f in reversed(environment.get("PATH", "").split(":")) if os.path.isdir(f)}
    for folder in reversed(folders.values()):
        for name in sorted(os.listdir(folder)):
            if not wanted.match(name) or not os.access(os.path.join(folder, name), os.X_OK):
                continue
            path = os.path.join(folder, name)
            if name.startswith("mpicc"):
                compilers.append(path)
            else:
                found = launcher.inspect(path, environment)
                launchers.append({"path": path, "kind": found.kind, "version": found.version})
    libraries = [
        {"name": name, "path": paths[0], "family": elf.family_of(name)}
        for name, paths in sorted(elf.loader_cache().items())
        if elf.is_mpi(name) and ".so." in name
    ]
    return {"launchers": launchers, "compilers": compilers, "libraries": libraries}
