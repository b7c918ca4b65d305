# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Advice for described applications, from sessions whose figures are known."""

import json

import pytest
from millrace.tools.evaluate import advise
from millrace.tools.evaluate import application as applications
from millrace.tools.evaluate.errors import EvaluationError
from millrace.tools.evaluate.report import sections, story
from test_report import make

RATES = {  # MiB/s by method and pattern
    ("ROMIO independent", "independent"): {"1 KiB": 100, "4 KiB": 200, "1 MiB": 800},
    ("ROMIO collective", "collective"): {"1 KiB": 20, "4 KiB": 40, "1 MiB": 700},
    ("Millrace independent", "millrace"): {"1 KiB": 600, "4 KiB": 650, "1 MiB": 800},
    ("POSIX, one shared file", "posix"): {"1 KiB": 150, "4 KiB": 300, "1 MiB": 900},
}


@pytest.fixture
def session(tmp_path):
    found = {
        f"ior.{pattern.replace(' ', '')}.{short}.mpich": ("shared-file", pattern, method, [("write", rate, 50, [rate])])
        for (method, short), rates in RATES.items()
        for pattern, rate in rates.items()
    }
    found["ior.fpp.mpich"] = ("shared-file", "file per rank", "a file per rank", [("write", 950, 95, [950])])
    return make(tmp_path / "session", found)


def application(**words):
    base = {"ranks": 4, "checkpoint": "1GiB", "piece": "4KiB", "interval": "60s"}
    return applications.describe({**base, **words}, "test")


def order(session, app):
    return [p.method for p in advise.predict(session, app)]


@pytest.mark.parametrize("pattern", ["1 KiB", "4 KiB", "1 MiB"])
def test_at_a_measured_piece_order_and_times_are_the_measured_ones(session, pattern):
    found = advise.predict(session, application(piece=pattern.replace(" ", "")))
    rates = {method: by_pattern[pattern] for (method, _), by_pattern in RATES.items()} | {"a file per rank": 950}
    assert [p.rate_mib_s for p in found] == sorted(rates.values(), reverse=True)
    for one in found:
        assert one.seconds == pytest.approx(1024 / rates[one.method])
        assert one.share == pytest.approx(one.seconds / (one.seconds + 60))


def test_a_file_per_rank_is_measured_with_small_pieces_too(session, tmp_path):
    own = ("shared-file", "1 KiB", "a file per rank", [("write", 400, 40, [400])])
    found = {
        "ior.1KiB.own.mpich": own,
        "ior.fpp.mpich": (*own[:1], "file per rank", own[2], [("write", 950, 95, [950])]),
    }
    made = make(tmp_path / "own", found)
    (one,) = advise.predict(made, application(piece="32KiB"))
    assert (
        one.rate_mib_s == pytest.approx((400 * 950) ** 0.5) and one.change == "a file per rank instead of a shared one"
    )
    assert story.choices(made) == []


def test_more_ranks_cost_each_method_what_they_were_measured_to_cost(tmp_path):
    figures = [("write", 200, 40, [200])]
    found = {"ior.4KiB.collective.mpich": ("shared-file", "4 KiB", "ROMIO collective", figures)}
    found["ranks.4KiB.collective.mpich"] = ("ranks", "4 KiB", "ROMIO collective", [("write", 100, 20, [100])])
    made = make(tmp_path / "ranks", found)
    for ranks, rate in ((2, 200), (4, 200), (8, 100), (64, 100)):
        (one,) = advise.predict(made, application(ranks=ranks))
        assert one.rate_mib_s == pytest.approx(rate), ranks
    assert one.why == "200 MiB/s measured at 4.0 KiB; 64 ranks: times 0.50"
    assert [c.title for c in sections.build(made)][-1] == "Twice as many ranks"


def test_what_a_file_costs_whatever_its_size_is_told_from_the_rest(tmp_path):
    slow = ("shared-file", "32 KiB", "POSIX, one shared file", [("write", 320, 50, [320])])  # 100 ms
    fast = ("shared-file", "32 KiB", "ROMIO independent", [("write", 640, 50, [640])])  # 50 ms
    larger = ("size", "32 KiB", "ROMIO independent", [("write", 1024, 50, [1024])])  # 125 ms
    results = {"ior.32KiB.posix.mpich": slow, "ior.32KiB.independent.mpich": fast, "size.32KiB.mpich": larger}
    bytes_of = {name: (128 if name.startswith("size") else 32) << 20 for name in results}
    made = make(tmp_path / "both", results, bytes_of)
    assert advise.start_of_file(made) == pytest.approx(0.025)
    for amount, expected in (("32MiB", (0.05, 0.1)), ("64MiB", (0.075, 0.175)), ("8MiB", (0.03125, 0.04375))):
        found = advise.predict(made, application(piece="32KiB", checkpoint=amount))
        assert [p.seconds for p in found] == pytest.approx(list(expected))
    (note,) = [n for n in advise.caveats(made, application(piece="32KiB")) if "with any size" in n]
    assert "25 ms" in note

    del results["size.32KiB.mpich"]
    assert advise.start_of_file(make(tmp_path / "one", results, bytes_of)) == 0


def test_between_two_pieces_rates_lie_between_and_outside_the_nearest_counts(session):
    rate = {p.method: p.rate_mib_s for p in advise.predict(session, application(piece="2KiB"))}
    assert rate["ROMIO independent"] == pytest.approx((100 * 200) ** 0.5)
    for piece, expected in (("16", 100), ("1GiB", 800)):
        found = {p.method: p.rate_mib_s for p in advise.predict(session, application(piece=piece))}
        assert found["ROMIO independent"] == expected


def test_what_needs_no_change_of_the_program_is_recommended_first(session):
    text = advise.recommendation(advise.predict(session, application(calls="independent")))
    assert text.startswith("Use Millrace independent (`millrace run`, strategy auto): 1.58 s for each checkpoint")
    assert "With a file per rank instead of a shared one a file per rank would take 1.08 s" in text


def test_a_program_with_a_file_per_rank_keeps_it(session):
    text = advise.recommendation(advise.predict(session, application(layout="file-per-rank")))
    assert text.startswith("Use a file per rank")


def test_what_was_not_measured_is_said(session):
    notes = advise.caveats(session, application(ranks=512))
    assert notes == ["measured with 4 ranks, not 512: trust the order more than the times"]
    (note,) = advise.caveats(session, application(piece="8MiB"))
    assert note == "pieces of this size were not measured in a shared file; the advice uses those of 1.0 MiB"


def test_the_command_reads_yaml_and_says_why(session, tmp_path, capsys):
    path = tmp_path / "app.yaml"
    path.write_text("schema: millrace.application/1\nranks: 4\ncheckpoint: 1GiB\npiece: 4KiB\ninterval: 10min\n")
    assert advise.run(path, session.folder, True) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["methods"][1]["why"] == "650 MiB/s measured at 4.0 KiB"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ranks: 4", "a description begins with schema"),
        ("schema: [", "is not YAML"),
        ("schema: millrace.application/1\nranks: 4\n", "checkpoint, interval, piece is missing"),
        (
            "schema: millrace.application/1\nranks: 4\ncheckpoint: much\npiece: 1\ninterval: 1s\n",
            "'much' is not a size",
        ),
        (
            "schema: millrace.application/1\nranks: 0\ncheckpoint: 1\npiece: 1\ninterval: 1s\n",
            "must be above zero",
        ),
        (
            "schema: millrace.application/1\nranks: 1\ncheckpoint: 1\npiece: 1\ninterval: 1s\ncalls: odd\n",
            "calls one of",
        ),
    ],
)
def test_a_description_that_is_wrong_is_refused_with_a_reason(tmp_path, text, expected):
    path = tmp_path / "app.yaml"
    path.write_text(text)
    with pytest.raises(EvaluationError, match=expected):
        applications.load(path)
