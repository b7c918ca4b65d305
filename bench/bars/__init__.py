# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Holds MPI-IO through Millrace against the storage's limit and against the stock MPI library."""
