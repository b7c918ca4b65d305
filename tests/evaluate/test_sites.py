# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`millrace compare --sites`: two machines side by side."""

import copy
import json

import pytest
from millrace.tools.evaluate import sites
from millrace.tools.evaluate.case import Case
from millrace.tools.evaluate.session import Session

MACHINE = {
    "hostname": "n1",
    "processor": {"model": "A processor", "usable_processors": 2},
    "memory": {"total": 8 << 30},
    "software": {"kernel": "6.1"},
    "storage": {"type": "ext4", "mount_point": "/data"},
}


def figure(name, value, unit="MiB/s", percent=None, lower=False):
    return {"name": name, "value": value, "unit": unit, "samples": [], "percent_of_limit": percent,
            "limit_value": None, "lower_is_better": lower}  # fmt: skip


def site(folder, hostname, found, limits=()):
    """A session of CASE -> [figure]."""
    machine = copy.deepcopy(MACHINE)
    machine["hostname"] = hostname
    cases = [Case(name, "io500", "ior", limit=name in limits) for name in found]
    session = Session.create(folder, {"machine": machine, "profile": "quick", "name": folder.name}, cases)
    for case in cases:
        session.store(case, "passed", figures=found[case.name], raw={})
    return folder


@pytest.fixture
def two(tmp_path):
    a = {"io500": [figure("score", 2.0, "IO500")], "limit.storage": [figure("write", 1000)],
         "link": [figure("latency", 1.0, "us", lower=True)], "only-a": [figure("write", 5)]}  # fmt: skip
    b = {"io500": [figure("score", 8.0, "IO500", 50.0)], "limit.storage": [figure("write", 500)],
         "link": [figure("latency", 4.0, "us", lower=True)]}  # fmt: skip
    limits = ("limit.storage",)
    return site(tmp_path / "here", "n1", a, limits), site(tmp_path / "there", "n2", b, limits)


def test_both_machines_and_all_figures_are_shown_limits_first(two, capsys):
    assert sites.run(*two, as_json=False) == 0
    out = capsys.readouterr().out
    for text in ("here", "there", "n1", "n2", "ext4 at /data", "8.0 GiB", "there / here"):
        assert text in out
    lines = [line.split() for line in out.splitlines() if "│" in line]
    cases = [words[1] for words in lines if len(words) > 1]
    assert cases.index("limit.storage") < cases.index("io500") < cases.index("only-a")
    assert "8 (50 %)" in out and "4.00" in out


def test_a_ratio_above_one_favours_the_second_and_nothing_is_judged(two, capsys):
    assert sites.run(*two, as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    ratios = {(row["case"], row["figure"]): row["ratio"] for row in document["figures"]}
    assert ratios == {
        ("limit.storage", "write"): 0.5,
        ("io500", "score"): 4.0,
        ("link", "latency"): 0.25,
        ("only-a", "write"): None,
    }
    assert [site["facts"]["machine"] for site in document["sites"]] == ["n1", "n2"]


def test_a_folder_without_a_session_is_refused(two, tmp_path, capsys):
    assert sites.run(two[0], tmp_path, as_json=False) == 2
    assert "holds no session" in capsys.readouterr().err
