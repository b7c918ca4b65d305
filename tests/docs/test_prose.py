# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Lines and sentences of the documents are short; so are decisions, pages of results and the changelog."""

import re
from pathlib import Path

import pages
import pytest

WIDTH = 120  # columns, but for rows of tables and code
MEAN, LONGEST = 18, 35  # words of a sentence
ADRS = sorted((pages.DOCS / "adr").glob("*.md"))
RESULTS = sorted((pages.DOCS / "results").glob("*.md"))
WORDS = {page: 900 for page in ADRS} | {page: 1000 for page in RESULTS}
WORDS |= {pages.DOCS / "ARCHITECTURE.md": 2500, pages.ROOT / "CHANGELOG.md": 700}
PROSE = [*WORDS, *pages.GUIDE, pages.ROOT / "README.md", pages.ROOT / "CONTRIBUTING.md"]


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
    assert len(page.read_text().split()) <= WORDS[page]


@pytest.mark.parametrize(("found", "words"), [(ADRS, 14000), (RESULTS, 8500)], ids=["adr", "results"])
def test_all_pages_of_a_folder_are_short(found, words):
    assert sum(len(page.read_text().split()) for page in found) <= words


def test_people_finish_the_documents():
    words = [word for page in pages.DOCS.rglob("*.md") for word in page.read_text().split()]
    assert sum(any(one.isalnum() for one in word) for word in words) <= 45_000


@pytest.mark.parametrize("page", PROSE, ids=pages.name_of)
def test_its_lines_and_sentences_are_short(page):
    lines = page.read_text().splitlines()
    assert not [line for line in lines if len(line) > WIDTH and not line.startswith(("|", "    "))]
    words = sentences(page)
    assert max(words, default=0) <= LONGEST
    assert sum(words) < MEAN * len(words)


def test_what_the_architecture_names_exists():
    sources = [path for path in (pages.ROOT / "src").rglob("*") if path.suffix in (".hpp", ".cpp", ".inc", ".S")]
    code = "\n".join(path.read_text() for path in sources)
    for name in pages.inline_code(pages.DOCS / "ARCHITECTURE.md"):
        if re.fullmatch(r"[\w/]+\.[a-zA-Z]+", name) and "/" in name:
            assert (pages.ROOT / name).exists() or (pages.ROOT / "src" / name).exists(), name
        elif found := re.fullmatch(r"(?:(\w+)::)?(\w+)\(\)", name):
            assert all(re.search(rf"\b{part}\b", code) for part in found.groups() if part), name
