# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of checkpoints; errors of the file system are OSError."""

from __future__ import annotations


class CheckpointError(RuntimeError):
    """A file is no checkpoint, is damaged, or needs a package that is not installed."""


class ChecksumError(CheckpointError):
    """The data differs from the saved data; `tensors` has the names of the wrong tensors."""

    def __init__(self, message: str, tensors: list[str]) -> None:
        super().__init__(message)
        self.tensors = tensors
