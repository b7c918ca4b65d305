# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Holds MPI-IO through Millrace against the storage's limit and against the stock MPI library."""

import pathlib
import sys

# How a job is kept in one group of the scheduler is written once, in the package beside.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
