# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of checkpoints; errors of the file system are OSError."""

from __future__ import annotations


class CheckpointError(RuntimeError):
    """A file that is no checkpoint, damaged, or in need of something that is not installed."""


class ChecksumError(CheckpointError):
    """Data that is not what was saved; `tensors` has the names of what is wrong."""

    def __init__(self, message: str, tensors: list[str]) -> None:
        super().__init__(message)
        self.tensors = tensors
