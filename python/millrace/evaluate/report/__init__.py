# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The report of a session: what it says (story), how it looks (page, markdown)."""
