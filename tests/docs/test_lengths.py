# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Pages of results and the changelog stay short: words, words of a sentence, columns."""

import re

import pages
import pytest

# The most words of a page, tables and code included, as `wc -w` counts them.
MOST_WORDS = dict.fromkeys(sorted((pages.DOCS / "results").glob("*.md")), 1500)
MOST_WORDS[pages.ROOT / "CHANGELOG.md"] = 700
MEAN_SENTENCE = 18
COLUMNS = 120


def sentences(page):
    """The sentences of paragraphs and lists. A piece of inline code counts as one word."""
    tokens, found = pages.PARSER.parse(page.read_text()), []
    for before, token in zip(tokens, tokens[1:], strict=False):
        if token.type == "inline" and before.type == "paragraph_open":
            words = {"code_inline": "Code", "softbreak": " "}
            text = "".join(words.get(one.type, one.content) for one in token.children if one.type != "image")
            found += re.split(r"(?<=[.!?])[*)]*\s+(?=[(*]*[A-Z0-9])", text)
    return [one for one in found if one.strip()]


@pytest.mark.parametrize("page", MOST_WORDS, ids=pages.name_of)
def test_a_page_is_short(page):
    assert len(page.read_text().split()) <= MOST_WORDS[page]


@pytest.mark.parametrize("page", MOST_WORDS, ids=pages.name_of)
def test_sentences_are_short(page):
    words = [len(one.split()) for one in sentences(page)]
    assert sum(words) / len(words) < MEAN_SENTENCE


@pytest.mark.parametrize("page", MOST_WORDS, ids=pages.name_of)
def test_lines_are_short(page):
    lines = page.read_text().splitlines()
    assert not [line for line in lines if len(line) > COLUMNS and not line.startswith(("|", "    "))]
