# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Files that all nodes read: which station is busy, and what follows."""

import pytest
from millrace.tools.model import machine, network, reading
from millrace.tools.model.errors import ModelError
from millrace.units import KIB, MIB

GIB = 1 << 30


def cluster():
    return machine.find("cluster-10g")


def crossing(nodes, piece, sharers, unit, blocks=64):
    """The units of the file that all nodes read, found by going through every piece."""
    stride, units = piece * sharers, set()
    for node in range(nodes):
        part, place = node // sharers * blocks * stride, node % sharers * piece
        for block in range(blocks):
            begin = part + block * stride + place
            units.update((node, at) for at in range(begin // unit, (begin + piece - 1) // unit + 1))
    return len(units) * unit / (nodes * blocks * piece)


@pytest.mark.parametrize("unit", [reading.PAGE, reading.READ_AHEAD])
@pytest.mark.parametrize(("piece", "sharers"), [(MIB, 4), (4 * KIB, 4), (256, 16), (256, 4), (64 * KIB, 4)])
def test_a_node_reads_the_units_that_hold_its_pieces(piece, sharers, unit):
    blocks = max(64, unit * 4 // (piece * sharers))
    question = reading.Question(8 if sharers <= 8 else 16, GIB, piece, sharers)
    assert reading.fetched(question, unit) == pytest.approx(crossing(question.nodes, piece, sharers, unit, blocks))


def test_the_measured_case_lies_where_the_model_says():
    """Four nodes, 1 Gb/s, GlusterFS with its one brick on node 0, 4 KiB of 16 KiB (measured while reading).

    The library reached 65 MiB/s and the agents 145. The kernel reads ahead over some of the holes, so the library is
    between pages alone and read-ahead over every hole.
    """
    of = machine.find("virtual-cluster")
    question = reading.Question(4, 64 * MIB, 4 * KIB, 4, on_node=True)
    most, least = (
        reading.rate(question, reading.stock(of, question, unit)) / MIB for unit in (reading.PAGE, reading.READ_AHEAD)
    )
    assert least == pytest.approx(38) and most == pytest.approx(152) and least < 65 < most
    busy = reading.agents(of, question)
    assert reading.busiest(busy) == "link out"
    assert 145 / 1.15 < reading.rate(question, busy) / MIB < 145 * 1.15


def test_through_agents_no_byte_leaves_the_storage_twice():
    for piece, sharers in ((4 * KIB, 4), (256, 16)):
        question = reading.Question(64, GIB, piece, sharers, servers=16)
        alone = reading.stock(cluster(), question, reading.READ_AHEAD)["storage"]
        assert alone == pytest.approx(sharers * reading.agents(cluster(), question)["storage"])


def test_large_pieces_gain_nothing_from_agents_where_the_storage_has_many_links():
    question = reading.Question(256, GIB, MIB, 4, servers=16, storage_links=256)
    alone = reading.rate(question, reading.stock(cluster(), question, reading.READ_AHEAD))
    assert reading.rate(question, reading.agents(cluster(), question)) < alone / 10


@pytest.mark.parametrize("topology", network.TOPOLOGIES)
def test_bytes_go_back_over_the_links_that_records_take(topology):
    question = reading.Question(16, GIB, 4 * KIB, 4, servers=4, topology=topology, storage_links=16)
    loads = list(network.loads(topology, 16, 4))
    out_s = max(load.into for load in loads) * GIB / cluster()["link_rate"]
    assert reading.agents(cluster(), question)["link out"] == pytest.approx(out_s)


@pytest.mark.parametrize(
    "wrong", [{"piece": 0}, {"sharers": 5}, {"storage_links": 0}, {"servers": 2, "on_node": True}, {"servers": 5}]
)
def test_what_cannot_be_asked(wrong):
    question = reading.Question(**({"nodes": 4, "node_bytes": GIB, "piece": KIB, "sharers": 4} | wrong))
    with pytest.raises(ModelError):
        reading.agents(cluster(), question)
