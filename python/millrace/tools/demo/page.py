# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The self-contained page of a demo's results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2

from millrace.tools.demo import picture


def write(path: Path, document: dict[str, Any], meaning: str) -> None:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    text = environment.get_template("page.html.j2").render(
        document=document, drawing=picture.draw(document), meaning=meaning
    )
    path.write_text(text, encoding="utf-8")
