# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Runs `millrace` from the folder that this file lies in: bin/millrace calls it with its own path first."""

import sys

if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    if sys.version_info < (3, 10):  # noqa: UP036
        sys.exit("millrace: Python 3.10 or newer is needed, this is " + sys.version.split()[0])
    from millrace.__main__ import main

    main()
