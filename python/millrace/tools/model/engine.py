# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Plans for millrace-model, which runs in virtual time (sim/model), and its answers."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millrace import prefix
from millrace.tools.model.errors import ModelError

PROGRAM = "millrace-model"
BOUND_S = 300


@dataclass
class Flows:
    """The stations of ranks, and the pieces that pass them."""

    stations: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def station(self, name: str, slots: int = 1, rate: float = 0, piece_ns: float = 0, waiting_ns: float = 0) -> str:
        self.stations.setdefault(name, f"{slots} {round(rate)} {round(piece_ns)} {round(waiting_ns)}")
        return name

    def flow(self, ranks: int) -> None:
        self.lines.append(f"flow {ranks}")

    def step(self, times: int) -> None:
        self.lines.append(f"step {times}")

    def stage(self, *uses: tuple[str, float, float]) -> None:
        """The stations that a piece occupies at the same time: station, bytes, additional nanoseconds."""
        self.lines.append("stage " + " ".join(f"{name} {round(size)} {round(more)}" for name, size, more in uses))

    def text(self) -> str:
        stations = [f"station {name} {options}" for name, options in self.stations.items()]
        return "\n".join(["flows", *stations, *self.lines, "end", ""])


def pipeline_text(values: Mapping[str, Any]) -> str:
    return "\n".join(["pipeline", *(f"{name} {value}" for name, value in values.items()), "end", ""])


def ask(plans: list[str]) -> list[dict[str, Any]]:
    """Asks millrace-model, and returns the answer to each plan."""
    program = next(
        (p for root in prefix.candidates(os.environ) if os.path.isfile(p := os.path.join(root, "bin", PROGRAM))),
        None,
    )
    if program is None:
        raise ModelError(f"{PROGRAM} was not found: build Millrace (make), or set MILLRACE_PREFIX to its prefix")
    try:
        done = subprocess.run(
            [program], input="".join(plans), capture_output=True, text=True, timeout=BOUND_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise ModelError(f"no answer in {BOUND_S} s: ask for fewer bytes or ranks") from None
    except OSError as error:
        raise ModelError(f"{program}: {error.strerror}") from None
    if done.returncode != 0:
        raise ModelError(done.stderr.strip() or f"{PROGRAM} ended with status {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]
