# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of machines: what is wrong is said."""

import json

import pytest
from millrace.tools.model import described, machine
from millrace.tools.model.errors import ModelError

GOOD = """schema: millrace.model/1
name: mine
kind: host
parameters:
  cores: {value: 2, source: "datasheet: mine"}
  copy_rate: {value: 5, unit: GB/s, source: "measured: here"}
  storage_rate: {value: 1000, unit: MB/s, fitted: true}
  call: {value: 2, unit: us, source: "measured: here"}
"""


def write(folder, text):
    path = folder / "mine.yaml"
    path.write_text(text)
    return path


def test_a_description_of_a_users_machine(tmp_path):
    mine = machine.find(str(write(tmp_path, GOOD)))
    assert (mine.name, mine["copy_rate"], mine["call"], [p.name for p in mine.fitted]) == (
        "mine",
        5e9,
        2000,
        ["storage_rate"],
    )


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("millrace.model/1", "millrace.model/9", "schema is 'millrace.model/9'"),
        ("kind: host", "kind: toaster", "kind is 'toaster'"),
        ("kind: host", "kind: ring", "needs nodes"),
        ('source: "datasheet: mine"', "note: none", "a source that begins with paper"),
        ('source: "datasheet: mine"', 'source: "hearsay"', "a source that begins with paper"),
        ("value: 5, unit: GB/s", "value: fast, unit: GB/s", "value must be a number"),
        ("value: 5, unit: GB/s", "value: -5, unit: GB/s", "not negative"),
        ("value: 5, unit: GB/s", "value: 0, unit: GB/s", "copy_rate must be more than 0"),
        ("value: 5, unit: GB/s", "value: 5, unit: furlongs", "unit 'furlongs'"),
        ("value: 5, unit: GB/s", "value: 5, unit: us", "should be GB/s"),
        ("value: 5, unit: GB/s", "value: 5, colour: red, unit: GB/s", "colour"),
        ("  cores:", "  kernels:", "needs cores"),
        ("fitted: true", "fitted: perhaps", "fitted must be true or false"),
        ("parameters:", "parameters: 3\nrest:", "rest: a description has no such entry"),
        ("name: mine", "name: [mine", "is not YAML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, before, after, said):
    assert before in GOOD
    with pytest.raises(ModelError, match="mine.yaml") as error:
        machine.find(str(write(tmp_path, GOOD.replace(before, after, 1))))
    assert said in str(error.value)


def test_a_machine_that_is_not_there():
    with pytest.raises(
        ModelError, match="use one of a300-2, a300-4, a300-8, cluster-10g, oakleaf-fx, t2k, virtual-cluster"
    ):
        machine.find("a300-16")
    with pytest.raises(ModelError, match="No such file"):
        machine.find("nowhere/x.yaml")


def test_what_was_measured_becomes_a_description(tmp_path, monkeypatch):
    from millrace.tools.evaluate import session

    document = {
        "schema": session.SCHEMA,
        "begun": "2026",
        "plan": [],
        "machine": {"processor": {"usable_processors": 4}},
    }
    (tmp_path / "session.json").write_text(json.dumps(document))
    with pytest.raises(ModelError, match="no limit.memory:copy"):
        described.text(tmp_path)
    figures = {"limit.memory:copy": {"value": 40}, "limit.storage:write": {"value": 1000}}
    monkeypatch.setattr(session.Session, "figures", lambda self: figures)
    mine = machine.load(write(tmp_path, described.text(tmp_path)))
    assert (mine["cores"], mine["copy_rate"], mine["storage_rate"]) == (4, 5e9, pytest.approx(1048.6e6))


def test_a_folder_without_a_session(tmp_path):
    with pytest.raises(ModelError, match="no session"):
        described.text(tmp_path)
