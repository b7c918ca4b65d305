# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, with a text that says what to do."""


class EvaluationError(RuntimeError):
    """The evaluation cannot go on; the text is for the user."""
