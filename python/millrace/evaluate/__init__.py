# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Evaluates a machine: what it delivers, how far that is from its limits, and which I/O method pays (ADR 14)."""
