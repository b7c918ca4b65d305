#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for apptainer and singularity, over chroot. usage: apptainer exec [OPTIONS] IMAGE COMMAND...

IMAGE is a folder with the links /bin, /lib, /lib64 and /sbin; the machine's /usr and /etc are the rest of it. As with
the real programs, a container has the machine's /dev, /proc, /sys, /tmp and working folder, the last two not with
--contain. Binds and variables come from the variables that the real programs read. All mounts lie in a mount namespace
of this process.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from millrace.tools.cluster import system  # noqa: E402

MS_RDONLY, MS_REMOUNT = 1, 32


def bind(image: Path, source: str, target: str, read_only: bool = False) -> None:
    if not os.path.exists(source):
        sys.exit(f"FATAL: container creation failed: mount source {source} does not exist")
    place = image / target.lstrip("/")
    place.mkdir(parents=True, exist_ok=True)
    system.mount(source, str(place), flags=system.MS_BIND | system.MS_REC)
    if read_only:
        system.mount("none", str(place), flags=system.MS_BIND | MS_REMOUNT | MS_RDONLY)


def environment(name: str, clean: bool) -> dict[str, str]:
    mark = f"{name}ENV_"
    given = {word[len(mark) :]: value for word, value in os.environ.items() if word.startswith(mark)}
    kept = {word: os.environ[word] for word in ("PATH", "HOME")} if clean else dict(os.environ)
    kept.pop("LD_PRELOAD", None)
    return {**kept, **given}


def main() -> None:
    name, words = Path(sys.argv[0]).name.upper(), sys.argv[1:]
    if words.pop(0) != "exec":
        sys.exit("this stand-in knows exec only")
    options = set()
    while words[0].startswith("-"):
        options.add(words.pop(0))
    if options - {"--cleanenv", "--contain"}:
        sys.exit(f"this stand-in does not know {options}")
    image, folder = Path(words.pop(0)).resolve(), os.getcwd()
    system.unshare(system.CLONE_NEWNS)
    system.mount("none", "/", flags=system.MS_REC | system.MS_SLAVE)
    for path in ("/usr", "/etc", "/dev", "/proc", "/sys"):
        bind(image, path, path)
    if "--contain" in options:
        (image / "tmp").mkdir(exist_ok=True)
        system.mount("tmpfs", str(image / "tmp"), "tmpfs", 0, "mode=1777")
    else:
        bind(image, "/tmp", "/tmp")
        if not folder.startswith("/tmp/"):
            bind(image, folder, folder)
    for word in filter(None, os.environ.get(f"{name}_BIND", "").split(",")):
        source, target, *more = word.split(":")
        bind(image, source, target, more == ["ro"])
    os.chroot(image)
    os.chdir(folder if os.path.isdir(folder) else "/")
    os.execvpe(words[0], words, environment(name, "--cleanenv" in options))


if __name__ == "__main__":
    main()
