# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Virtual clusters: nodes with a network, a host name, mounts and processes of their own, on one machine.

Everything of a cluster is held by processes: a keeper (keeper.py), in whose network namespace the switch lies,
and one first process per node (node.py), which dies with the keeper. No interface, mount or named namespace ever
exists outside of them, so whatever kills the keeper removes the cluster; files are all that can stay behind.
"""
