# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What a session says: figures, the weakest point, methods, published machines, comparisons."""

import copy
import dataclasses
import json

import pytest
from millrace.prefix import Prefix
from millrace.tools.evaluate import compare, figures, hpcc, plan, references
from millrace.tools.evaluate.case import Case
from millrace.tools.evaluate.errors import EvaluationError
from millrace.tools.evaluate.report import beside, charts, markdown, page, story
from millrace.tools.evaluate.session import Session
from millrace.tools.evaluate.tools import Tools

MACHINE = {
    "hostname": "n1",
    "processor": {"model": "A processor", "usable_processors": 2, "processors": 2},
    "memory": {"total": 8 << 30, "transparent_huge_pages": "madvise"},
    "software": {"kernel": "6.1", "blas": "/usr/lib/libblas.so.3.11"},
}


def make(folder, results, sizes=None):
    """A session of CASE -> (section, pattern, method, [(figure, value, percent, samples)]); sizes: bytes by CASE."""
    cases, rows = [], []
    for name, (section, pattern, method, found) in results.items():
        millrace = "mpi" if "Millrace" in method else ""
        case = Case(name, section, "ior", ranks=4, mpi="mpich", pattern=pattern, method=method, millrace=millrace)
        documents = [
            {
                "name": figure, "value": value, "unit": "MiB/s", "samples": list(samples), "limit": "",
                "limit_value": None if percent is None else value * 100 / percent, "percent_of_limit": percent,
                "lower_is_better": figure == "latency",
            }
            for figure, value, percent, samples in found
        ]  # fmt: skip
        cases.append(case)
        rows.append((case, documents))
    facts = {"machine": MACHINE, "profile": "quick", "mpis": ["mpich"], "version": "1", "command": "c", "rule": "r"}
    session = Session.create(folder, {**facts, "target": "/t", "scheduler": ""}, cases)
    raw_of = lambda case: {"bytes": sizes[case.name]} if sizes else {}  # noqa: E731
    for case, documents in rows:
        session.store(case, "passed", figures=documents, raw=raw_of(case), command="ior")
    return session


def ior(stock, millrace, percent):
    return {
        "a": ("shared-file", "4 KiB", "ROMIO independent", [("write", stock, percent, [stock] * 3)]),
        "b": ("shared-file", "4 KiB", "Millrace independent", [("write", millrace, 90, [millrace] * 3)]),
    }


def test_the_weakest_point_is_named_with_its_remedy(tmp_path):
    session = make(tmp_path, ior(100, 800, 10))
    text = story.weakest(session)
    assert "shared file in 4 KiB pieces by ROMIO independent reaches only 10 %" in text
    assert "Millrace independent writes the same at 800 MiB/s, 8.0 times as fast" in text


def test_where_nothing_is_weak_nothing_is_accused(tmp_path):
    assert "No weak point stands out" in story.weakest(make(tmp_path, ior(800, 800, 95)))


def test_a_reference_blas_is_found_to_be_the_cause(tmp_path):
    found = {**ior(700, 800, 80), "hpcc": ("compute", "", "", [("hpl", 3, 6.0, [])])}
    text = story.weakest(make(tmp_path, found))
    assert text.startswith("HPL reaches only 6.0 % of the measured peak") and "install OpenBLAS" in text


def test_the_best_method_of_each_pattern_is_advised_with_its_gain(tmp_path):
    ((pattern, best, gain),) = story.method_advice(make(tmp_path, ior(100, 800, 10)))
    assert (pattern, best, gain) == ("4 KiB", "Millrace independent, 800 MiB/s", "8.0 times ROMIO independent")


def test_no_other_method_is_advised_for_less_than_a_twentieth(tmp_path):
    for rate, expected in ((104, ("ROMIO independent, 100 MiB/s", "as good as it gets")), (106, None)):
        ((_, *found),) = story.method_advice(make(tmp_path / str(rate), ior(100, rate, 10)))
        assert found == list(expected or ("Millrace independent, 106 MiB/s", "1.1 times ROMIO independent"))


def test_a_card_is_low_beside_what_is_usual():
    assert story.Card("HPL", 1, "GFLOPS", 40, "of the peak").low
    assert not story.Card("FFT", 1, "GFLOPS", 1.8, "of the peak", usual=1.6).low
    assert story.Card("FFT", 1, "GFLOPS", 0.7, "of the peak", usual=1.6).low


def test_counts_have_four_digits():
    found = [story.number(x).replace("\u202f", " ") for x in (0.5, 12.34, 999.6, 1234.6, 167760.9, 1375212)]
    assert found == ["0.50", "12.3", "1000", "1 235", "167 800", "1 375 000"]


def test_what_is_above_its_limit_is_called_doubtful():
    assert story.Card("x", 1, "GB/s", 93.4, "of the memory's best").words() == "93 % of the memory's best"
    assert "caches, or a limit that other work disturbed" in story.Card("x", 1, "GB/s", 414, "of the peak").words()
    assert story.Card("x", 1, "us", None, "one way").words() == "one way"


def test_the_page_and_the_markdown_of_an_unfinished_session_are_made(tmp_path):
    session = make(tmp_path, ior(100, 800, 10))
    session.document["plan"].append(Case("later", "compute", "flops").document())
    machines = references.load_all()
    for module, name in ((page, "page.html"), (markdown, "page.md")):
        module.write(tmp_path / name, session, machines)
        text = (tmp_path / name).read_text()
        assert "Weakest point" in text and "1 not run yet" in text and "FX10" in text
    text = (tmp_path / "page.html").read_text()
    assert text.count('class="card') >= 10 and "http" not in text.replace("http-equiv", "")
    assert "<script" not in text and "prefers-color-scheme: dark" in text and "@media print" in text


def test_what_programs_said_cannot_break_the_page(tmp_path):
    session = make(tmp_path, ior(100, 800, 10))
    case = Case("bad", "compute", "flops")
    session.document["plan"].append(case.document())
    session.store(case, "failed", "<script>alert(1)</script>")
    page.write(tmp_path / "page.html", session, [])
    assert "<script" not in (tmp_path / "page.html").read_text()


def test_curves_and_bars_of_any_values_are_drawn():
    drawn = charts.lines({"one": [(8, 0.5), (1 << 20, 5000)], "none": [(8, 0)]}, "MiB/s", limit=[(8, 7)])
    assert "<svg" in drawn and "nan" not in drawn and "1 MiB" in drawn
    assert charts.lines({"none": []}, "MiB/s") == "" == charts.bars([], "MiB/s")
    assert "width:50.00%" in charts.bars([charts.Bar("a", 1), charts.Bar("b", 2)], "MiB/s")


# Published machines.


def test_percentages_of_the_published_tables_recompute_to_their_printed_digits():
    checked = 0
    for machine in references.load_all():
        for entry in machine.figures:
            bounds = entry.recomputed()
            if bounds:
                low, high = map(float, bounds)
                assert low <= float(entry.percent) <= high, (machine.name, entry)
                assert high - low <= 5, "the peak and the value are of different things"
                checked += 1
    assert checked == 18


@pytest.mark.parametrize("name", ["FX10", "SR16000/M1"])
def test_stream_percentages_are_exact(name):
    machine = next(m for m in references.load_all() if m.name == name)
    for loop in ("copy", "scale", "add", "triad"):
        entry = machine.figure(f"stream_{loop}")
        assert entry.recomputed() == (entry.percent, entry.percent)


def test_bytes_per_flop_of_the_geofem_table_recompute():
    machines = [m for m in references.load_all() if m.figure("byte_per_flop")]
    assert len(machines) == 5
    for machine in machines:
        balance = machine.figure("byte_per_flop")
        ratio = machine.figure("geofem_triad").value / machine.figure("peak").value
        assert abs(ratio - balance.value) <= 0.0006, machine.name


def test_a_users_own_machine_stands_beside(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(
        "schema: millrace.machine/1\nname: Mine\nsource: me\nfigures:\n"
        '  - {name: stream_triad, value: 12345.6, unit: MB/s, percent: "12.3", of: 100000}\n'
    )
    (table,) = beside.tables(make(tmp_path / "s", ior(1, 2, 3)), [references.load(path)])[:1]
    assert [m.name for m in table.machines] == ["Mine"]
    assert any(row.others == ("12.3 (12.3 %)",) for row in table.rows)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: [", "is not YAML"),
        ("- 1\n", "is not a mapping"),
        ("schema: millrace.machine/1\nname: a\n", "source, figures is missing"),
        ("schema: other/1\nname: a\nsource: b\nfigures: []\n", "schema is 'other/1'"),
        ("schema: millrace.machine/1\nname: a\nsource: b\nfigures: 3\n", "figures must be a list"),
        ("schema: millrace.machine/1\nname: a\nsource: b\nfigures: [3]\n", "each figure needs name, value and unit"),
        (
            "schema: millrace.machine/1\nname: a\nsource: b\nfigures: [{name: x, value: fast, unit: y}]\n",
            "value and of must be numbers",
        ),
        (
            "schema: millrace.machine/1\nname: a\nsource: b\nfigures: [{name: x, value: 1, unit: y, colour: red}]\n",
            "colour is not known",
        ),
    ],
)
def test_a_machine_that_is_not_well_formed_is_refused_with_a_reason(tmp_path, text, expected):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(EvaluationError, match=expected.replace("[", r"\[")):
        references.load(path)


# hpcc.


def test_the_input_of_hpcc_fits_the_memory_and_the_ranks():
    for ranks, grid in ((1, (1, 1)), (2, (1, 2)), (12, (3, 4)), (16, (4, 4)), (7, (1, 7))):
        problem = hpcc.problem(ranks, 64 << 20)
        assert (problem.p, problem.q) == grid and problem.n**2 * 8 <= 64 << 20 and problem.n % problem.nb == 0
        lines = problem.text().splitlines()
        assert lines[5].split()[0] == str(problem.n) and len(lines) == 36


OUTPUT = """||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0046 ...... PASSED
Begin of Summary section.
VersionMajor=1
CommWorldProcs=2
HPL_Tflops=0.05
StarSTREAM_Triad=5.5
StarDGEMM_Gflops=30.25
MPIFFT_Gflops=1.5
PTRANS_GBs=-1
Success=1
End of Summary section.
"""


def test_figures_of_hpcc_are_its_own():
    document = hpcc.parse(OUTPUT)
    assert document["verified"]
    found = {f.name: f.value for f in figures.read(Case("hpcc", "compute", "hpcc"), document)}
    assert found == {"hpl": 50, "stream_triad": 11, "dgemm": 60.5, "fft": 1.5}


@pytest.mark.parametrize("broken", [OUTPUT.replace("PASSED", "FAILED"), OUTPUT.replace("Success=1", "Success=0")])
def test_what_hpcc_does_not_vouch_for_is_not_verified(broken):
    assert not hpcc.parse(broken)["verified"]


def test_an_hpcc_that_was_cut_off_is_told():
    with pytest.raises(hpcc.BadOutput, match="ended early"):
        hpcc.parse(OUTPUT[:200])


# The other programs.


def test_figures_of_geofem_and_mdtest_bring_their_own_limits():
    solver = {"gflops": {"median": 3}, "iterations": 60, "limit": {"gflops": 4}}
    gflops, iterations = figures.read(Case("geofem", "compute", "geofem"), solver)
    assert gflops.document({})["percent_of_limit"] == 75 and iterations.lower_is_better
    row = {"operation": "file_create", "items": 100, "mean_per_s": 50, "limit_per_s": 200, "seconds": [2, 4]}
    (create,) = figures.read(Case("mdtest", "metadata", "mdtest"), {"runs": [{"operations": [row]}]})
    assert create.samples == (50, 25) and create.document({})["percent_of_limit"] == 25
    for limit, percent in ((100, 25), (500, 10)):  # of the session: the larger one counts
        assert create.document({"limit.metadata:file_create": {"value": limit}})["percent_of_limit"] == percent


# Plans.


def tools(tmp_path, memory=8 << 30, disk=100 << 30):
    return Tools(Prefix(tmp_path), tmp_path, 2, memory, disk)


@pytest.mark.parametrize("name", plan.PROFILES)
def test_sizes_of_every_profile_fit_the_machine(tmp_path, name):
    for memory, disk in ((1 << 30, 1 << 30), (8 << 30, 100 << 30), (1 << 40, 1 << 44)):
        there = tools(tmp_path, memory, disk)
        profile = plan.fit(plan.PROFILES[name], there)
        assert max(profile.array_bytes, profile.matrix_bytes) <= memory // 4
        assert max(profile.file_bytes, profile.limit_bytes) <= disk // 4
        assert len({case.name for case in plan.cases(profile, there, ["mpich", "openmpi"])}) > 40


@pytest.mark.parametrize(("name", "more"), [("quick", set()), ("full", {"mc", "rcm", "none", "1x1", "2x1"})])
def test_orderings_weak_scaling_and_mapping_are_for_full_profiles(tmp_path, name, more):
    (tmp_path / "bin" / "bench").mkdir(parents=True)
    (tmp_path / "bin" / "bench" / "geofem-mpich").touch()
    there = tools(tmp_path)
    found = plan.cases(plan.fit(plan.PROFILES[name], there), there, ["mpich"])
    assert {c.name.partition(".")[2] for c in found if c.section == "geofem"} == {""} | more
    assert {c.mapping for c in found if c.mapping} == ({"packed", "spread"} if more else set())
    hybrid = [c for c in found if c.section == "geofem" and c.threads > 1]
    assert (
        all(c.arguments[-2:] == ("--threads", "2") and c.ranks == 1 for c in hybrid) and len(hybrid) == len(more) // 5
    )


def test_every_way_to_use_all_processors_is_measured_once():
    assert plan.shapes(1) == [] and plan.shapes(2) == [(1, 1), (2, 1)]
    assert plan.shapes(6) == [(1, 1), (1, 2), (2, 1), (1, 4), (4, 1), (2, 3), (3, 2), (6, 1)]


def test_sort_buffers_reach_from_too_small_to_enough(tmp_path):
    there = tools(tmp_path)
    profile = plan.fit(plan.PROFILES["full"], there)
    found = [c for c in plan.cases(profile, there, ["mpich"]) if c.section == "strategy"]
    sizes = [int(c.settings[-1]) for c in found if c.method == "sort"]
    assert sizes == [profile.file_bytes // 16, profile.file_bytes // 4, profile.file_bytes]
    assert {c.method for c in found if c.more["compared"]} == {"immediate", "sort", "journal"}


def test_what_measures_memory_leaves_the_caches(tmp_path):
    there = dataclasses.replace(tools(tmp_path, 16 << 30), cache_bytes=240 << 20)
    slow = plan.fit(plan.PROFILES["quick"], there)
    assert slow.array_bytes == 320 << 20 and slow.matrix_bytes == 64 << 20
    fast = plan.fit(plan.PROFILES["quick"], dataclasses.replace(there, fast_blas=True))
    assert fast.matrix_bytes == 256 << 20
    small = plan.fit(plan.PROFILES["quick"], dataclasses.replace(there, fast_blas=True, memory_bytes=1 << 30))
    assert max(small.array_bytes, small.matrix_bytes) <= 256 << 20


def test_the_papers_own_sizes_are_kept_where_there_is_room(tmp_path):
    profile = plan.fit(plan.PROFILES["paper"], tools(tmp_path, 1 << 40, 1 << 44))
    assert profile.array_bytes == 80_000_512 * 8 and profile.matrix_bytes == 56_000**2 * 8


def test_too_little_disk_or_memory_is_told_case_by_case(tmp_path):
    there = tools(tmp_path, 1 << 20, 1 << 20)
    (tmp_path / "bin" / "bench").mkdir(parents=True)
    for name in ("memory", "limit"):
        (tmp_path / "bin" / "bench" / name).touch()
    found = {case.name: case.missing for case in plan.cases(plan.fit(plan.PROFILES["quick"], there), there, [])}
    assert "too little disk: 4" in found["limit.storage"] and found["limit.memory"] == ""


# Comparisons.


def changed(folder, session, factor, noise=0.0):
    other = copy.deepcopy(session.document)
    made = Session(folder, other)
    (folder / "results").mkdir(parents=True)
    made.save()
    for result in session.results():
        for figure in result["figures"]:
            figure["value"] *= factor
            figure["samples"] = [x * factor * (1 + noise * (-1) ** i) for i, x in enumerate(figure["samples"])]
        made.store(Case.load(result["case"]), "passed", figures=result["figures"], raw={})
    return made


@pytest.mark.parametrize(
    ("factor", "noise", "verdict", "status"),
    [(1.0, 0, "same", 0), (0.8, 0, "worse", 1), (1.3, 0, "better", 0), (0.97, 0, "same", 0), (0.9, 0.4, "same", 0)],
)
def test_only_differences_beyond_noise_and_tolerance_count(tmp_path, capsys, factor, noise, verdict, status):
    a = make(tmp_path / "a", {"a": ("shared-file", "4 KiB", "ROMIO", [("write", 100, 50, [99, 100, 101, 100, 100])])})
    changed(tmp_path / "b", a, factor, noise)
    found, _ = compare.compare(tmp_path / "a", tmp_path / "b", 0.05)
    assert [d.verdict for d in found] == [verdict]
    assert compare.run(tmp_path / "a", tmp_path / "b", 0.05, True, True) == status
    assert json.loads(capsys.readouterr().out)["differences"][0]["verdict"] == verdict


def test_of_latencies_the_smaller_is_the_better(tmp_path):
    a = make(tmp_path / "a", {"a": ("link", "", "", [("latency", 2, None, [2, 2, 2])])})
    changed(tmp_path / "b", a, 2)
    assert [d.verdict for d in compare.compare(tmp_path / "a", tmp_path / "b", 0.05)[0]] == ["worse"]


def test_two_samples_are_shown_and_never_judged(tmp_path):
    a = make(tmp_path / "a", {"a": ("link", "", "", [("write", 2, None, [2, 2])])})
    changed(tmp_path / "b", a, 0.1)
    assert compare.run(tmp_path / "a", tmp_path / "b", 0.05, False, False) == 0


def test_what_cannot_be_compared_is_refused_with_a_reason(tmp_path, capsys):
    make(tmp_path / "a", ior(1, 2, 3))
    make(tmp_path / "empty", {})
    (tmp_path / "no.json").write_text('{"schema": "other"}')
    for other, expected in (("empty", "no case of this session has passed"), ("no.json", "neither a session's folder")):
        assert compare.run(tmp_path / "a", tmp_path / other, 0.05, False, False) == 2
        assert expected in capsys.readouterr().err
