# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`srun --millrace`, `sbatch --millrace`, and the epilog, in a cluster with Slurm."""

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from conftest import BUILD, STORAGE, eventually
from millrace.tools.cluster import slurm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from victim import pattern  # noqa: E402

PLUGIN = BUILD / "lib/slurm/spank_millrace.so"
MPIS = [("mpich", []), ("ompi", ["--mpi=pmix"])]
PIECES = 2000
WHOLE = 2 * PIECES * 1024
pytestmark = [
    pytest.mark.skipif(bool(slurm.missing()), reason=f"{', '.join(slurm.missing())} not found"),
    pytest.mark.skipif(not PLUGIN.exists(), reason="the plugin is not built: slurm/spank.h was not found"),
]


@pytest.fixture
def site(slurm_site):
    """With the plugin of the build, whatever a test puts into its place."""
    stack = Path("/run/millrace-cluster") / slurm_site[0].name / "slurm/plugstack.conf"
    before = stack.read_text()
    yield slurm_site[0]
    stack.write_text(before)


@pytest.fixture
def folder(slurm_site):
    """Of one test, seen by all nodes."""
    return Path(tempfile.mkdtemp(dir=slurm_site[1]))


def program(mpi):
    path = BUILD / "bin/tests" / f"victim_{mpi}"
    if not path.exists():
        pytest.skip(f"no {mpi} here")
    return path


def reports(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def accelerated(path):
    """How many ranks wrote through the pipeline, by their own reports."""
    return sum(one["calls"] > 0 for one in reports(path) if one["kind"] == "client")


@pytest.mark.parametrize(("mpi", "options"), MPIS)
def test_srun_with_the_option_accelerates_and_without_it_does_not(site, folder, mpi, options):
    for name, more, expected in (("with", ["--millrace"], 2), ("without", [], 0)):
        data, stats = folder / f"data-{name}", folder / f"stats-{name}"
        words = ["env", f"MILLRACE_STATS={stats}", "MILLRACE_STRATEGY=sort", "srun", *options, *more, "-N2", "-n2"]
        done = site.run(0, *words, program(mpi), data, f"pieces={PIECES}", cwd="/")
        assert done.returncode == 0 and done.stderr == "", done.stderr
        assert data.read_bytes() == pattern(0, WHOLE)
        assert accelerated(stats) == expected, reports(stats)


def test_sbatch_with_the_option_accelerates_the_steps_and_not_the_script(site):
    # /local of node 0 is where the batch script runs: read from outside.
    show = "sh -c 'echo $0 $LD_PRELOAD $MILLRACE_JOB'"
    lines = ["#!/bin/sh", "#SBATCH -N 2 -n 2 --ntasks-per-node 1 -o /local/out"]
    lines += [show, f"srun {show.replace('$0', 'one')}", f"srun {show.replace('$0', 'two')}"]
    done = site.run(0, "env", "LD_PRELOAD=libm.so.6", "sbatch", "--millrace", "-W", input="\n".join(lines), cwd="/")
    assert done.returncode == 0, done.stderr
    lines = (STORAGE / site.name / "node0/local/out").read_text().splitlines()
    said = [line.split() for line in lines if not line.startswith("srun: ")]  # a busy node makes a step wait
    assert said[0] == ["sh", "libm.so.6"], said
    library = str(BUILD.resolve() / "lib/libmillrace.so")
    steps = {word: {tuple(line[1:]) for line in said[1:] if line[0] == word} for word in ("one", "two")}
    assert len(said) == 5 and len(steps["one"]) == len(steps["two"]) == 1, said
    keys = {step.pop()[1] for step in map(set, steps.values())}
    assert len(keys) == 2 and all(re.fullmatch(r"slurm-\d+\.[01]\.0", key) for key in keys), keys
    assert all(line[1] == f"{library}:libm.so.6" for line in said[1:]), said


def test_a_program_under_millrace_run_keeps_the_settings_of_that_command(site):
    show = ["sh", "-c", "echo $LD_PRELOAD $MILLRACE_JOB"]
    done = site.run(0, BUILD / "bin/millrace", "run", "--", "srun", "--millrace", "-n1", *show, cwd="/")
    library, key = done.stdout.split()
    assert library.count("libmillrace.so") == 1 and re.fullmatch("[0-9a-f]{32}", key), done.stdout


def test_plain_files_are_accelerated_where_the_job_asks_for_it(site):
    show = ["sh", "-c", "echo $LD_PRELOAD"]
    done = site.run(0, "env", "MILLRACE_POSIX=1", "srun", "--millrace", "-n1", *show, cwd="/")
    names = [Path(path).name for path in done.stdout.strip().split(":")]
    assert names[:2] == ["libmillrace.so", "libmillrace_posix.so"], done.stdout


def test_an_empty_environment_does_not_keep_millrace_out(site):
    show = ["/bin/sh", "-c", "echo $LD_PRELOAD"]
    done = site.run(0, "srun", "--export=NONE", "--millrace", "-n1", *show, cwd="/")
    assert Path(done.stdout.strip()).name == "libmillrace.so", done.stdout + done.stderr


def test_helpers_of_other_launchers_are_left_alone(site, folder):
    for name, expected in (("orted", False), ("hydra_pmi_proxy", False), ("app", True)):
        script = folder / name
        script.write_text('#!/bin/sh\necho "$LD_PRELOAD:"\n')
        script.chmod(0o755)
        done = site.run(0, "srun", "--millrace", "-n1", script, cwd="/")
        assert ("libmillrace.so:" in done.stdout) == expected, (name, done.stdout)


def test_a_node_without_the_library_runs_the_program_and_says_so(site, folder):
    # The plugin finds the rest of its prefix by where it lies.
    place = folder / "lib/slurm"
    place.mkdir(parents=True)
    shutil.copy(PLUGIN, place)
    (Path("/run/millrace-cluster") / site.name / "slurm/plugstack.conf").write_text(f"optional {place / PLUGIN.name}\n")
    done = site.run(0, "srun", "--millrace", "-n1", "sh", "-c", "echo well $LD_PRELOAD", cwd="/")
    assert done.returncode == 0 and done.stdout.startswith("well") and "libmillrace.so" not in done.stdout
    assert f"{folder}/lib/libmillrace.so cannot be preloaded on this node" in done.stderr, done.stderr


def test_a_step_fails_if_a_node_lacks_the_library_that_others_have(site, folder):
    place = folder / "lib/slurm"
    place.mkdir(parents=True)
    shutil.copy(PLUGIN, place)
    (folder / "lib/libmillrace.so").symlink_to("/local/libmillrace.so")  # of each node
    assert site.run(0, "cp", BUILD / "lib/libmillrace.so", "/local").returncode == 0
    stack = Path("/run/millrace-cluster") / site.name / "slurm/plugstack.conf"
    for word in ("optional", "required"):
        stack.write_text(f"{word} {place / PLUGIN.name}\n")
        done = site.run(0, "srun", "--millrace", "-N2", "-n2", "sh", "-c", "echo well; exit 0", cwd="/")
        assert done.returncode != 0, done.stdout
        assert "so the step fails; install Millrace on all nodes" in done.stderr, done.stderr
        assert site.run(0, "srun", "--millrace", "-N1", "-n1", "-wnode0", "true", cwd="/").returncode == 0


def journaled(site):
    """How many bytes the journals on node 0 hold."""
    said = site.run(0, BUILD / "bin/millrace", "recover", "--list").stdout
    return sum(map(int, re.findall(r"records, (\d+) bytes", said)))


def kill_job(site, folder, mpi, options, before_the_end):
    """A job whose agent is killed with bytes that are not in the file, and that is cancelled then; its journal."""
    data, out = folder / "data", folder / "out"
    # The last piece is never written: the job is killed before it.
    victim = [program(mpi), data, f"pieces={PIECES}", f"stop={PIECES - 1}"]
    words = [
        "env",
        "MILLRACE_STRATEGY=journal",
        "MILLRACE_WRITE_WITHIN=1h",
        "srun",
        "--millrace",
        *options,
        "-N1",
        "-n2",
    ]
    with out.open("w") as written, site.start(0, *words, *victim, stdout=written, cwd="/") as job:
        try:
            assert eventually(lambda: len(re.findall(r"at \d \d+", out.read_text())) == 2, 60), out.read_text()
            # Bytes that the agent has not taken yet would end with the ranks.
            assert eventually(lambda: journaled(site) == WHOLE - 2048, 30), journaled(site)
            assert site.run(0, "pkill", "-KILL", "millraced").returncode == 0
            (journal,) = (STORAGE / site.name / "node0/var-tmp").glob("millrace-*/*.journal")
            assert data.read_bytes() != pattern(0, WHOLE - 2048), "all is in the file: nothing is shown"
            before_the_end(data)
            (number,) = site.run(0, "squeue", "-h", "-o", "%A").stdout.split()
            assert site.run(0, "scancel", number).returncode == 0
            job.wait(60)
        finally:
            job.kill()
    assert eventually(lambda: site.run(0, "squeue", "-h").stdout == "", 60)  # after the epilog
    return journal


def expect_all_idle(site):
    states = []

    def idle():
        states[:] = site.run(0, "sinfo", "-h", "-N", "-o", "%t").stdout.split()
        return states == ["idle", "idle"]

    assert eventually(idle, 20), states


@pytest.mark.parametrize(("mpi", "options"), MPIS)
def test_the_epilog_recovers_what_a_killed_job_left(site, folder, mpi, options):
    journal = kill_job(site, folder, mpi, options, lambda data: None)
    assert not journal.exists()
    assert (folder / "data").read_bytes() == pattern(0, WHOLE - 2048)
    expect_all_idle(site)


def test_the_epilog_leaves_a_journal_without_its_file_and_the_node_stays_in_service(site, folder):
    journal = kill_job(site, folder, "mpich", [], lambda data: data.unlink())
    assert journal.exists() and not (folder / "data").exists()
    expect_all_idle(site)
