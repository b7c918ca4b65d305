# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The SX-Aurora's published figures as data, and this machine's drawings beside what was published."""

import json
import math
from pathlib import Path

import pytest
from millrace.tools.evaluate import references
from millrace.tools.evaluate.case import Case
from millrace.tools.evaluate.report import beside, markdown, page, papers, sections
from millrace.tools.evaluate.session import Session
from test_report import MACHINE

ROOT = Path(__file__).resolve().parents[2]
LIMIT = {"limit.flops": ("compute", "flops", [("peak", 100)]), "limit.memory": ("memory", "memory", [("triad", 30)])}


def published(name):
    return next(m for m in references.load_all() if m.name == name)


def value(machine, figure):
    return machine.figure(figure).value


@pytest.mark.parametrize(("name", "engines"), [("A300-2", 2), ("A300-4", 4), ("A300-8", 8)])
def test_links_and_ranks_of_the_sx_aurora_recompute(name, engines):
    machine = published(name)
    # PCIe gen 3: 8 GT/s on 16 lanes, 128 bits of 130 are data.
    assert math.floor(8 * 16 / 8 * 128 / 130 * 100) / 100 == value(machine, "link_theory")
    assert value(machine, "engines") == engines and value(machine, "ranks") == 8 * engines


def test_what_is_said_of_the_sx_auroras_ratios_follows_from_the_figures():
    small, middle, large = published("A300-2"), published("A300-4"), published("A300-8")
    for action in ("read", "write"):
        ratio = value(small, f"fpp_c_{action}_accelerated") / value(small, f"fpp_c_{action}_normal")
        assert ratio == value(small, "accelerated_by_normal")
    assert value(small, "fpp_c_read_accelerated") == 2 * value(small, "one_engine_accelerated")  # both links
    links = value(middle, "engines") * value(middle, "link_sustained")
    assert 20 < value(middle, "fpp_c_write_accelerated") < value(middle, "fpp_c_read_accelerated") < links
    assert value(large, "one_switch_16_ranks") == value(large, "one_switch_32_ranks")
    assert value(large, "two_engines_of_two_switches") == 2 * value(large, "two_engines_of_one_switch")
    assert value(large, "fpp_c_read_accelerated") < 2 * value(large, "link_theory")  # one link for each switch


def test_the_figures_are_those_that_bench_device_draws():
    drawn = json.loads((ROOT / "bench/device/published.json").read_text())["fpp"]
    assert len(drawn) == 16
    for row in drawn:
        name = f"fpp_{row['language']}_{row['direction']}_{row['method']}"
        assert value(published(row["configuration"]), name) == row["gb_s"], row


def test_catwalks_gains_are_those_of_its_figures():
    machine = published("T2K")
    for kind in ("a", "b"):
        gain = value(machine, f"btio_simple_{kind}_catwalk") / value(machine, f"btio_simple_{kind}_pvfs2")
        assert int(gain) == value(machine, f"btio_simple_{kind}_gain")
        assert value(machine, f"btio_full_{kind}_catwalk") < value(machine, f"btio_full_{kind}_pvfs2")
    assert value(machine, "ior_4m_catwalk") == value(machine, "disk_write")


def figure(name, number, limit=None):
    percent = 100 * number / limit if limit else None
    return {"name": name, "value": number, "unit": "x", "samples": [number], "limit": "", "limit_value": limit,
            "percent_of_limit": percent, "lower_is_better": False}  # fmt: skip


def session(folder, rows):
    """Of (case, raw, figures)."""
    facts = {"machine": MACHINE, "profile": "full", "mpis": ["mpich"], "version": "1", "command": "c", "rule": "r"}
    rows = list(rows)
    for name, (section, program, found) in LIMIT.items():
        rows.append((Case(name, section, program, limit=True), {"sizes": []}, [figure(n, v) for n, v in found]))
    made = Session.create(folder, {**facts, "target": "/t", "scheduler": ""}, [row[0] for row in rows])
    for case, raw, figures in rows:
        made.store(case, "passed", figures=figures, raw=raw, command="run")
    return made


def solver(name, threads, ranks, gflops, **words):
    case = Case(name, "geofem", "geofem", (), ranks, "mpich", threads=threads, about="a cube", **words)
    return case, {}, [figure("gflops", gflops, 2.0 * gflops)]


@pytest.fixture
def solved(tmp_path):
    return session(
        tmp_path / "s",
        [
            solver("geofem", 1, 4, 8.0, method="flat MPI", pattern="CM-RCM"),
            solver("geofem.rcm", 1, 4, 6.0, method="flat MPI", pattern="RCM"),
            solver("geofem.1x1", 1, 1, 2.5, method="flat MPI", pattern="weak scaling"),
            solver("geofem.1x2", 1, 2, 4.5, method="flat MPI", pattern="weak scaling"),
            solver("geofem.2x1", 2, 1, 4.0, method="HB 2x1", pattern="weak scaling"),
            solver("geofem.4x1", 4, 1, 7.0, method="HB 4x1", pattern="weak scaling"),
            solver("geofem.2x2", 2, 2, 7.5, method="HB 2x2", pattern="weak scaling"),
        ],
    )


def drawings(made, name):
    (section,) = [s for s in sections.build(made, references.load_all()) if s.name == name]
    return dict(section.drawings)


def test_the_solver_is_drawn_beside_the_published_machines(solved):
    drawn = drawings(solved, "geofem")
    peak = next(text for caption, text in drawn.items() if caption.startswith("Percent of the peak"))
    # 8 of 100 GFLOPS; 30 GB/s by 100 GFLOPS; the order is that of bytes per FLOP.
    assert "this machine (0.300)" in peak and ">8.00 <small>%" in peak and "FX10 (0.274)" in peak
    names = ("SR11000/J2", "K (0.338)", "this machine", "FX10", "SR16000/M1", "T2K")
    assert [peak.index(name) for name in names] == sorted(peak.index(name) for name in names)


def test_orderings_models_and_weak_scaling_are_drawn(solved):
    drawn = drawings(solved, "geofem")
    orderings = next(text for caption, text in drawn.items() if caption.startswith("Orderings"))
    assert "CM-RCM" in orderings and "RCM" in orderings and "50&#8201;%" in orderings and "HB" not in orderings
    weak = next(text for caption, text in drawn.items() if caption.startswith("Weak scaling"))
    assert weak.count("<circle") == 5 and ">4</text>" in weak and "B</text>" not in weak
    models = next(text for caption, text in drawn.items() if caption.startswith("Flat MPI and hybrid"))
    assert all(name in models for name in ("flat MPI", "HB 4x1", "HB 2x2")) and "HB 2x1" not in models


def test_a_quick_session_has_one_case_of_the_solver_and_no_curves(tmp_path):
    made = session(tmp_path / "s", [solver("geofem", 1, 2, 3.0, method="flat MPI", pattern="CM-RCM")])
    assert len(drawings(made, "geofem")) == 2


def test_metadata_stands_beside_its_limit_and_the_published_machine(tmp_path):
    operations = ("dir_create", "dir_remove", "file_create", "file_remove", "file_stat")
    rows = [
        (Case("limit.metadata", "metadata", "metadata", limit=True, about="plain calls"), {},
         [figure(name, 1000) for name in operations]),
        (Case("mdtest.1.mpich", "metadata", "mdtest", (), 1, "mpich", about="MDTEST 1", pattern="1 rank"), {},
         [figure(name, 900, 1000) for name in operations]),
        (Case("mdtest.8.mpich", "metadata", "mdtest", (), 8, "mpich", about="MDTEST 8", pattern="8 ranks"), {},
         [figure(name, 2000, 1000) for name in operations]),
    ]  # fmt: skip
    drawn = drawings(session(tmp_path / "s", rows), "metadata")
    captions = list(drawn)
    assert captions[0] == "plain calls" and captions[-1] == "The other operations, 8 ranks"
    one, eight = drawn[captions[1]], drawn[captions[2]]
    assert "90&#8201;%" in one and "SR16000" not in one
    assert "SR16000/M1" in eight and "5\u202f892" in eight and "file stat" not in eight


def test_strategies_and_buffers_are_drawn(tmp_path):
    def case(strategy, buffer, rate, compared):
        more = {"sort_buffer": buffer, "file_bytes": 32 << 20, "compared": compared}
        name = f"strategy.{strategy}.{buffer}"
        made = Case(name, "strategy", "ior", (), 4, "mpich", "mpi", method=strategy, more=more)
        return made, {}, [figure("write", rate, 1000)]

    rows = [case("sort", 2 << 20, 300, False), case("sort", 8 << 20, 400, True), case("sort", 32 << 20, 500, False)]
    rows += [case("immediate", 8 << 20, 200, True), case("journal", 8 << 20, 350, True)]
    drawn = drawings(session(tmp_path / "s", rows), "strategy")
    (compared, curve) = drawn.values()
    assert compared.count('class="bar"') == 3 and curve.count("<circle") == 3
    assert "buffer 8.0 MiB, file 32.0 MiB" in next(iter(drawn))


def test_files_of_this_machine_stand_beside_the_sx_auroras(tmp_path):
    case = Case("fpp.c.normal.mpich", "file-per-process", "fpp", (), 4, "mpich", method="normal", pattern="c")
    sizes = [{"bytes_per_rank": 1 << 20, "write_mib_s": {"median": 1}, "read_mib_s": {"median": 1},
              "limit": {"write_mib_s": 1, "read_mib_s": 1}}]  # fmt: skip
    figures = [figure("write_1m", 100), figure("write_32m", 2000), figure("read_1m", 1), figure("read_32m", 4000)]
    made = session(tmp_path / "s", [(case, {"sizes": sizes}, figures)])
    table = next(t for t in beside.tables(made, references.load_all()) if t.title.startswith("A file per rank"))
    assert [m.name for m in table.machines] == ["A300-2", "A300-4", "A300-8"]
    rows = {row.title: (row.own, *row.others) for row in table.rows}
    assert rows["C, read, normal, GB/s"] == ("4.19", "5.00", "8.00", "9.00")
    assert rows["C, write, normal, GB/s"][0] == "2.10"
    for module, name in ((page, "r.html"), (markdown, "r.md")):
        module.write(tmp_path / name, made, references.load_all())
        assert "A300-8" in (tmp_path / name).read_text()


def test_a_drawing_is_left_out_where_its_figures_are_missing(tmp_path):
    made = session(tmp_path / "s", [solver("geofem", 1, 1, 3.0, method="flat MPI", pattern="CM-RCM")])
    made.path_of("limit.flops").unlink()
    assert papers._of_peak(made, made.results(), references.load_all()) == ""
