# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Errors, each with advice in its text."""


class ModelError(RuntimeError):
    """There is no answer; the text is a message for the user."""
