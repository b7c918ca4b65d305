# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The Debian package, the tarball and the module files, in bootstrapped systems.

usage: run.py DIST [deb] [tarball] [lmod]    DIST has what `scripts/packages` makes; without names, all of them
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = SOURCE / "build/bin/tests/victim_mpich"
sys.path.insert(0, str(SOURCE / "tests"))
from victim import pattern  # noqa: E402

PIECES = 2000
MOVED = "/opt/somewhere/else"
# Below /usr/share: what `man`, bash and zsh find without a setting.
FOUND_BY_ITSELF = [
    "man/man1/millrace-run.1.gz",
    "man/man8/millraced.8.gz",
    "bash-completion/completions/millrace",
    "zsh/vendor-completions/_millrace",
]
# The shells' way to both module systems.
INIT = {"environment-modules": "/usr/share/modules/init/sh", "lmod": "/usr/share/lmod/lmod/init/sh"}


def suite():
    words = dict(line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text().split("\n") if "=" in line)
    return words.get("VERSION_CODENAME", "").strip('"')


def missing():
    if os.geteuid() != 0:
        return "it needs root, to bootstrap a system"
    if shutil.which("debootstrap") is None:
        return "debootstrap is not installed"
    if not PROGRAM.exists():
        return f"{PROGRAM} is not built"
    return None


def must(*command, **more):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, check=False, **more)
    if done.returncode != 0:
        sys.exit(f"failed: {command}\n{done.stdout[-4000:]}\n{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def system(*packages):
    """A bootstrapped root. It never gets a mount that others see, so its removal touches nothing else."""
    with tempfile.TemporaryDirectory(prefix="millrace-package-") as folder:
        root = pathlib.Path(folder) / "root"
        must("debootstrap", "--variant=minbase", f"--include={','.join(packages)}", suite(), root)
        shutil.copy(PROGRAM, root / "opt/app")
        yield root


def inside(root, script, bound_s=300):
    """A shell script in the root, with /proc, /sys and memory for shared files in a mount namespace of its own."""
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C"}
    mounts = "mount -t proc proc $0/proc && mount -t sysfs sysfs $0/sys && mount -t tmpfs tmpfs $0/dev/shm"
    enter = ["unshare", "--mount", "--propagation", "private", "sh", "-c", f'{mounts} && exec chroot "$0" "$@"', root]
    return must(*enter, "bash", "-euc", script, env=env, timeout=bound_s)


def uses(root, before=""):
    """A program runs accelerated by the `millrace` of the path, and its file is right."""
    for name in ("data", "stats"):
        (root / "tmp" / name).unlink(missing_ok=True)
    run = f"millrace run --strategy sort --stats /tmp/stats -- mpiexec -n 2 /opt/app /tmp/data pieces={PIECES}"
    inside(root, f"{before}\nmillrace version\nmillrace doctor /tmp\n{run}")
    assert (root / "tmp/data").read_bytes() == pattern(0, 2 * PIECES * 1024)
    files = json.loads((root / "tmp/stats").read_text())["files"]
    assert sum(one["calls"] for one in files) > 0, files


def modules(root, kind):
    """Loading sets the paths of this prefix and no LD_PRELOAD; unloading takes them back."""
    load = f". {INIT[kind]}\nmodule use {MOVED}/share/modulefiles\nmodule load millrace"
    show = 'echo "$(command -v millrace) $MANPATH $PKG_CONFIG_PATH $CMAKE_PREFIX_PATH ${LD_PRELOAD:-none}"'
    words = inside(root, f"set +u\n{load}\n{show}\nmillrace version >&2").split()
    assert words[0] == f"{MOVED}/bin/millrace" and words[-1] == "none", words
    assert words[1].startswith(f"{MOVED}/share/man"), words
    assert words[2].startswith(f"{MOVED}/lib/pkgconfig") and words[3] == MOVED, words
    after = inside(root, f"set +u\n{load}\nmodule unload millrace\ncommand -v millrace || echo gone")
    assert after.split() == ["gone"], after
    print(f"{kind}: the module file sets paths of the moved prefix and no LD_PRELOAD")
    return f"set +u\n{load}"


def unpack(root, dist):
    (archive,) = dist.glob("millrace-*-linux-*.tar.gz")
    place = root / MOVED[1:]
    place.mkdir(parents=True)
    must("tar", "-xzf", archive, "-C", place, "--strip-components=1")


def deb(dist):
    with system("python3", "mpich") as root:
        (package,) = dist.glob("millrace_*.deb")
        shutil.copy(package, root / "opt/millrace.deb")
        before = inside(root, "find /usr /etc /var/lib -xdev | sort")
        inside(root, "dpkg --install /opt/millrace.deb")
        uses(root)
        inside(root, f"cd /usr/share\nls {' '.join(FOUND_BY_ITSELF)}")
        inside(root, "dpkg --purge millrace")
        left = set(inside(root, "find /usr /etc /var/lib -xdev | sort").split("\n")) - set(before.split("\n"))
        left = {path for path in left if path.startswith("/usr/lib/millrace") or "__pycache__" not in path}
        left = {path for path in left if not path.startswith("/var/lib/dpkg/")}
        assert not left, left
        print("deb: installed, used and removed; nothing is left")


def tarball(dist):
    with system("python3", "mpich", "environment-modules") as root:
        unpack(root, dist)
        uses(root, f"PATH={MOVED}/bin:$PATH")
        print("tarball: works at a path that nobody knew when it was made")
        uses(root, modules(root, "environment-modules"))


def lmod(dist):
    with system("python3", "lmod") as root:
        unpack(root, dist)
        modules(root, "lmod")


def main():
    if missing():
        print(f"skipped: {missing()}")
        return SKIP
    dist, names = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:] or ["deb", "tarball", "lmod"]
    for name in names:
        {"deb": deb, "tarball": tarball, "lmod": lmod}[name](dist)
    return 0


if __name__ == "__main__":
    sys.exit(main())
