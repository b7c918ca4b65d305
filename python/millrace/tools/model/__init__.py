# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`millrace model`: machines that are described, not owned, and what their I/O would do (docs/adr/0017)."""
