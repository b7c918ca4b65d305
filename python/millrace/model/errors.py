# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, with a text that says what to do."""


class ModelError(RuntimeError):
    """There is no answer; the text is for the user."""
