# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Ways to save and load a dictionary of arrays, measured in turns."""

import pathlib
import sys

for _place in ("bench", "python"):
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / _place))
