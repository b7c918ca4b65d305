# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""programs.py LIBRARY [NAME]: real programs do their work under the preload, and their own checks find it right."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

SKIP = 77
MODES = {
    "early": {"TEST_SYNCED": "1"},  # for synced.c
    "async": {"MILLRACE_POSIX_ASYNC": "*"},
}


class Bench:
    """A folder to work in, and the environment of one mode."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = environment

    def run(self, command: str, preload: bool = True) -> str:
        done = subprocess.run(
            ["bash", "-ec", command],
            cwd=self.folder,
            env=self.environment if preload else dict(os.environ),
            capture_output=True,
            text=True,
            timeout=400,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode != 0:
            raise AssertionError(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout


def data(bench: Bench, mib: int = 20) -> None:
    bench.run(f"mkdir tree; head -c {mib}M /dev/urandom > tree/large; seq 200000 > tree/text; : > tree/empty", False)


def dd(bench: Bench) -> None:
    data(bench)
    bench.run("dd if=tree/large of=copy bs=7M conv=fsync && dd if=tree/large of=direct bs=1M && cat tree/large > cat")
    bench.run("dd if=tree/text of=copy conv=notrunc oflag=append bs=333")
    bench.run("cat tree/large tree/text | cmp - copy && cmp tree/large direct && cmp tree/large cat", False)


def tar(bench: Bench) -> None:
    data(bench)
    bench.run("tar cf a.tar tree && mkdir out && tar xf a.tar -C out && tar df a.tar")
    bench.run("tar czf a.tgz tree && cp -r tree cp")
    bench.run("diff -r tree out/tree && diff -r tree cp && tar xzf a.tgz -O tree/large | cmp - tree/large", False)


def sqlite3(bench: Bench) -> None:
    table = "create table t(a integer primary key, b blob)"
    numbers = "with recursive c(x) as (values(1) union all select x+1 from c where x<3000)"
    rows = f"{numbers} insert into t select x, randomblob(900) from c"
    for journal in ("delete", "wal"):
        bench.run(
            f'sqlite3 {journal}.db "pragma journal_mode={journal}; {table}; {rows}; update t set b = zeroblob(5000000) '
            'where a = 7; delete from t where a % 3 = 0; vacuum;"'
        )
        ask = "pragma integrity_check; select count(*), length(b) from t where a = 7"
        found = bench.run(f'sqlite3 {journal}.db "{ask}"', False)
        if found.split()[0] != "ok" or not found.split()[1].endswith("|5000000"):
            raise AssertionError(found)


def python3(bench: Bench) -> None:
    bench.run(
        """python3 - <<'END'
import os, io, shutil, tempfile
data = os.urandom(9 << 20)
with open('a', 'wb', buffering=0) as f: assert f.write(data) == len(data) == f.tell(); os.fsync(f)
with open('a', 'r+b') as f: f.seek(5); f.write(data); f.flush(); assert os.fstat(f.fileno()).st_size == len(data) + 5
with open('a', 'rb') as f: assert f.read(5) == data[:5] and f.read() == data
with open('b', 'w') as f: f.writelines(f'{i}\\n' for i in range(300000))
assert sum(map(int, open('b'))) == 299999 * 150000
fd = os.open('c', os.O_RDWR | os.O_CREAT)
assert os.pwritev(fd, [data, b'x'], 3) == len(data) + 1 and os.pread(fd, 4, len(data)) == data[-3:] + b'x'
shutil.copyfile('a', 'd'); assert open('d', 'rb').read() == open('a', 'rb').read()
END"""
    )


def git(bench: Bench) -> None:
    data(bench)
    bench.run(
        "cd tree && git init -q . && git config user.email a@b && git config user.name a && git add . && "
        "git commit -qm 1 && seq 300000 > text && git commit -qam 2 && git gc -q && cd .. && git clone -q tree copy"
    )
    bench.run("git -C tree fsck --full && git -C copy fsck --full", False)
    bench.run("cmp tree/large copy/large && cmp tree/text copy/text", False)


def fio(bench: Bench) -> None:
    common = "fio --name=t --directory=. --size=24m --verify=crc32c --verify_fatal=1 --ioengine"
    bench.run(f"{common}=psync --rw=write --bs=5m --end_fsync=1 && {common}=psync --rw=randwrite --bs=128k --fsync=16")
    bench.run(f"{common}=vsync --rw=write --bs=256k && {common}=pvsync2 --rw=randwrite --bs=64k --numjobs=2")


PROGRAMS: dict[str, Callable[[Bench], None]] = {work.__name__: work for work in (dd, tar, sqlite3, python3, git, fio)}


def main() -> int:
    library, *wanted = sys.argv[1:]
    missing = []
    for name, work in PROGRAMS.items():
        if wanted and name not in wanted:
            continue
        if shutil.which(name) is None:
            missing.append(name)
            continue
        for mode, variables in MODES.items():
            with tempfile.TemporaryDirectory() as folder:
                environment = {**os.environ, **variables, "LD_PRELOAD": library}
                work(Bench(Path(folder), environment))
            print(f"{name}, {mode}: right", flush=True)
    if missing:
        print(f"not installed: {', '.join(missing)}")
    return SKIP if missing and len(missing) == len(wanted or PROGRAMS) else 0


if __name__ == "__main__":
    sys.exit(main())
