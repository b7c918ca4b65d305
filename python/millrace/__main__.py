# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`python -m millrace`."""

from millrace.cli import main

if __name__ == "__main__":
    main()
