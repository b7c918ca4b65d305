# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""docs/reference/glossary.md has at most 40 words in order, and each of them is used."""

import re

import pages

PAGE = pages.DOCS / "reference/glossary.md"
MOST = 40


def words():
    return re.findall(r"^\| ([a-z][a-z ]*) \| \S.* \|$", PAGE.read_text(), re.M)[1:]


def test_it_has_few_words_in_order():
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    assert len(words()) == len(rows) - 2 <= MOST
    assert words() == sorted(set(words()))


def test_each_word_is_used():
    files = [page for page in pages.GUIDE if page != PAGE]
    files += [path for path in (pages.ROOT / "src").rglob("*.hpp") if "/testing/" not in str(path)]
    text = "\n".join(path.read_text() for path in files)
    assert not [word for word in words() if len(re.findall(rf"\b{word}s?\b", text, re.I)) < 3]
