# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Reads files of YAML that people write; an error is one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def read(path: Path, error: type[Exception]) -> Any:
    """The document in `path`; raises `error` with the reason if there is none, or no PyYAML."""
    try:
        import yaml
    except ImportError:
        raise error(f"{path} is YAML, which needs PyYAML: python3 -m pip install pyyaml") from None
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise error(f"{path}: {problem.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        raise error(f"{path} is not YAML: {' '.join(str(problem).split())}") from None
