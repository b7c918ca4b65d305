# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`millrace run` with programs in containers. The container program is a stand-in: see standin_apptainer.py."""

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from conftest import BUILD, LAUNCHERS, _marked, launch
from victim import pattern

PIECES = 2000
WHOLE = 2 * PIECES * 1024
LIBRARY = BUILD.resolve() / "lib/libmillrace.so"

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="the stand-in mounts: it needs root"),
    pytest.mark.skipif(LIBRARY.is_relative_to("/tmp"), reason="the build lies in /tmp, which containers have anyway"),
]


class Site:
    """A folder with an image, the container programs, and places for files."""

    def __init__(self, folder, mpi):
        self.folder, self.mpi, self.image = folder, mpi, folder / "image"
        self.key = f"apptainer-{secrets.token_hex(8)}"
        self.image.mkdir()
        for name in ("bin", "lib", "lib64", "sbin"):
            (self.image / name).symlink_to(f"usr/{name}")
        tools = folder / "tools"
        tools.mkdir()
        for name in ("apptainer", "singularity"):
            (tools / name).symlink_to(Path(__file__).parent / "standin_apptainer.py")
        shutil.copy(BUILD / "bin/tests" / f"victim_{mpi}", self.image / "app")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE") and k != "LD_PRELOAD"}
        self.environment["TEST_JOB"] = self.key
        self.environment["PATH"] = f"{tools}:{os.environ['PATH']}"
        # Waiting ranks of MPICH yield their core, also inside.
        shim = BUILD.resolve() / "lib/libmillrace-bench-yield.so"
        if mpi == "mpich" and shim.exists():
            self.environment |= {f"{name}ENV_LD_PRELOAD": str(shim) for name in ("APPTAINER", "SINGULARITY")}
        as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.environment |= {"MILLRACE_STRATEGY": "sort", "XDG_CACHE_HOME": "/dev/null"} | as_root

    def end(self):
        """Ends what still runs after a failure: launchers start sessions of their own."""
        for pid in _marked(f"TEST_JOB={self.key}"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def run(self, *words, **more):
        """A command with the container programs in its path."""
        done = subprocess.run(
            [str(word) for word in words],
            env={**self.environment, **more},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done

    def millrace(self, *words, **more):
        return self.run(BUILD / "bin/millrace", "run", *words, **more)

    def expect_accelerated(self, *command, name="apptainer"):
        data, stats = self.folder / "data", self.folder / "stats.json"
        data.unlink(missing_ok=True)
        done = self.millrace("--stats", stats, "--", *command, "/app", data, f"pieces={PIECES}")
        assert done.returncode == 0, done.stderr + done.stdout
        said = re.findall(r"^millrace: (?!1 file, )(.*)", done.stderr, re.MULTILINE)  # without the summary of --stats
        where = f"{name} binds {BUILD.resolve()} (read-only) into the container, and preloads Millrace there"
        assert said == [where], done.stderr
        assert data.read_bytes() == pattern(0, WHOLE)
        files = json.loads(stats.read_text())["files"]
        assert sum(file["calls"] for file in files) > 0, files


@pytest.fixture(params=["mpich", "ompi"])
def site(request, tmp_path):
    if not LAUNCHERS[request.param] or not (BUILD / f"lib/libmillrace-{request.param}.so").exists():
        pytest.skip(f"no {request.param} here")
    made = Site(tmp_path, request.param)
    yield made
    made.end()


@pytest.fixture
def one(tmp_path):
    """For tests without an MPI program."""
    made = Site(tmp_path, next(mpi for mpi in LAUNCHERS if LAUNCHERS[mpi]))
    yield made
    made.end()


@pytest.fixture
def local():
    """A folder that no container has by itself."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="millrace-test-") as folder:
        yield Path(folder)


def test_a_container_does_not_have_millrace_by_itself(one):
    assert one.run("apptainer", "exec", one.image, "test", "-e", LIBRARY).returncode == 1
    assert one.run("apptainer", "exec", one.image, "test", "-e", "/app").returncode == 0


@pytest.mark.parametrize("name", ["apptainer", "singularity"])
def test_each_rank_in_a_container_of_its_own(site, name):
    site.expect_accelerated(*launch(LAUNCHERS[site.mpi], site.mpi, 2), name, "exec", site.image, name=name)


def test_the_launcher_in_the_container_with_the_ranks(site):
    inner = launch(LAUNCHERS[site.mpi], site.mpi, 2)
    site.expect_accelerated("apptainer", "exec", site.image, *inner)


def test_variables_reach_a_container_with_a_clean_environment(one):
    show = ["sh", "-c", "echo $LD_PRELOAD $MILLRACE_STRATEGY $MILLRACE_JOB"]
    done = one.millrace("--", "apptainer", "exec", "--cleanenv", one.image, *show)
    assert done.stdout.split()[0].split(":")[0] == str(LIBRARY), done
    assert done.stdout.split()[1] == "sort" and len(done.stdout.split()) == 3, done


def test_the_prefix_is_read_only_and_binds_of_the_user_stay(one, local):
    command = f"touch {BUILD.resolve()}/mark || touch {local}/mark"
    bind = {"APPTAINER_BIND": f"{local}:{local}"}
    done = one.millrace("--", "apptainer", "exec", one.image, "sh", "-c", command, **bind)
    assert done.returncode == 0 and "Read-only" in done.stderr, done.stderr
    assert (local / "mark").exists()


def test_folders_of_journals_are_bound(one, local):
    kept = {"MILLRACE_JOURNAL_DIRECTORY": str(local)}
    words = ["sh", "-c", "touch $MILLRACE_JOURNAL_DIRECTORY/mark"]
    done = one.millrace("--", "apptainer", "exec", one.image, *words, **kept)
    assert done.returncode == 0 and f" and {local} into" in done.stderr, done.stderr
    assert (local / "mark").exists()
    # --contain: the container's own /tmp would end with it, and the journals there too.
    words = ["sh", "-c", f"touch {one.folder}/mark"]
    for command, there in ((["apptainer"], False), ([BUILD / "bin/millrace", "run", "--", "apptainer"], True)):
        one.run(*command, "exec", "--contain", one.image, *words)
        assert (one.folder / "mark").exists() == there


def test_containers_that_keep_ranks_apart_run_without_millrace(one):
    command = [*launch(LAUNCHERS[one.mpi], one.mpi, 2), "apptainer", "exec", "--pid", one.image, "true"]
    done = one.millrace("--", *command)
    assert "apptainer --pid keeps the ranks of a node apart: the program runs without Millrace" in done.stderr
    assert "this stand-in does not know {'--pid'}" in done.stderr  # so the command did start
