# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""IO500 and elbencho: their output, their place in the plan, and a session with programs that print what they print."""

import dataclasses
import sys
from pathlib import Path

import pytest
from conftest import World, write_script
from millrace.prefix import Prefix
from millrace.tools.evaluate import elbencho, external, figures, io500, plan
from millrace.tools.evaluate.case import Case
from millrace.tools.evaluate.errors import BadOutput
from millrace.tools.evaluate.session import Session
from millrace.tools.evaluate.tools import Tools

IO500 = """IO500 version here (standard)
ERROR INVALID (src/phase_dbg.c:15) stonewall-time 1s != 300s
[RESULT]       ior-easy-write        0.205632 GiB/s : time 0.432 seconds [INVALID]
[RESULT]    mdtest-easy-write       13.698594 kIOPS : time 1.040 seconds [INVALID]
[      ]            timestamp        0.000000 kIOPS : time 0.000 seconds
[RESULT]       ior-hard-write        0.461425 GiB/s : time 0.112 seconds [INVALID]
[RESULT]    mdtest-hard-write        7.274863 kIOPS : time 1.368 seconds [INVALID]
[RESULT]                 find        8.563805 kIOPS : time 0.106 seconds
[RESULT]        ior-easy-read        0.311600 GiB/s : time 0.565 seconds
[RESULT]     mdtest-easy-stat       14.038571 kIOPS : time 1.422 seconds
[RESULT]        ior-hard-read        0.399323 GiB/s : time 0.482 seconds
[RESULT]     mdtest-hard-stat       15.629830 kIOPS : time 1.417 seconds
[RESULT]   mdtest-easy-delete       12.318707 kIOPS : time 1.494 seconds
[RESULT]     mdtest-hard-read       16.583029 kIOPS : time 1.443 seconds
[RESULT]   mdtest-hard-delete        1.029325 kIOPS : time 1.816 seconds
[      ]  ior-rnd4K-easy-read        3.067096 GiB/s : time 1.083 seconds
[SCORE ] Bandwidth 0.329631 GiB/s : IOPS 8.900272 kiops : TOTAL 1.712836 [INVALID]
"""
# One file of 8 MiB by 2 threads, and 50 empty files of each: CSV files that elbencho 3.1-10 wrote.
HERE = Path(__file__).parent
ELBENCHO, ELBENCHO_METADATA = (
    (HERE / f"elbencho-{name}.csv").read_text(encoding="utf-8") for name in ("large", "metadata")
)


# Output.


def test_io500s_lines_become_figures_beside_the_limits_of_the_session():
    document = io500.parse(IO500)
    assert document["score"]["valid"] is False
    found = {f.name: f for f in figures.read(Case("io500", "io500", "io500"), document)}
    easy = found["ior-easy-write"]
    assert (easy.unit, easy.limit) == ("MiB/s", figures.STORAGE)
    assert easy.value == pytest.approx(document["results"]["ior-easy-write"]["value"] * 1024)
    stat = found["mdtest-easy-stat"]
    assert (stat.unit, stat.limit) == ("operations/s", "limit.metadata:file_stat")
    assert found["score"].value == document["score"]["total"] > 0
    assert found["ior-easy-read"].limit == "", "no limit of reads is measured"
    assert "timestamp" not in found, "a phase without a result"
    assert (
        sum(f.unit == "MiB/s" for f in found.values()) == 6
    ), "five bandwidths, one of them without a score, and the mean"


def test_output_of_an_io500_that_ended_early_is_refused():
    with pytest.raises(BadOutput, match="ended early"):
        io500.parse(IO500[: IO500.index("[SCORE ]")])


def test_elbenchos_rows_become_figures_and_only_the_rate_with_sync_has_a_limit():
    document = elbencho.parse(ELBENCHO)
    found = {f.name: f for f in figures.read(Case("e", "elbencho", "elbencho", pattern="large"), document)}
    assert set(found) == {"write", "write_and_sync", "read"}
    assert found["write_and_sync"].limit == figures.STORAGE and found["write"].limit == ""
    assert found["write_and_sync"].value == pytest.approx(
        1000 * 8 / (4 + 7)
    ), "the sync after the write, not the others"
    assert found["write_and_sync"].value < found["write"].value
    document = elbencho.parse(ELBENCHO_METADATA)
    found = {f.name: f for f in figures.read(Case("e", "elbencho", "elbencho", pattern="metadata"), document)}
    assert {f.limit for f in found.values()} == {
        "limit.metadata:file_create",
        "limit.metadata:file_stat",
        "limit.metadata:file_remove",
    }


def test_an_empty_csv_file_is_refused():
    with pytest.raises(BadOutput, match="ended early"):
        elbencho.parse(ELBENCHO.splitlines()[0])


def test_io500s_configuration_bounds_time_and_bytes(tmp_path):
    more = {"folder": "/data", "bytes": 64 << 20, "ranks": 4, "items": 500, "seconds": 1, "hard_api": "MPIIO"}
    io500.prepare(tmp_path, more)
    text = (tmp_path / io500.INPUT).read_text()
    for line in ("datadir = /data/io500", "stonewall-time = 1", "blockSize = 16m", "n = 500", "API = MPIIO"):
        assert line in text.splitlines()
    segments = next(int(line.split("=")[1]) for line in text.splitlines() if line.startswith("segmentCount"))
    assert 0.99 < segments * io500.HARD_BYTES * 4 / (64 << 20) <= 1


# Plans.


@pytest.fixture
def there(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    return Tools(Prefix(tmp_path), tmp_path, 2, 8 << 30, 100 << 30)


def standard(tools, profile="quick"):
    found = plan.cases(plan.fit(plan.PROFILES[profile], tools), tools, ["mpich"])
    return {case.name: case for case in found if case.program in ("io500", "elbencho")}


def test_each_program_that_is_not_installed_is_one_row_that_says_how_to_get_it(there):
    found = standard(there, "full")
    assert set(found) == {"io500", "elbencho.large"}
    assert all("is not on PATH" in case.missing and "https://github.com/" in case.missing for case in found.values())


def test_profiles_run_more_of_io500_and_longer(there, tmp_path):
    for name in ("io500", "elbencho", "mpiexec.hydra"):
        write_script(tmp_path / name, "#!/bin/sh\n")
    quick, full, paper = (standard(there, name) for name in ("quick", "full", "paper"))
    assert "io500.millrace" not in quick and full["io500.millrace"].millrace == "mpi"
    assert [p["io500"].more["seconds"] for p in (quick, full, paper)] == [1, 10, 300]
    assert quick["io500"].mpi == "mpich", "a script does not tell its MPI"
    assert {"elbencho.large", "elbencho.small", "elbencho.metadata"} <= set(quick)
    small = standard(dataclasses.replace(there, disk_bytes=4 << 20))
    assert "too little disk" in small["io500"].missing


def test_the_mpi_of_a_program_is_read_from_its_libraries():
    assert external.mpi_of(sys.executable) == "" and external.mpi_of("/nowhere") == ""


# Sessions.


FAKE_IO500 = f"""#!/bin/sh
grep -q "stonewall-time = 1" "$1" || exit 3
mkdir io500-results
cat > io500-results/result_summary.txt <<'END'
{IO500}
END
"""
FAKE_ELBENCHO = f"""#!/bin/sh
for word in "$@"; do last=$word; done
case "$*" in
*--deldirs*) cat > elbencho.csv <<'END'
{ELBENCHO_METADATA}
END
;;
*--rand*) echo "ERROR: no room on $last" ; exit 1 ;;
*) cat > elbencho.csv <<'END'
{ELBENCHO}
END
;;
esac
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    pytest.importorskip("reframe")
    world = World(tmp_path_factory.mktemp("standard"))
    write_script(world.tools / "io500", FAKE_IO500)
    write_script(world.tools / "elbencho", FAKE_ELBENCHO)
    (world.folder / "system/grep").symlink_to("/bin/grep")
    world.done = world.evaluate("-f", "html", "-f", "md", "--only", "io500", "--only", "elbencho")
    return world


def test_a_failing_program_costs_its_own_case_and_says_why(session):
    assert session.done.returncode == 1, session.done.stderr
    found = {r["case"]["name"]: r for r in Session.open(session.session).results()}
    failed = [name for name, result in found.items() if result["status"] == "failed"]
    assert failed == ["elbencho.small"]
    assert "exit status 1: ERROR: no room on" in found["elbencho.small"]["reason"]
    assert found["io500"]["status"] == found["elbencho.metadata"]["status"] == "passed"


def test_the_report_has_the_score_and_the_share_of_the_limit(session):
    figures_of = Session.open(session.session).figures()
    easy = figures_of["io500:ior-easy-write"]
    assert easy["percent_of_limit"] == pytest.approx(100 * easy["value"] / figures_of["limit.storage:write"]["value"])
    page, text = ((session.session / name).read_text() for name in ("report.html", "report.md"))
    assert "not valid for the list" in page and "ior-easy-write" in page
    assert "## IO500" in text and "## elbencho" in text and "| io500 | score |" in text
