# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: trees of arrays in safetensors files (docs/reference/checkpoint-format.md)."""

from millrace.checkpoint.errors import CheckpointError, ChecksumError
from millrace.checkpoint.reader import load
from millrace.checkpoint.saving import Saving, save

__all__ = ["CheckpointError", "ChecksumError", "Saving", "load", "save"]
