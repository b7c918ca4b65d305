# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's parts: figures of programs, verdicts, turns, progress, picture and the end of interrupted programs."""

import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree
from pathlib import Path

import pytest
from conftest import ROOT
from millrace.tools import session
from millrace.tools.cluster import lifecycle, state
from millrace.tools.demo import cases, main, nodes, picture, report, runner


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ('{"seconds": 2.0, "bytes": 10}', (2.0, 10)),
        ('warning\n{"bytes": 5, "write": {"repetitions": [{"seconds": 0.5, "io_s": 0.1}]}}\n', (0.5, 5)),
        ('{"bytes": 5, "repetitions": [{"io_s": 0.25, "total_s": 1.5}], "write": {}}', (1.5, 5)),
        (
            '{"bytes": 5, "write": {"repetitions": [{"seconds": 1}]}, "read": {"repetitions": [{"seconds": 2}]}}',
            (3, 10),
        ),
        ("no json", None),
        ("{broken", None),
        ('{"bytes": 1}', None),
    ],
)
def test_the_demo_reads_what_programs_print(output, expected):
    assert runner.measured(output) == expected


@pytest.mark.parametrize(
    ("ratios", "word"),
    [
        ([], ""),
        ([0.5], ""),
        ([1.1, 1.2, 1.3], "faster"),
        ([1.05, 1.2, 1.3], "same"),
        ([1.1, 1.2, 0.9], "same"),
        ([0.9, 0.8, 0.7], "slower"),
        ([0.93, 0.8, 0.7], "same"),
        ([0.99] * 5, "slower"),
        ([1.1] * 7 + [0.9] * 2, "same"),
        ([1.1] * 8 + [0.9], "faster"),
        ([0.9] * 8 + [1.1], "slower"),
    ],
)
def test_a_verdict_needs_pairs_that_agree(ratios, word):
    assert runner.verdict(ratios) == word


class Pretended:
    """A place where programs take no time."""

    title, stock = "4 ranks nowhere", "the library"

    def __init__(self, folder: Path, same: bool = True) -> None:
        self.folder, self.equal, self.ran = folder, same, []

    def file(self, side):
        return self.folder / side

    def launch(self, case, file):
        return ["sh", "-c", 'echo "{\\"seconds\\": 2, \\"bytes\\": 4}"']

    def enter(self, command):
        self.ran.append("millrace" if "run" in command else "stock")
        return command[command.index("--") + 1 :] if "--" in command else command

    def before(self):
        pass

    def environment(self, case, side):
        return dict(os.environ)

    def reports(self):
        return self.folder / "reports"

    def same(self):
        return self.equal

    def clear(self):
        pass


def pretend(tmp_path, place, monkeypatch, **options):
    chosen = [cases.Case(name, "", "mpich", 4, lambda file: [], "", pairs) for name, pairs in (("a", 1), ("b", 3))]
    monkeypatch.setattr(cases, "all_cases", lambda *_: chosen)
    monkeypatch.setattr(main, "Here", lambda *_: place)
    monkeypatch.setattr(nodes, "missing", lambda: "this is a test")
    demo = main.Demo(main.Options(tmp_path, **options), None, tmp_path)
    demo.run(None)
    return demo


def test_each_launch_has_a_line_and_sides_take_turns(tmp_path, monkeypatch, capsys):
    place = Pretended(tmp_path)
    demo = pretend(tmp_path, place, monkeypatch)
    lines = [line for line in capsys.readouterr().err.splitlines() if " of " in line]
    assert lines[0] == "1 of 8: a, stock, 0 s" and lines[3] == "4 of 8: b, Millrace, 0 s"
    assert [line.split()[0] for line in lines] == [str(n) for n in range(1, 9)]
    assert place.ran == ["stock", "millrace"] * 2 + ["millrace", "stock"] + ["stock", "millrace"]
    (first, second) = demo.document(None)["parts"][0]["results"]
    assert (len(first["ratios"]), len(second["ratios"]), second["verdict"], second["identical"]) == (1, 3, "same", True)


def test_no_run_begins_after_the_time(tmp_path, monkeypatch):
    place = Pretended(tmp_path)
    demo = pretend(tmp_path, place, monkeypatch, budget_s=-1)
    assert place.ran == [] and any("a, b" in note for note in demo.notes)


def test_files_that_differ_make_the_demo_fail(tmp_path, monkeypatch, capsys):
    demo = pretend(tmp_path, Pretended(tmp_path, same=False), monkeypatch)
    assert report.publish(demo.document(None), tmp_path, None) == 1
    assert "DIFFERENT" in capsys.readouterr().out
    demo = pretend(tmp_path, Pretended(tmp_path), monkeypatch)
    assert report.publish(demo.document(None), tmp_path, None) == 0
    told = capsys.readouterr().out
    assert "4 virtual nodes: skipped, this is a test" in told and "time of the stock MPI library" in told


def test_without_root_the_nodes_are_skipped_with_one_line(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "run this as root" in nodes.missing() and "\n" not in nodes.missing()


def test_nodes_that_do_not_start_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(cases, "all_cases", lambda *_: [])
    monkeypatch.setattr(nodes, "missing", lambda: "")
    monkeypatch.setattr(nodes, "output", lambda *_: (_ for _ in ()).throw(session.RunFailed("no veth")))
    monkeypatch.setattr(lifecycle, "down", lambda name: False)
    found = type("Prefix", (), {"root": str(tmp_path)})()
    demo = main.Demo(main.Options(tmp_path), found, tmp_path)
    demo.run(None)
    assert [part.skipped for part in demo.parts] == ["they do not start: no veth"]


def test_folders_that_nodes_have_for_themselves_are_shared(tmp_path):
    inside = tmp_path / "prefix/work"
    inside.mkdir(parents=True)
    found = type("Prefix", (), {"root": str(tmp_path / "prefix")})()
    shared = nodes._visible(found, inside)
    assert (str(tmp_path / "prefix") in shared) == str(tmp_path).startswith("/tmp")
    assert str(inside) not in shared and str(state.RUN) not in shared


def test_a_signal_during_a_call_in_a_node_ends_the_demo(tmp_path, monkeypatch):
    def run(*_):
        os.kill(os.getpid(), signal.SIGINT)
        return 0

    monkeypatch.setattr(nodes.client, "run", run)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            nodes.Nodes(None, tmp_path).call(0, ["true"])
    finally:
        signal.signal(signal.SIGINT, before)


def example(ratio=12.34):
    result = {"name": "4 nodes: a < b", "ratio": ratio, "route": "pipeline"}
    direct = {"name": "c", "ratio": 0.97, "route": "direct: large pieces"}
    left = {"name": "d", "ratio": None, "route": ""}
    parts = [{"title": "here", "results": [direct, left]}, {"title": "nodes", "results": [result]}]
    return {"parts": parts, "command": "millrace demo", "date": "2026-11-25T10:00:00", "machine": "2 cores"}


@pytest.mark.parametrize("ratio", [0.5, 1.0, 12.34, 150.0])
def test_the_picture_shows_each_ratio_and_has_colours_for_dark_pages(ratio):
    drawing = picture.draw(example(ratio))
    root = xml.etree.ElementTree.fromstring(drawing)
    texts = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "a < b" in texts and "0.97" in texts and "d" not in texts
    assert texts.index("nodes") < texts.index("here")
    assert "prefers-color-scheme: dark" in drawing
    bars = [one for one in root.iter("{http://www.w3.org/2000/svg}rect") if one.get("class") != "mr-page"]
    assert [bar.get("class") for bar in bars] == ["mr-ours", "mr-library"]
    assert all(float(bar.get("x")) >= 0 and float(bar.get("x")) + float(bar.get("width")) <= 760 for bar in bars)


def test_the_picture_is_an_svg_file(tmp_path, capsys):
    assert main.run(main.Options(tmp_path, picture=tmp_path / "a.png")) == 2
    assert ".svg" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_program_that_runs(tmp_path, number):
    mark = tmp_path / "pid"
    code = (
        "import signal\nfrom millrace.run import signals\nfrom millrace.tools import session\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"command = ['sh', '-c', 'echo $$ >{mark}; exec sleep 1000']\n"
        "with signals.ended_by_signals():\n session.output(command, 120, {})"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.DEVNULL) as child:
        deadline = time.monotonic() + 30
        while not (mark.exists() and mark.read_text().strip()) and time.monotonic() < deadline:
            time.sleep(0.02)
        child.send_signal(number)
        assert child.wait(30) != 0
    assert not Path(f"/proc/{mark.read_text().strip()}").exists()


def test_a_program_that_does_not_end_is_ended():
    begin = time.monotonic()
    with pytest.raises(session.RunFailed, match="no end within 0 s"):
        session.output(["sleep", "1000"], 0.2)
    assert time.monotonic() - begin < 20
