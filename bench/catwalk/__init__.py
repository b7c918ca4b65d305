# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The experiments of the Catwalk-ROMIO paper (Hori et al.), figures 5 to 9, on virtual clusters."""

import pathlib
import sys

for _place in ("bench", "python"):
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / _place))
