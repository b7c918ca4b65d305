# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Pages of results and the changelog are short, and so are their lines and sentences."""

import re
from pathlib import Path

import pages
import pytest

WIDTH = 120  # columns, but for rows of tables and code
MEAN, LONGEST = 18, 35  # words of a sentence
RESULTS = sorted((pages.DOCS / "results").glob("*.md"))
WORDS = {page: 1500 for page in RESULTS} | {pages.ROOT / "CHANGELOG.md": 700}


def sentences(page: Path) -> list[int]:
    """The words of each sentence. Inline code is one word; tables and headings have no sentences."""
    found, kind = [], ""
    for token in pages.PARSER.parse(page.read_text()):
        kind = token.type if token.nesting == 1 else kind
        if token.type != "inline" or kind in ("heading_open", "th_open", "td_open"):
            continue
        text = "".join("code" if one.type == "code_inline" else one.content or " " for one in token.children)
        found += [len(one.split()) for one in re.split(r"(?<=[.!?])\s+|(?<=[.!?][)\"])\s+", text) if one.strip()]
    return found


@pytest.mark.parametrize("page", WORDS, ids=pages.name_of)
def test_a_page_is_short(page):
    text = page.read_text()
    assert len(text.split()) <= WORDS[page]
    assert not [line for line in text.splitlines() if len(line) > WIDTH and not line.startswith(("|", "    "))]


@pytest.mark.parametrize("page", WORDS, ids=pages.name_of)
def test_its_sentences_are_short(page):
    words = sentences(page)
    assert max(words) <= LONGEST
    assert sum(words) / len(words) < MEAN
