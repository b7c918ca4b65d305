# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Errors, each with advice in its text."""


class EvaluationError(RuntimeError):
    """The evaluation cannot go on; the text is for the user."""


class BadOutput(ValueError):
    """The output of a standard program is not that of a complete run."""
