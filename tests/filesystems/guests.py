# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Guests of user-mode Linux on a bridge of this machine: an NFS server (s: knfsd, ext4) and two clients (a, b)."""

from __future__ import annotations

import fcntl
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
CACHE = Path(os.environ.get("TEST_GUESTS", "/var/cache/millrace-guests"))  # packages, which take minutes to load
ADDRESSES = {"s": "10.77.0.10", "a": "10.77.0.11", "b": "10.77.0.12"}
MEMORY = {"s": "768M", "a": "1500M", "b": "1500M"}
BRIDGE = "brmillrace"
TOOLS = ("mmdebstrap", "mke2fs", "ip", "ssh", "ssh-keygen", "dpkg", "apt-get", "chroot", "unshare")
SUITE = "bookworm"
PACKAGES = (
    "kmod iproute2 openssh-server openssh-client nfs-common nfs-kernel-server rpcbind mpich openmpi-bin python3 procps "
    "e2fsprogs util-linux mount netbase"
)

PRELOADS = ":".join(f"{BUILD}/lib/libmillrace-bench-{name}.so" for name in ("finalize", "yield"))


def environment(mpi: str) -> str:
    """What the MPI library needs to run here, as words before a command."""
    # Without the preloads, stock MPICH of Debian does not end over TCP.
    mpich = f"LD_PRELOAD={PRELOADS} UCX_TLS=tcp,self,sm UCX_NET_DEVICES=vec0 UCX_TCP_KEEPIDLE=inf"
    return mpich if mpi == "mpich" else ""


def launcher(mpi: str, nodes: str) -> str:
    """Starts two ranks on each of these nodes ("a" or "a,b"). The words of tests/launch.py follow."""
    if mpi == "mpich":
        return f"mpiexec.mpich -launcher ssh -hosts {nodes} -ppn 2"
    places = ",".join(f"{node}:2" for node in nodes.split(","))
    return f"mpirun.openmpi --host {places} --mca btl tcp,self,vader --mca btl_tcp_if_include 10.77.0.0/24"


def missing() -> str:
    """Why this machine cannot run guests; empty if it can."""
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "guests need /dev/net/tun"
    lacks = [tool for tool in TOOLS if shutil.which(tool) is None]
    return f"guests need {', '.join(lacks)}" if lacks else ""


def do(*words: object, **more: object) -> None:
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "stdin": subprocess.DEVNULL}
    done = subprocess.run([str(word) for word in words], check=False, **settings | more)
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]} ended with {done.returncode}: {done.stdout[-1000:].strip()}")


def make_root() -> None:
    """Debian with NFS and both MPIs in CACHE/root, and the kernel of user-mode Linux beside it. Loads packages once."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        root = CACHE / "root"
        if not root.exists():
            half = CACHE / "root.half"
            shutil.rmtree(half, ignore_errors=True)
            do(
                "mmdebstrap",
                "--variant=apt",
                f"--include={','.join(PACKAGES.split())}",
                "--components=main",
                SUITE,
                half,
            )
            # The packages that the command `millrace` imports.
            do(sys.executable, ROOT / "scripts/vendor.py", half / "usr/lib/python3/dist-packages")
            half.rename(root)
        if not (CACHE / "key").exists():
            do("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", CACHE / "key")
        if not (CACHE / "uml").exists():
            do("apt-get", "download", "user-mode-linux", cwd=CACHE)
            (package,) = CACHE.glob("user-mode-linux_*.deb")
            do("dpkg", "-x", package, CACHE / "uml.half")
            (CACHE / "uml.half").rename(CACHE / "uml")
        (modules,) = (CACHE / "uml/usr/lib/uml/modules").iterdir()
        if not (root / "lib/modules" / modules.name / "modules.dep").exists():
            shutil.copytree(modules, root / "lib/modules" / modules.name, dirs_exist_ok=True)
            do("chroot", root, "depmod", modules.name)
        settle(root)


def settle(root: Path) -> None:
    """What guests have beside their packages."""
    for name in ("root/.ssh", "export", "nfs", "run/sshd", str(ROOT)[1:], str(BUILD)[1:]):
        (root / name).mkdir(parents=True, exist_ok=True)
    shutil.copy(CACHE / "key", root / "root/.ssh/id_ed25519")
    shutil.copy(CACHE / "key.pub", root / "root/.ssh/authorized_keys")
    quiet = "Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n"
    (root / "root/.ssh/config").write_text(quiet)
    hosts = "".join(f"{address} {name}\n" for name, address in ADDRESSES.items())
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n" + hosts)
    (root / "etc/resolv.conf").unlink(missing_ok=True)
    (root / "etc/ssh/sshd_config").write_text("PermitRootLogin yes\nUseDNS no\nUsePAM no\nMaxStartups 100\n")
    shutil.copy(HERE / "guest-init", root / "guest-init")


class Guests:
    """Up from the constructor to end(). Its folder has the guests' disks and logs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: dict[str, subprocess.Popen] = {}
        do("mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-d", CACHE / "root", folder / "disk.img", "2500M")
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
            f"ubd0={self.folder}/{name}.cow,{self.folder}/disk.img",
            *([f"ubd1={self.folder}/export.img"] * (name == "s")),
        ]
        words += ["root=/dev/ubda", "rw", "init=/guest-init", "con=null", "con0=null,fd:1", "ssl=null", "quiet"]
        words += [f"vec0:transport=tap,ifname=tapm{name},depth=128,gro=1,mac=52:54:00:77:00:{number}"]
        words += [f"role={name}", f"tree={ROOT}", f"build={BUILD}"]
        registers = BUILD / "bin/tests/libmillrace-bench-registers.so"
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                [str(word) for word in words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=os.environ | {"LD_PRELOAD": str(registers), "TMPDIR": "/dev/shm", "HOME": str(self.folder)},
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

    def differential(self, mpi: str, nodes: str, first: int, cases: int, chunk: int) -> str:
        """What tests/mpi/differential says of these seeds, with its files on the mount and two ranks on each node."""
        # `millrace run` tells a launcher by its name. Open MPI's passes the preload to other nodes only if told to.
        script = f"/run/{'mpirun' if mpi == 'ompi' else 'mpiexec'}.nodes"
        program = f"/run/differential_{mpi}"  # reports are written beside it
        for name in ("a", "b"):
            self.on(name, f"cp {BUILD}/bin/differential_{mpi} {program}")
        self.on("a", f"echo '#!/bin/sh\nexec {launcher(mpi, nodes)} \"$@\"' > {script} && chmod +x {script}")
        words = [environment(mpi), f"PYTHONPATH={ROOT}/python python3 {ROOT}/tests/mpi/differential/differential.py"]
        words += [f"--mpi {mpi} --launcher {script} --program {program} --preload {BUILD}/lib/libmillrace.so"]
        words += [f"--folder /nfs --ranks {2 * len(nodes.split(','))} --first {first} --cases {cases} --chunk {chunk}"]
        words += ["--timeout 200", "--across --left" if "," in nodes else ""]
        done = self.on("a", f"cd /nfs && {' '.join(words)} 2>&1", check=False, timeout=2000)
        assert done.returncode == 0, done.stdout[-6000:]
        return done.stdout

    def stop(self, name: str, on: bool) -> None:
        """The guest does not run, and goes on as if no time had passed for its programs."""
        os.kill(self.running[name].pid, signal.SIGSTOP if on else signal.SIGCONT)

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
