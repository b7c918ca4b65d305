# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Clusters with agents: who carries what, and what follows."""

import pytest
from millrace.tools.model import machine, network
from millrace.tools.model.errors import ModelError

GIB = 1 << 30


def passing(topology, nodes, servers):
    """What each node sends and receives, found by following every node's records on their way."""
    out, into = [0.0] * nodes, [0.0] * nodes
    for lane in range(servers):
        server = network.server_of(nodes, servers, lane)
        for start in range(nodes):
            at = start
            while at != server:
                then = network.next_node(topology, nodes, at, server)
                out[at] += 1 / servers
                into[then] += 1 / servers
                at = then
    return out, into


@pytest.mark.parametrize("topology", network.TOPOLOGIES)
@pytest.mark.parametrize(("nodes", "servers"), [(2, 1), (4, 2), (7, 3), (16, 4), (16, 16), (21, 1)])
def test_loads_are_what_following_every_record_gives(topology, nodes, servers):
    out, into = passing(topology, nodes, servers)
    found = list(network.loads(topology, nodes, servers))
    for node, load in enumerate(found):
        assert load.out == pytest.approx(out[node])
        assert load.into == pytest.approx(into[node])
    # Only nodes between two servers are looked at: the busiest is among them, or hardly less busy.
    assert max(load.into for load in found) >= 0.9 * max(into)


def ask(topology, nodes, servers=1):
    return network.ask(machine.find("cluster-10g"), network.Question(topology, servers, nodes, 1, GIB))


def test_a_ring_gains_at_most_twice_from_servers_and_direct_gains_from_each():
    assert ask("ring", 256, 1).seconds < 2.1 * ask("ring", 256, 64).seconds
    assert ask("direct", 256, 1).seconds > 50 * ask("direct", 256, 64).seconds


def test_a_tree_has_few_links_where_direct_has_one_of_each_node():
    assert (ask("tree", 1024).links, ask("direct", 1024).links, ask("ring", 1024).links) == (3, 1023, 2)
    assert ask("direct", 1024).memory > 100 * ask("tree", 1024).memory


@pytest.mark.parametrize(
    ("topology", "nodes", "servers", "said"),
    [("star", 4, 1, "use one of direct"), ("ring", 0, 1, "--nodes"), ("ring", 4, 5, "at most one per node")],
)
def test_what_is_no_cluster(topology, nodes, servers, said):
    with pytest.raises(ModelError, match=said):
        ask(topology, nodes, servers)
