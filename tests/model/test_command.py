# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`millrace model` as its user has it."""

import json

import pytest
from millrace.cli import app
from typer.testing import CliRunner


def model(*arguments):
    # In this process: an interpreter for each question would take longer than the answers.
    return CliRunner().invoke(app, ["model", *arguments])


def answers(*arguments):
    done = model(*arguments, "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    return {one["method"]: one for one in document["answers"]}, document


def test_engines_as_json():
    found, document = answers("a300-4", "--ranks", "32", "--direction", "read", "--interval", "60s")
    assert set(found) == {"normal", "offload", "accelerated"}
    assert 30 < found["accelerated"]["rate"] < 35
    assert 0 < found["accelerated"]["share_of_run"] < found["normal"]["share_of_run"] < 0.1
    assert document["parameters"]["pin_page"]["fitted"] is True


def test_mapping_decides_on_a300_8():
    question = ("a300-8", "-m", "accelerated", "-n", "16", "--mapping")
    apart, together = (answers(*question, mapping)[0]["accelerated"]["rate"] for mapping in ("3,4", "0,1"))
    assert apart > 1.8 * together


def test_a_second_server_helps_a_ring():
    question = ("t2k", "-m", "journal(M)", "-s", "4MiB", "--pattern", "16KiB,1MiB", "--servers")
    one, two = (answers(*question, servers)[0]["journal(M)"]["rate"] for servers in ("1", "2"))
    assert 1.5 * one < two < 2 * one


def test_topologies_and_servers_of_a_cluster():
    ways = ("--servers", "1,2", "--topology", "direct", "--topology", "ring")
    found, document = answers("virtual-cluster", *ways, "-s", "4MiB")
    assert list(found) == ["direct, 1 server", "direct, 2 servers", "ring, 1 server", "ring, 2 servers"]
    assert found["direct, 2 servers"]["rate"] > 1.5 * found["direct, 1 server"]["rate"]
    assert document["parameters"]["late"]["fitted"] is True


def test_reads_of_a_cluster_beside_the_library_alone():
    ways = ("--direction", "read", "--topology", "direct", "--servers", "1,4", "--pattern", "4KiB,16KiB")
    found, _ = answers("cluster-10g", *ways, "-s", "4MiB")
    assert list(found) == ["library, pages", "library, read-ahead", "direct, 1 server", "direct, 4 servers"]
    assert found["direct, 4 servers"]["rate"] > 3 * found["library, read-ahead"]["rate"]


def test_a_table_and_where_numbers_come_from():
    done = model("oakleaf-fx", "--nodes", "2", "--size", "1GiB")
    assert done.exit_code == 0 and "shared-file" in done.stdout
    assert "seek: 2.5 ms (fitted" in model("t2k", "--list").stdout
    assert "8 of 18 numbers are fitted" in model("--list").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name a machine"),
        (("a300-9",), "no machine is named a300-9"),
        (("a300-2", "-n", "17"), "17 ranks do not fit"),
        (("a300-2", "-n", "16", "--mapping", "1"), "16 ranks do not fit"),
        (("a300-2", "--mapping", "2"), "no engine 2"),
        (("a300-2", "--mapping", "left"), "a list of engines"),
        (("a300-2", "-m", "magic"), "use one of normal"),
        (("a300-2", "-s", "much"), "is not a size"),
        (("t2k", "--pattern", "simple-Z"), "simple-A"),
        (("t2k", "--pattern", "32KiB,33KiB"), "a block must be a multiple"),
        (("t2k", "--pattern", "full-A", "--nodes", "3"), "a square number"),
        (("t2k", "--servers", "0"), "1 to 256 file servers"),
        (("t2k", "--servers", "1,2"), "one number"),
        (("virtual-cluster", "--servers", "many"), "give numbers, such as 1,2,4"),
        (("virtual-cluster", "--topology", "star"), "use one of direct"),
        (("a300-2", "--interval", "soon"), "is not a time"),
        (("--from-session", "/nonexistent"), "no session"),
    ],
)
def test_what_cannot_be_asked(arguments, said):
    done = model(*arguments)
    assert done.exit_code == 2
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert said in done.output + getattr(done, "stderr", "")
