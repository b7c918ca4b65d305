# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Holds files of several nodes against the network, the disk and networked file systems, on virtual clusters."""

import pathlib
import sys

# Bounded runs and the presets' bars are in bars/; how a job is kept in one group of the scheduler, in the package.
for _place in ("bench", "python"):
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / _place))
