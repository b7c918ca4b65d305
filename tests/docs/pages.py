# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Markdown pages: their headings, links, inline code and fenced blocks."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import unicodedata
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT / "python"))

# Pages for users. Architecture, decisions and results are for developers, and their commands belong to their dates.
GUIDE = sorted(
    page
    for place in (".", "how-to", "reference", "explanation")
    for page in (DOCS / place).glob("*.md")
    if page.name != "ARCHITECTURE.md"
)
PARSER = MarkdownIt("commonmark").enable("table")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def markdown_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode != 0:
        return [*GUIDE, ROOT / "README.md"]
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


class Block:
    """A fenced block. `title`: the text of title="..." behind the language, or empty."""

    def __init__(self, page: Path, line: int, info: str, text: str) -> None:
        self.page, self.line, self.text = page, line, text
        self.language = info.split(" ", 1)[0]
        found = re.search(r'title="([^"]*)"', info)
        self.title = found[1] if found else ""

    @property
    def place(self) -> str:
        return f"{name_of(self.page)}:{self.line}"

    @property
    def is_file(self) -> bool:
        return bool(re.fullmatch(r"[\w.-]+\.\w+", self.title))

    @property
    def needs(self) -> bool:
        """True if it needs a thing that not every machine has, so that no test runs it."""
        return self.title.startswith("needs ")


def blocks(page: Path) -> list[Block]:
    found = []
    for token in PARSER.parse(page.read_text()):
        if token.type == "fence":
            found.append(Block(page, token.map[0] + 1, token.info, token.content))
    return found


def _inline(page: Path):
    for token in PARSER.parse(page.read_text()):
        if token.type == "inline":
            yield token


def inline_code(page: Path) -> list[str]:
    return [one.content for token in _inline(page) for one in token.children if one.type == "code_inline"]


def links(page: Path) -> list[str]:
    """Targets of links and pictures."""
    targets = (
        one.attrGet("href") or one.attrGet("src")
        for token in _inline(page)
        for one in token.children
        if one.type in ("link_open", "image")
    )
    return [str(target) for target in targets if target]


def anchors(page: Path) -> set[str]:
    """What `#...` may name in a page: the names that MkDocs gives to its headings."""
    tokens, found = PARSER.parse(page.read_text()), set()
    for heading, inline in zip(tokens, tokens[1:], strict=False):
        if heading.type != "heading_open":
            continue
        text = "".join(one.content for one in inline.children if one.type in ("text", "code_inline"))
        text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
        slug = re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower())
        number = 1
        while slug in found:
            slug, number = re.sub(r"(_\d+)?$", f"_{number}", slug), number + 1
        found.add(slug)
    return found


def calls(text: str) -> list[list[str]]:
    """The calls of `millrace` in a shell script: the words from its name on, up to the end of that command."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&<>")
        lexer.whitespace_split, lexer.commenters = True, "#"
        words = list(lexer)
        for start, word in enumerate(words):
            if Path(word).name == "millrace" and not word.startswith("-"):
                rest = words[start:]
                end = next((i for i, one in enumerate(rest) if set(one) <= set("|;&<>")), len(rest))
                found.append(rest[:end])
    return found
