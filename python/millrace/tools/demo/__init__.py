# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`millrace demo`: real programs with the stock MPI library and with Millrace, side by side."""
