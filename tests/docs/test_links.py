# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Relative links have their targets; each question has the heading that answers it."""

import re
from pathlib import Path

import pages
import pytest


def fault(page: Path, link: str) -> str:
    """The reason why a link is dead; empty if it is not."""
    if re.match(r"[a-z]+:", link):
        return ""
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return f"{pages.name_of(page)}: {link}: no such file"
    if anchor and anchor not in pages.anchors(target):
        return f"{pages.name_of(page)}: {link}: no such heading"
    return ""


def test_every_link_has_its_target():
    files = pages.markdown_files()
    links = [(page, link) for page in files for link in pages.links(page)]
    assert len(links) > 200
    assert not [text for text in (fault(*one) for one in links) if text]


@pytest.mark.parametrize("link", ["nowhere.md", "tutorial.md#nowhere", "#nowhere", "../no/README.md"])
def test_a_dead_link_is_found(link):
    assert fault(pages.DOCS / "index.md", link)


def test_twenty_questions_have_a_heading_each_that_answers_them():
    page = pages.DOCS / "questions.md"
    links = pages.links(page)
    assert len(set(links)) == len(links) == page.read_text().count("\n- ") == 20
    assert all("#" in link and not fault(page, link) for link in links)
