# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""How tests start an MPI program, with more ranks than cores."""

import os


def launch(launcher, mpi, ranks):
    """The words before the program; `mpi` is "mpich" or "ompi"."""
    words = [str(launcher)]
    if mpi == "ompi":
        words += ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
        words += ["--mca", "btl_base_warn_component_unused", "0"]
        if os.geteuid() == 0:
            words.append("--allow-run-as-root")
    return [*words, "-n", str(ranks)]
