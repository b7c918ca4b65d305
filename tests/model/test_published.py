# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What the papers published beside what the model says."""

import pytest
from millrace.tools.model import machine, published, shapes

A300 = ("a300-2", "a300-4", "a300-8")
# What the model is known not to have, listed in docs/results/model.md too.
MISSED_VALUES = {"figure 6b, IOR, t = 32 KiB, b = 4 MiB, s = 16: worst of journal"}
MISSED_SHAPES = {
    "6a: the buffer matters more to sort on Ethernet",
    "6b: the buffer matters more to sort on Ethernet",
    "9b: sort suffers from a buffer that overflows, below 256 MiB",
}


def missed(rows):
    return {row.what: f"{row.model:.4g} is {row.miss:+.1%} off {row.text}" for row in rows if not row.holds}


def test_every_best_case_of_the_sx_aurora_is_within_15_percent():
    rows = published.of_engines()
    assert len(rows) == 25 and sum(row.predicted for row in rows) == 12
    assert missed(rows) == {}


def test_every_shape_of_the_sx_aurora_holds():
    assert [shape for shape in shapes.of_engines() if not shape.holds] == []


def test_at_most_eight_numbers_are_fitted_for_the_three_sx_auroras_and_none_of_a300_8_alone():
    fitted = {parameter.name for name in A300 for parameter in machine.find(name).fitted}
    assert 0 < len(fitted) <= 8
    for name in fitted:
        assert len({machine.find(each)[name] for each in A300}) == 1
        assert "A300-8" not in machine.find("a300-8").parameters[name].note


def test_every_number_says_where_it_is_from():
    for name in machine.names():
        for parameter in machine.find(name).parameters.values():
            assert parameter.source.startswith(machine.SOURCES) or (parameter.fitted and parameter.note)


def test_oakleaf_fx_is_within_20_percent():
    assert missed(published.of_file_system()) == {}


def test_figures_5_and_9a_have_their_shapes():
    assert [shape for shape in shapes.of_ring(published.Curves(), ("5", "9a")) if not shape.holds] == []


def test_merging_reaches_bt_ios_published_rates():
    curves = published.Curves()
    for figure in ("8a", "8b"):
        row = next(v for v in published.document()["ring"]["values"] if v["figure"] == figure)
        rate = curves.at(published.Point(figure, "ethernet", "journal(M)", 256))
        assert rate == pytest.approx(row["low"], rel=0.2)


@pytest.mark.long
def test_every_value_and_shape_of_catwalk_but_those_that_are_known():
    curves = published.Curves()
    assert set(missed(published.of_ring(curves))) == MISSED_VALUES
    assert {shape.text for shape in shapes.of_ring(curves) if not shape.holds} == MISSED_SHAPES
