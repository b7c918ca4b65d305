# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The measurements of the SX-Aurora TSUBASA papers (I/O, inter-process communication, transfers) on this machine."""

import pathlib
import sys

for _place in ("bench", "python"):
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / _place))
