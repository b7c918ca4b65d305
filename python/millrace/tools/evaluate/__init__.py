# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Evaluates a machine: its rates, their distance from its limits, and the best I/O method (ADR 14)."""
