# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Bootstrapped systems in temporary folders, and commands in them. For aarch64, qemu translates their programs."""

import contextlib
import dataclasses
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

QEMU = "/usr/bin/qemu-aarch64-static"
AS_ROOT = {f"{who}_ALLOW_RUN_AS_ROOT{more}": "1" for who in ("OMPI", "PRTE") for more in ("", "_CONFIRM")}
# The MPI libraries must not use process_vm_readv to copy between processes: qemu lacks it.
NO_COPIES = {
    "MPIR_CVAR_CH4_CMA_ENABLE": "0",
    "OMPI_MCA_btl_sm_single_copy_mechanism": "none",
    "UCX_TLS": "posix,self,tcp",
}
# An ELF file of 64 bits for processor 183 (aarch64): a program or a shared library. F: the kernel opens qemu now, so
# that the new root needs none.
PROGRAM = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
MASK = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
TRANSLATE = f":millrace-aarch64:M::{PROGRAM}:{MASK}:{QEMU}:F"
# All mounts and processes are in namespaces of the command, and end with it.
NAMESPACES = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]
# Since Linux 6.7, a user namespace can have translators of its own.
OWN_TRANSLATORS = [*NAMESPACES, "--user", "--map-root-user"]
SCRIPTS = pathlib.Path("/usr/share/debootstrap/scripts")


class Unavailable(Exception):
    """Why a system cannot be bootstrapped here."""


@dataclasses.dataclass
class System:
    """A release of Debian or Ubuntu, for the machine of the wheel."""

    suite: str
    ubuntu: bool
    machine: str
    root: pathlib.Path = pathlib.Path()

    @property
    def foreign(self) -> bool:
        return self.machine != platform.machine()

    def missing(self) -> str:
        """Why it cannot be bootstrapped here, or nothing."""
        if os.geteuid() != 0:
            return "it needs root, to bootstrap a system"
        if shutil.which("debootstrap") is None:
            return "debootstrap is not installed"
        return self.missing_translator() if self.foreign else ""

    @staticmethod
    def missing_translator() -> str:
        if not os.path.exists(QEMU):
            return f"{QEMU} is not installed (qemu-user-static)"
        with tempfile.TemporaryDirectory() as folder:
            mount = [*OWN_TRANSLATORS, "mount", "-t", "binfmt_misc", "none", folder]
            done = subprocess.run(mount, capture_output=True, text=True, check=False)
        return f"the kernel lets no user namespace have a translator: {done.stderr.strip()}" if done.returncode else ""

    @contextlib.contextmanager
    def bootstrapped(self, *packages: str):
        """The system in a temporary folder. Nobody else sees its mounts, so the removal touches nothing else."""
        if reason := self.missing():
            raise Unavailable(reason)
        with tempfile.TemporaryDirectory(prefix="millrace-wheel-") as folder:
            self.root = pathlib.Path(folder) / self.suite
            command = ["debootstrap", "--variant=minbase", f"--include={','.join(packages)}"]
            if self.foreign:
                command += ["--foreign", "--arch=arm64"]
            if self.ubuntu:
                command.append("--components=main,universe")
            done = attempt(*command, self.suite, self.root, *self.source())
            if "Failed getting release file" in done.stderr + done.stdout:
                raise Unavailable("its packages cannot be had")
            check(command, done)
            if self.foreign:
                self.unpack()
            yield self

    def source(self) -> list[str]:
        """Ubuntu's mirror and script, as this debootstrap knows them. All newer Ubuntus have one script.

        Without Ubuntu's keyring debootstrap would ask Debian's mirror. TLS vouches for the packages then.
        """
        known = SCRIPTS / "jammy"
        if not self.ubuntu:
            return []
        if not known.exists():
            raise Unavailable("this debootstrap does not know Ubuntu 22.04")
        return [f"https://{re.findall(r'default_mirror http://(archive.*)', known.read_text())[0]}", "jammy"]

    def unpack(self) -> None:
        """Unpacks the packages that debootstrap has fetched. Translated, their configuration would take minutes."""
        unpack = 'dpkg-deb --fsys-tarfile "$0" | tar -x --keep-directory-symlink -C "$1"'
        for package in (self.root / "var/cache/apt/archives").glob("*.deb"):
            must("sh", "-c", unpack, package, self.root)
        (self.root / "proc").unlink(missing_ok=True)  # a link to the machine's own
        for name in ("proc", "mnt", "opt", "dev/shm"):  # as base-files would, if it were configured
            (self.root / name).mkdir(parents=True, exist_ok=True)

    def inside(self, *command: object, bound_s: float = 600, **environment: str) -> str:
        """Runs a command in the root, with /proc, /sys and memory for shared files."""
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C"} | AS_ROOT | environment
        steps = ['mount -t proc proc "$0/proc"', 'mount --rbind /sys "$0/sys"', 'mount -t tmpfs tmpfs "$0/dev/shm"']
        if self.foreign:
            env |= NO_COPIES
            steps += ['mount -t binfmt_misc none "$0/mnt"', 'printf "%s" "$TRANSLATE" >"$0/mnt/register"']
        script = f'set -e\n{chr(10).join(steps)}\nunset TRANSLATE\nchroot "$0" "$@"'
        namespaces = OWN_TRANSLATORS if self.foreign else NAMESPACES
        env["TRANSLATE"] = TRANSLATE
        return must(*namespaces, "sh", "-c", script, self.root, *command, env=env, timeout=bound_s)


def attempt(*command: object, **more) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], text=True, capture_output=True, check=False, **more)


def check(command, done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode != 0:
        sys.exit(f"failed: {command}\n{done.stdout}\n{done.stderr}")


def must(*command: object, **more) -> str:
    done = attempt(*command, **more)
    check(command, done)
    return done.stdout
