# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`millrace doctor`: this machine, and what Millrace makes of it."""
