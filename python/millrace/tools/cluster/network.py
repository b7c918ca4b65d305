# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The switch, its ports, and what holds packets back.

The switch is a bridge in the keeper's network namespace; a port of it is one end of a veth pair whose other end
is a node's eth0. Shaping is on both ends, for a veth pair shapes only what enters it.

    node0 [eth0 tbf] --- [port0 tbf] switch [port1 tbf] --- [tbf eth0] node1
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

from millrace.tools.cluster.state import ClusterError, Spec, address

_TIMEOUT_S = 30
_BURST_S = 0.002  # at the nominal rate; as long as timers may be late on a busy machine
_BURST_MIN_BYTES = 16 * 1024
_QUEUE_S = 0.02
_QUEUE_MIN_BYTES = 256 * 1024


def tools() -> list[str]:
    """The missing programs."""
    return [name for name in ("ip", "tc") if shutil.which(name) is None]


def _batch(tool: str, commands: Sequence[str]) -> None:
    done = subprocess.run(
        [tool, "-batch", "-"],
        input="".join(f"{command}\n" for command in commands),
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        said = " ".join(line for line in done.stderr.splitlines() if not line.startswith("Command failed"))
        raise ClusterError(f"{tool}: {said or done.returncode} ({'; '.join(commands)})", 1)


def has_netem() -> bool:
    """True if the kernel can delay packets. Call it in the network namespace of the switch."""
    try:
        _batch("tc", ["qdisc add dev lo root netem delay 1ms"])
        _batch("tc", ["qdisc del dev lo root"])
    except ClusterError:
        return False
    return True


def make_switch(spec: Spec) -> None:
    """Makes the switch in this process's network namespace, which has to be new."""
    if spec.latency_us and not has_netem():
        raise ClusterError("--latency: this kernel has no netem (module sch_netem), so it cannot delay packets")
    _batch(
        "ip",
        [
            "link set lo up",
            "link add switch type bridge stp_state 0 forward_delay 0 mcast_snooping 0",
            "link set switch addrgenmode none",
            "link set switch up",
        ],
    )


def _tbf(spec: Spec, device: str, parent: str) -> str:
    bytes_per_s = spec.bandwidth_bits / 8
    burst = max(_BURST_MIN_BYTES, round(bytes_per_s * _BURST_S))
    limit = burst + max(_QUEUE_MIN_BYTES, round(bytes_per_s * _QUEUE_S))
    return f"qdisc add dev {device} {parent} tbf rate {spec.bandwidth_bits}bit burst {burst} limit {limit}"


def _shape(spec: Spec, device: str, delayed: bool) -> None:
    commands = []
    if spec.latency_us and delayed:
        commands.append(f"qdisc add dev {device} root handle 1: netem delay {spec.latency_us}us limit 100000")
    if spec.bandwidth_bits:
        commands.append(_tbf(spec, device, "parent 1:1" if commands else "root"))
    if commands:
        _batch("tc", commands)


def plug_in(spec: Spec, index: int, pid: int) -> None:
    """Joins the network namespace of process `pid` to the switch, as its eth0. The address of the card stays the
    same when a node is booted again."""
    port = f"port{index}"
    card = f"02:6d:72:00:00:{index:02x}"
    _batch(
        "ip",
        [
            f"link add {port} type veth peer name eth0 address {card} netns {pid}",
            f"link set {port} addrgenmode none",
            f"link set {port} master switch",
            f"link set {port} up",
        ],
    )
    _shape(spec, port, delayed=True)


def set_up_node(spec: Spec, index: int) -> None:
    """Call it in the node's network namespace after plug_in()."""
    _batch(
        "ip",
        [
            "link set lo up",
            "link set eth0 addrgenmode none",
            f"address add {address(index)}/24 dev eth0",
            "link set eth0 up",
        ],
    )
    _shape(spec, "eth0", delayed=False)


def cut(index: int) -> None:
    """The switch drops all packets from and to the node; the node's own link stays up."""
    _batch("ip", [f"link set port{index} nomaster"])


def heal(index: int) -> None:
    _batch("ip", [f"link set port{index} master switch"])


def unplug(index: int) -> None:
    """Removes the port, unless the kernel has removed it with the node's namespace."""
    subprocess.run(["ip", "link", "del", f"port{index}"], capture_output=True, timeout=_TIMEOUT_S, check=False)
