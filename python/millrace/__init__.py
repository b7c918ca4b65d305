# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The `millrace` command: run programs with Millrace, look at a machine, show what it gains."""

__version__ = "0.1.0"
