# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`millrace run`: environment, launchers, exit status, signals."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
from conftest import write_script


def environment_of(done):
    assert done.returncode == 0, done.stderr
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def test_sets_what_the_library_needs(millrace, world):
    seen = environment_of(millrace("run", "--strategy", "sort", "--no-merge", "--", "env"))
    assert seen["LD_PRELOAD"] == str(world / "prefix/lib/libmillrace.so")
    assert seen["MILLRACE_STRATEGY"] == "sort" and seen["MILLRACE_MERGE"] == "0"
    assert re.fullmatch("[0-9a-f]{32}", seen["MILLRACE_JOB"])
    assert seen["MILLRACE_AGENT"] == str(world / "prefix/bin/millraced")
    assert seen["PNETCDF_HINTS"] == "nc_driver=mpiio"
    assert "MILLRACE_SORT_BUFFER" not in seen and "MILLRACE_PREFIX" not in seen


def test_two_jobs_have_two_keys(millrace):
    keys = {environment_of(millrace("run", "env"))["MILLRACE_JOB"] for _ in range(2)}
    assert len(keys) == 2


def test_keeps_an_existing_preload_and_hints(millrace, monkeypatch):
    other = "/usr/lib/does-not-matter.so"
    monkeypatch.setenv("LD_PRELOAD", other)
    monkeypatch.setenv("PNETCDF_HINTS", "nc_driver=gio")
    seen = environment_of(millrace("run", "env"))
    assert seen["LD_PRELOAD"].endswith(f"/libmillrace.so:{other}")
    assert seen["PNETCDF_HINTS"] == "nc_driver=gio"


def test_millrace_0_changes_nothing(millrace, monkeypatch):
    monkeypatch.setenv("MILLRACE", "0")
    seen = environment_of(millrace("run", "env"))
    assert "LD_PRELOAD" not in seen and "MILLRACE_JOB" not in seen


def launched(world):
    return (world / "home/launched").read_text().split()


def test_open_mpi_gets_x_for_each_variable(millrace, world):
    environment_of(millrace("run", "--sink", "direct", "mpirun.fakeompi", "-n", "2", "env"))
    words = launched(world)
    exported = {words[i + 1] for i, word in enumerate(words) if word == "-x"}
    assert exported == {"LD_PRELOAD", "MILLRACE_AGENT", "MILLRACE_JOB", "MILLRACE_SINK", "PNETCDF_HINTS"}
    assert words[-3:] == ["-n", "2", "env"]


@pytest.mark.parametrize("name", ["mpiexec.fakempich", "srun", "mpirun.strange"])
def test_other_launchers_are_left_alone(millrace, world, name):
    environment_of(millrace("run", "--", name, "-n", "2", "env"))
    assert launched(world) == ["-n", "2", "env"]


def test_stats_and_trace_reach_open_mpi_ranks_too(millrace, world):
    done = millrace("run", "--stats", "--trace", "t.json", "--", "mpirun.fakeompi", "-n", "1", "env")
    assert done.returncode == 0 and {"MILLRACE_STATS", "MILLRACE_TRACE"} <= set(launched(world))


def test_says_when_the_command_itself_sets_the_preload(millrace):
    done = millrace("run", "--", "mpirun.fakeompi", "-x", "LD_PRELOAD=/x.so", "-n", "1", "true")
    assert "-x LD_PRELOAD=/x.so" in done.stderr and "stays out" in done.stderr


@pytest.mark.parametrize("options", [[], ["--stats"]])
def test_exit_status_and_streams_are_the_programs(millrace, options):
    done = millrace("run", *options, "--", "sh", "-c", "cat; echo err >&2; exit 37", input="through\n")
    assert done.returncode == 37 and done.stdout == "through\n" and "err" in done.stderr


@pytest.mark.parametrize("options", [[], ["--stats"]])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
def test_ends_by_the_signal_that_ended_the_program(millrace, options, number):
    done = millrace("run", *options, "--", "sh", "-c", f"kill -{int(number)} $$")
    assert done.returncode == -number


@pytest.mark.parametrize("options", [[], ["--stats"]])
def test_passes_a_signal_on(world, options):
    program = write_script(
        world / "work/app",
        "#!/bin/sh\ntrap 'echo got it; exit 5' USR1\necho ready; while :; do sleep 0.05; done\n",
    )
    with subprocess.Popen(
        [sys.executable, "-m", "millrace", "run", *options, "--", str(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as child:
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGUSR1)
        assert child.stdout.read() == "got it\n"
        assert child.wait(20) == 5


def test_without_reports_there_is_no_process_in_between(world):
    with subprocess.Popen(
        [sys.executable, "-m", "millrace", "run", "--", "sh", "-c", "echo $$"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as child:
        assert int(child.stdout.read()) == child.pid


def test_leaves_no_temporary_files(millrace, world, monkeypatch):
    (world / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(world / "tmp"))
    for command in (["true"], ["sh", "-c", "kill -9 $$"]):
        millrace("run", "--stats", "--trace", "t.json", "--", *command)
    assert list((world / "tmp").iterdir()) == []


def test_no_signal_is_lost_to_a_thread(millrace):
    # The end of a child was once delivered to the thread that reads reports, about every tenth time.
    for _ in range(30):
        assert millrace("run", "--stats", "--", "true", timeout=20).returncode == 0


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["run"], 2, "Usage"),
        (["run", "--strategy", "sort"], 2, "no program given"),
        (["run", "--", "no-such-program"], 127, "no-such-program was not found"),
        (["run", "--unknown", "--", "true"], 2, "--unknown"),
        (["run", "--sort-buffer", "12parsec", "true"], 2, "--sort-buffer: '12parsec' is not a size"),
        (["run", "--sort-buffer", "1KiB", "true"], 2, "allowed: 1MiB to 1TiB"),
        (["run", "--record-max", "48KiB", "true"], 2, "not a power of two"),
        (["run", "--strategy", "fast", "true"], 2, "allowed: auto, immediate, sort, journal"),
        (["run", "--durability", "node", "true"], 2, "allowed: server, disk"),
        (["run", "--timeout", "1ms", "true"], 2, "allowed: 100ms to 86400s"),
        (["run", "--direct-calls", "independent,odd", "true"], 2, "'odd' is not a kind of call"),
        (["run", "--stats=/no/such/folder/x.json", "true"], 2, "does not exist"),
        (["run", "--trace", ".", "true"], 2, "is a folder"),
        (["run", "--config", "none.toml", "true"], 2, "none.toml: No such file"),
    ],
)
def test_bad_use_is_refused_before_anything_starts(millrace, words, status, says):
    done = millrace(*words)
    assert done.returncode == status
    assert says in done.stderr + done.stdout


def test_a_missing_prefix_is_told(millrace, monkeypatch, tmp_path):
    monkeypatch.setenv("MILLRACE_PREFIX", str(tmp_path / "nowhere"))
    done = millrace("run", "true")
    assert done.returncode == 2 and "libmillrace.so was not found" in done.stderr


def test_a_program_that_is_not_executable(millrace, world):
    (world / "work/data").write_text("x")
    done = millrace("run", "./data")
    assert done.returncode == 126 and "not executable" in done.stderr


def test_bare_stats_does_not_eat_the_program(millrace):
    assert millrace("run", "--stats", "sh", "-c", "exit 4").returncode == 4
    done = millrace("run", "--stats", "out.json", "sh", "-c", "exit 4")
    assert done.returncode == 4 and os.path.exists("out.json")


def test_starts_quickly(millrace):
    begin = time.monotonic()
    millrace("run", "true")
    assert time.monotonic() - begin < 10  # generous: a busy machine; about 0.15 s otherwise
