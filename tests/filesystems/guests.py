# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Guests of user-mode Linux on a bridge of this machine: an NFS server (s: knfsd, ext4) and two clients (a, b)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = Path(os.environ.get("TEST_BUILD", ROOT / "build"))
CACHE = Path(os.environ.get("TEST_GUESTS", "/var/cache/millrace-guests"))  # the image, which takes minutes to make
ADDRESSES = {"s": "10.77.0.10", "a": "10.77.0.11", "b": "10.77.0.12"}
MEMORY = {"s": "768M", "a": "1500M", "b": "1500M"}
BRIDGE = "brmillrace"
TOOLS = ("mmdebstrap", "mke2fs", "ip", "ssh", "ssh-keygen", "dpkg", "apt-get", "depmod")
PACKAGES = (
    "kmod iproute2 openssh-server openssh-client nfs-common nfs-kernel-server rpcbind mpich openmpi-bin python3 procps "
    "e2fsprogs util-linux mount netbase"
)


def missing() -> str:
    """Why this machine cannot run guests; empty if it can."""
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "guests need /dev/net/tun"
    lacks = [tool for tool in TOOLS if shutil.which(tool) is None]
    return f"guests need {', '.join(lacks)}" if lacks else ""


def do(*words: object, **more: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in words], check=True, **{"stdout": subprocess.DEVNULL} | more)


def make_image() -> None:
    """Debian with NFS and both MPIs in CACHE/disk.img, and the kernel of user-mode Linux beside it."""
    CACHE.mkdir(parents=True, exist_ok=True)
    root = CACHE / "root"
    if not (root / "etc").exists():
        names = ",".join(PACKAGES.split())
        do("mmdebstrap", "--variant=apt", f"--include={names}", "--components=main", "bookworm", root)
    if not (CACHE / "key").exists():
        do("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", CACHE / "key")
    if not (CACHE / "uml").exists():
        do("apt-get", "download", "user-mode-linux", cwd=CACHE)
        (package,) = CACHE.glob("user-mode-linux_*.deb")
        do("dpkg", "-x", package, CACHE / "uml")
        (version,) = (CACHE / "uml/usr/lib/uml/modules").iterdir()
        do("depmod", "-b", CACHE / "uml/usr/lib/uml", version.name, stderr=subprocess.DEVNULL)
    for name in ("root/.ssh", "host", "export", "nfs", "run/sshd", "lib/modules", str(ROOT)[1:], str(BUILD)[1:]):
        (root / name).mkdir(parents=True, exist_ok=True)
    shutil.copy(CACHE / "key", root / "root/.ssh/id_ed25519")
    shutil.copy(CACHE / "key.pub", root / "root/.ssh/authorized_keys")
    quiet = "Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n"
    (root / "root/.ssh/config").write_text(quiet)
    hosts = "".join(f"{address} {name}\n" for name, address in ADDRESSES.items())
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n" + hosts)
    (root / "etc/ssh/sshd_config").write_text("PermitRootLogin yes\nUseDNS no\nUsePAM no\nMaxStartups 100\n")
    shutil.copy(HERE / "guest-init", root / "guest-init")
    vendored = root / "usr/lib/python3/dist-packages"  # what the command `millrace` imports
    do(sys.executable, ROOT / "scripts/vendor.py", vendored)
    (CACHE / "disk.img").unlink(missing_ok=True)
    do("mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-d", root, CACHE / "disk.img", "2500M")


class Guests:
    """Up from the constructor to end(). Its folder has the guests' disks and logs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: dict[str, subprocess.Popen] = {}
        self.modules = CACHE / "uml/usr/lib/uml/modules"
        export = folder / "export.img"
        with export.open("wb") as file:
            file.truncate(2 << 30)
        do("mke2fs", "-q", "-F", "-t", "ext4", export)
        try:
            do("ip", "link", "add", "name", BRIDGE, "type", "bridge")
            do("ip", "addr", "add", "10.77.0.1/24", "dev", BRIDGE)
            do("ip", "link", "set", BRIDGE, "up")
            for name in ADDRESSES:
                do("ip", "tuntap", "add", "mode", "tap", "name", f"tapm{name}")
                do("ip", "link", "set", f"tapm{name}", "master", BRIDGE)
                do("ip", "link", "set", f"tapm{name}", "up")
                self.boot(name)
            for name in ADDRESSES:
                self.await_up(name)
        except BaseException:
            self.end()
            raise

    def boot(self, name: str) -> None:
        number = ADDRESSES[name].rsplit(".", 1)[1]
        words = [CACHE / "uml/usr/bin/linux.uml", f"mem={MEMORY[name]}", f"umid=millrace{os.getpid()}{name}"]
        words += [
            f"ubd0={self.folder}/{name}.cow,{CACHE}/disk.img",
            *([f"ubd1={self.folder}/export.img"] * (name == "s")),
        ]
        words += ["root=/dev/ubda", "rw", "init=/guest-init", "con=null", "con0=null,fd:1", "ssl=null", "quiet"]
        words += [f"vec0:transport=tap,ifname=tapm{name},depth=128,gro=1,mac=52:54:00:77:00:{number}"]
        words += [f"role={name}", f"modules={self.modules}", f"tree={ROOT}", f"build={BUILD}"]
        registers = BUILD / "bin/tests/libmillrace-bench-registers.so"
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                [str(word) for word in words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=os.environ | {"LD_PRELOAD": str(registers), "TMPDIR": "/dev/shm"},
            )

    def await_up(self, name: str, bound_s: float = 120) -> None:
        deadline = time.monotonic() + bound_s
        while time.monotonic() < deadline and self.running[name].poll() is None:
            if self.on(name, "test -e /run/up", check=False, timeout=30).returncode == 0:
                return
            time.sleep(0.2)
        raise TimeoutError(
            f"guest {name} is not up: {(self.folder / f'{name}.log').read_text(errors='replace')[-2000:]}"
        )

    def on(self, name: str, command: str, **more: object) -> subprocess.CompletedProcess:
        words = ["ssh", "-F", "none", "-i", CACHE / "key", "-o", "StrictHostKeyChecking=no", "-o", "ConnectTimeout=15"]
        words += ["-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", f"root@{ADDRESSES[name]}", command]
        settings = {"capture_output": True, "text": True, "check": True, "stdin": subprocess.DEVNULL, "timeout": 300}
        return subprocess.run([str(word) for word in words], **settings | more)

    def mount(self, options: str) -> None:
        """Both clients mount the export at /nfs."""
        for name in ("a", "b"):
            self.on(name, f"cd /; umount -f -l /nfs 2>/dev/null; mount -t nfs -o {options} 10.77.0.10:/export/d /nfs")

    def stop(self, name: str, on: bool) -> None:
        """The guest does not run, and goes on as if no time had passed for its programs."""
        os.killpg(self.running[name].pid, signal.SIGSTOP if on else signal.SIGCONT)

    def end_one(self, name: str) -> None:
        """As when its power fails."""
        process = self.running.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def end(self) -> None:
        for name in list(self.running):
            self.end_one(name)
        for link in (*(f"tapm{name}" for name in ADDRESSES), BRIDGE):
            subprocess.run(["ip", "link", "del", link], check=False, stderr=subprocess.DEVNULL)
