# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Whole sessions by ReFrame, with programs that measure nothing."""

import json
import os
import shutil
import sqlite3

import pytest
from millrace.tools.evaluate import session as sessions
from millrace.tools.evaluate.session import Session

ONLY = ("--only", "ior.4KiB.posix", "--only", "btio.full.romio")


@pytest.fixture(autouse=True)
def _reframe():
    pytest.importorskip("reframe")


def statuses(world):
    return {r["case"]["name"]: r["status"] for r in Session.open(world.session).results()}


def test_a_quick_session_passes_and_says_what_it_left_out(finished):
    assert finished.done.returncode == 0, finished.done.stderr
    found = statuses(finished)
    assert found["limit.memory"] == found["ior.4KiB.millrace.mpich"] == found["fpp.c.async.mpich"] == "passed"
    hpcc = Session.open(finished.session).result("hpcc")
    assert hpcc["status"] == "skipped" and "no launcher of openmpi" in hpcc["reason"]
    assert "no device" in Session.open(finished.session).result("transfer")["reason"]
    assert "failed" not in found.values()


def test_metadata_has_a_limit_of_its_own_and_strategies_are_settings_of_millrace(finished):
    found = Session.open(finished.session)
    assert found.figures()["limit.metadata:file_create"]["value"] == 5000
    command = found.result("strategy.journal.8MiB.mpich")["command"]
    assert "millrace run --strategy journal --sort-buffer 8388608 --" in command


def test_results_are_held_against_the_limits_of_their_session(finished):
    figures = Session.open(finished.session).figures()
    assert figures["ior.4KiB.posix.mpich:write"]["percent_of_limit"] == pytest.approx(10)
    assert figures["ior.4KiB.millrace.mpich:write"]["percent_of_limit"] == pytest.approx(80)
    assert figures["fpp.c.normal.mpich:write_1m"]["percent_of_limit"] == pytest.approx(80)


def test_reframe_keeps_the_session_in_its_database_on_disk(finished):
    with sqlite3.connect(finished.session / "reframe" / "results.db") as database:
        assert database.execute("select count(*) from testcases").fetchone()[0] >= len(statuses(finished)) - 2


@pytest.mark.long
def test_one_failing_program_stops_none_of_the_others_and_what_failed_runs_again(world):
    world.order(ior="fail", memory="unverified", btio="garbage")
    done = world.evaluate(*ONLY)
    assert done.returncode == 1
    found = statuses(world)
    assert {found[n] for n in ("ior.4KiB.posix.mpich", "limit.memory", "btio.full.romio.mpich")} == {"failed"}
    assert found["limit.storage"] == found["limit.link"] == "passed"
    assert "the disk is on fire" in done.stderr and "the data is not verified" in done.stderr
    assert "the disk is on fire" in (world.session / "report.html").read_text()
    world.forget()
    world.order()
    assert world.evaluate(*ONLY).returncode == 0
    assert sorted(world.started()) == ["btio", "ior", "memory", "memory"]


@pytest.mark.long
def test_a_killed_session_goes_on_without_running_again_what_passed(world):
    world.order(btio="hang")
    world.killed_while("btio", *ONLY)
    assert statuses(world)["ior.4KiB.posix.mpich"] == "passed"
    world.forget()
    world.order()
    done = world.evaluate(*ONLY)
    assert done.returncode == 0, done.stderr
    assert world.started() == ["btio"]
    assert "going on with the session" in done.stderr


@pytest.mark.long
def test_a_damaged_database_and_a_damaged_result_cost_a_message_and_a_run(finished, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(finished.session, copy)
    (copy / "reframe" / "results.db").write_bytes(b"not a database" * 500)
    Session.open(copy).path_of("limit.flops").write_text("{ half of it")
    finished.forget()
    done = finished.run("evaluate", "-o", copy)
    assert done.returncode == 0, done.stderr
    assert "results.db is damaged" in done.stderr and "limit.flops runs again" in done.stderr
    assert [name for name in finished.started() if name != "transfer"] == ["flops"]
    assert (copy / "reframe" / "results.damaged.db").exists()


@pytest.mark.long
def test_where_ranks_are_put_is_the_launchers_business(world):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor: ranks cannot be put anywhere else")
    done = world.evaluate("--profile", "full", "--only", "mapping.packed.millrace")
    assert done.returncode == 0, done.stderr
    result = Session.open(world.session).result("mapping.packed.millrace.mpich")
    assert "-bind-to core -map-by core" in result["command"] and "millrace run" in result["command"]


@pytest.mark.long
def test_without_any_mpi_the_rest_of_the_report_is_made(world):
    (world.tools / "mpiexec.hydra").unlink()
    done = world.evaluate("--only", "ior.4KiB.posix")
    assert done.returncode == 0, done.stderr
    assert statuses(world)["limit.flops"] == "passed"
    reason = Session.open(world.session).result("ior.4KiB.posix.mpich")["reason"]
    assert "no launcher of mpich" in reason and "install it or load its module" in reason
    assert reason.split(":")[0] in (world.session / "report.html").read_text()


def test_another_profile_in_the_same_folder_is_refused(finished):
    done = finished.evaluate("--profile", "full")
    assert done.returncode == 2
    assert "holds a session of profile quick, not full" in done.stderr


def test_a_damaged_session_file_is_named(world):
    world.session.mkdir()
    (world.session / "session.json").write_text('{"schema": ')
    done = world.evaluate()
    assert done.returncode == 2
    assert "session.json is damaged" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--profile", "huge"), "profile 'huge' is unknown: use one of quick, full, paper"),
        (("--only", "nothing-like-it"), "no case has nothing-like-it in its name"),
        (("--mpi", "lam"), "MPI 'lam' is unknown"),
        (("--format", "pdf"), "format 'pdf' is unknown"),
        (("--machine", "absent.yaml"), "absent.yaml: No such file"),
        (("--report-only",), "holds no session"),
        (("--target", "/proc/nowhere"), "/proc/nowhere"),
    ],
)
def test_bad_use_is_refused_with_a_reason(world, words, expected):
    done = world.evaluate(*words)
    assert done.returncode == 2
    assert expected in done.stderr and "Traceback" not in done.stderr
    assert world.started() == []


def test_exports_hold_every_figure(finished):
    document = json.loads((finished.session / "evaluation.json").read_text())
    assert document["schema"] == "millrace.evaluate.export/1"
    polars = pytest.importorskip("polars")
    assert finished.evaluate("--report-only", "-f", "parquet").returncode == 0
    table = polars.read_parquet(finished.session / "evaluation.parquet")
    assert table.height == sum(len(r.get("figures", [])) for r in document["results"])
    assert set(table["unit"]) >= {"MiB/s", "GB/s", "GFLOPS"}


def test_a_result_is_whole_or_not_there(tmp_path):
    path = tmp_path / "one.json"
    sessions.write_atomically(path, "old")
    sessions.write_atomically(path, "new")
    assert path.read_text() == "new" and list(tmp_path.iterdir()) == [path]
