# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What fault/victim.c says, and what it writes."""

import re

# An error of the first file: rank, call, class. Not a whole line: two ranks' lines may come out of a launcher as one.
ERROR = re.compile(r"(?<!second )error (\d+) (\w+) (MPI_[A-Z_]+|another class)")

_PERIOD = bytes(((at * 7) + (at >> 10)) & 255 for at in range(256 << 10))


def pattern(offset: int, size: int) -> bytes:
    """What it writes there."""
    begin = offset % len(_PERIOD)
    return (_PERIOD * ((begin + size) // len(_PERIOD) + 1))[begin : begin + size]
