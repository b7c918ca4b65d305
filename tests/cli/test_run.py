# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`millrace run`: environment, launchers, exit status, signals."""

import os
import re
import signal
import subprocess
import sys

import pytest
from conftest import compile_c, write_script
from millrace.run import launcher


def environment_of(done):
    assert done.returncode == 0, done.stderr
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def test_sets_what_the_library_needs(millrace, world):
    seen = environment_of(millrace("run", "--strategy", "sort", "--no-merge", "--", "env"))
    assert seen["LD_PRELOAD"] == str(world / "prefix/lib/libmillrace.so")
    assert seen["MILLRACE_STRATEGY"] == "sort" and seen["MILLRACE_MERGE"] == "0"
    assert re.fullmatch("[0-9a-f]{32}", seen["MILLRACE_JOB"])
    assert seen["PNETCDF_HINTS"] == "nc_driver=mpiio"
    assert not {"MILLRACE_AGENT", "MILLRACE_SORT_BUFFER", "MILLRACE_PREFIX"} & seen.keys()


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


def test_posix_is_preloaded_where_asked_for(millrace, world, monkeypatch):
    both = f"{world}/prefix/lib/libmillrace.so:{world}/prefix/lib/libmillrace_posix.so"
    seen = environment_of(millrace("run", "--posix", "env"))
    assert seen["LD_PRELOAD"] == both and seen["MILLRACE_POSIX"] == "1"
    seen = environment_of(millrace("run", "--posix-async", "*.out", "--posix-async", "/scratch/*", "env"))
    assert seen["LD_PRELOAD"] == both and seen["MILLRACE_POSIX_ASYNC"] == "*.out:/scratch/*"
    seen = environment_of(millrace("run", "--posix-stage", "deck.in", "--posix-stage", "tables/*", "env"))
    assert seen["LD_PRELOAD"] == both and seen["MILLRACE_POSIX_STAGE"] == "deck.in:tables/*"
    monkeypatch.setenv("LD_PRELOAD", both + ":/usr/lib/does-not-matter.so")
    assert environment_of(millrace("run", "--posix", "env"))["LD_PRELOAD"] == both + ":/usr/lib/does-not-matter.so"


def test_a_program_without_mpi_needs_no_note_with_posix(millrace, world):
    compile_c(world / "work/app", "int main(void) { return 0; }")
    assert "no MPI library" in millrace("run", "./app").stderr
    assert millrace("run", "--posix", "./app").stderr == ""


def test_a_missing_posix_library_is_told(millrace, world):
    (world / "prefix/lib/libmillrace_posix.so").unlink()
    done = millrace("run", "--posix", "true")
    assert done.returncode == 2 and "libmillrace_posix.so is missing" in done.stderr


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
    assert exported == {"LD_PRELOAD", "MILLRACE_JOB", "MILLRACE_SINK", "PNETCDF_HINTS"}
    assert words[-3:] == ["-n", "2", "env"]


def exported(words):
    return {words[i + 1] for i, word in enumerate(words) if word == "-x"}


def test_open_mpi_passes_what_only_the_environment_has(millrace, world, monkeypatch):
    monkeypatch.setenv("MILLRACE_TOPOLOGY", "ring")
    monkeypatch.setenv("MILLRACED_LOG", "/tmp/log")
    monkeypatch.setenv("MILLRACE", "1")
    environment_of(millrace("run", "mpirun.fakeompi", "-n", "2", "env"))
    names = exported(launched(world))
    assert {"LD_PRELOAD", "MILLRACE", "MILLRACED_LOG", "MILLRACE_JOB", "MILLRACE_TOPOLOGY"} <= names
    assert "MILLRACE_PREFIX" not in names


OPEN_MPI = launcher.Launcher("mpirun", "openmpi", "5.0.3")
HYDRA = launcher.Launcher("mpiexec", "mpich", "4.0.2")
SLURM = launcher.Launcher("srun", "slurm", "22.05")


@pytest.mark.parametrize("version", ["mpirun (Open MPI) 4.1.4", "mpirun (Open MPI) 5.0.8", "prterun (PRRTE) 3.0.11"])
def test_open_mpi_4_and_5_are_known(tmp_path, version):
    path = write_script(tmp_path / "mpirun", f"#!/bin/sh\necho '{version}'\n")
    assert launcher.inspect(str(path)).kind == "openmpi"


@pytest.mark.parametrize(
    ("words", "forwarded"),
    [
        ("mpirun -n 2 ./a", "mpirun -x A -x B -n 2 ./a"),
        ("mpirun -n 2 ./a : -n 1 ./b", "mpirun -x A -x B -n 2 ./a : -x A -x B -n 1 ./b"),
        ("mpirun -x A=1 -n 2 ./a : ./b", "mpirun -x B -x A=1 -n 2 ./a : -x A -x B ./b"),
        ("mpirun -n 2 ./a -x A", "mpirun -x A -x B -n 2 ./a -x A"),
        ("mpirun ./a :", "mpirun -x A -x B ./a :"),
    ],
)
def test_each_program_of_open_mpi_gets_the_variables_once(words, forwarded):
    assert launcher.forward(words.split(), OPEN_MPI, ["A", "B"]) == forwarded.split()


@pytest.mark.parametrize(
    ("start", "words", "environment", "told"),
    [
        (HYDRA, "mpiexec -n 2 ./a", {}, None),
        (HYDRA, "mpiexec -genvlist PATH,HOME -n 2 ./a", {}, "-genvlist PATH,HOME"),
        (HYDRA, "mpiexec -genvlist PATH,LD_PRELOAD -n 2 ./a", {}, None),
        (HYDRA, "mpiexec -genvnone -n 2 ./a", {}, "-genvnone"),
        (SLURM, "srun -n 2 ./a", {}, None),
        (SLURM, "srun --export=ALL,X=1 ./a", {}, None),
        (SLURM, "srun --export=X=1,ALL ./a", {"SLURM_EXPORT_ENV": "NONE"}, None),
        (SLURM, "srun --export=ALL,LD_PRELOAD=/x.so ./a", {}, "--export=ALL,LD_PRELOAD=/x.so"),
        (SLURM, "srun --export=NONE ./a", {}, "--export=NONE"),
        (SLURM, "srun --export PATH ./a", {}, "--export PATH"),
        (SLURM, "srun ./a", {"SLURM_EXPORT_ENV": "NONE"}, "SLURM_EXPORT_ENV=NONE"),
        (OPEN_MPI, "mpirun ./a", {"SLURM_EXPORT_ENV": "NONE"}, None),
        (None, "./a", {"SLURM_EXPORT_ENV": "NONE"}, None),
    ],
)
def test_what_keeps_the_preload_from_ranks_is_found(start, words, environment, told):
    assert launcher.overriding(words.split(), start, "LD_PRELOAD", environment) == told


def test_reports_of_a_launcher_go_where_other_nodes_see_them(millrace, world):
    program = write_script(world / "work/app", '#!/bin/sh\n[ -d "$MILLRACE_STATS" ] && echo "$MILLRACE_STATS"\n')
    done = millrace("run", "--stats", "--", "mpirun.fakeompi", "-n", "2", program)
    assert done.stdout.startswith(str(world / "work" / ".millrace-run-"))
    assert not list((world / "work").glob(".millrace-run-*")), "nothing is left"


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
        (["run", "--sort-buffer", "96KiB", "true"], 2, "out of range"),
        (["run", "--strategy", "fast", "true"], 2, "allowed: auto, immediate, sort, journal"),
        (["run", "--durability", "tape", "true"], 2, "allowed: server, disk, node"),
        (["run", "--timeout", "1ms", "true"], 2, "allowed: 100ms to 86400s"),
        (["run", "--paths", "*.h5::*.nc", "true"], 2, "'*.h5::*.nc' has an empty pattern"),
        (["run", "--paths", "!", "true"], 2, "'!' has an empty pattern"),
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


def test_run_loads_nothing_that_only_other_commands_need(world):
    # What makes a start slow. How long it takes is for benchmarks to say.
    program = "import sys, millrace.cli\nprint(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = {"jinja2", "matplotlib", "mpi4py", "numpy", "pandas", "polars", "reframe", "yaml"}
    assert heavy & set(done.stdout.split()) == set()
