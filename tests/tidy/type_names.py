# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The types of formatted C++, and names that two of them have where a file could use both.

A type of a header, outside of classes and unnamed namespaces, belongs to every room that may include the header. No
other header has a type of its name, and in those rooms no class and no source file has one. Types inside two classes,
or inside two source files, never meet. A word of the glossary names one type at most, wherever the type is.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import rules

HEAD = re.compile(
    r"(?:.*\b)?(?:class|struct|union|enum)\s+(?:alignas\([^)]*\)\s*)?(?:\[\[.*?\]\]\s*)?(\w[\w:]*)\s*(?:final\s*)?"
    r"(?::(?!:)[^;{}()]*)?$",
    re.DOTALL,
)
SPACE = re.compile(r'\bnamespace\s*([\w:]*)\s*$|\bextern\s+""\s*$')
ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*(.*)", re.DOTALL)
GLOSSARY = "docs/reference/glossary.md"
WORD = re.compile(r"^\| ([a-z][a-z ]*) \|", re.MULTILINE)


@dataclass(frozen=True)
class Type:
    path: str
    name: str
    line: int
    shared: bool  # other files may use it by its name


def definitions(path: str, text: str) -> Iterator[Type]:
    """The types that a file defines outside of functions. An alias that keeps the name is no other type."""
    code = rules.without_comments_and_strings(re.sub(r"'[{}();\"]'", "' '", text))
    code = re.sub(r"^\s*#.*$", "", code, flags=re.MULTILINE)
    scopes: list[str] = []  # "": a namespace, "unnamed", "class", "function" and all else
    start = 0
    for at in (match.start() for match in re.finditer(r"[{};]", code)):
        statement, start = code[start:at], at + 1
        space, head, alias = SPACE.search(statement), HEAD.match(statement), ALIAS.search(statement)
        name = head[1] if head else ""
        if code[at] == ";" and alias and not alias[2].strip().endswith(f"::{alias[1]}"):
            name = alias[1]
        elif code[at] != "{":
            name = ""
        if name and "::" not in name and "function" not in scopes:
            line = code.count("\n", 0, at) + 1
            yield Type(path, name, line, path.endswith((".h", ".hpp")) and not any(scopes))
        if code[at] == "{":
            unnamed = space and space[1] == ""
            scopes.append("unnamed" if unnamed else "" if space else "class" if head else "function")
        elif code[at] == "}" and scopes:
            scopes.pop()


def meet(one: Type, shared: Type) -> bool:
    room, other = rules.room_of(one.path), rules.room_of(shared.path)
    return one.shared or room == other or other in rules.BELOW.get(room, ())


def doubles(types: list[Type], words: set[str]) -> Iterator[tuple[Type, Type]]:
    """Each type with one of the same name: of a header, so that a file could use both, or of any file for a word."""
    known = defaultdict(list)
    for one in types:
        if one.shared or one.name in words:
            known[one.name].append(one)
    for one in types:
        for other in known[one.name]:
            if one.path != other.path and (one.name in words or meet(one, other)):
                yield one, other
                break


def counted(path: str) -> bool:
    return rules.room_of(path) is not None and path.endswith(rules.CODE) and "/generated/" not in path


def problems(texts: dict[str, str], listed: dict[tuple[str, str], str]) -> Iterator[str]:
    """`texts`: of the files. `listed`: (file, type) that may have the name of another type."""
    files = {path: text for path, text in texts.items() if counted(path) and not rules.FOR_TESTS.search(path)}
    types = [one for path, text in files.items() for one in definitions(path, text)]
    words = {word.title().replace(" ", "") for word in WORD.findall(texts.get(GLOSSARY, ""))}
    for one, other in doubles([one for one in types if (one.path, one.name) not in listed], words):
        yield f"{one.path}: line {one.line}: {one.name} is also a type of {other.path}:{other.line}: rename one"
    needed = {(one.path, one.name) for pair in doubles(types, words) for one in pair}
    yield from (
        f"exceptions.py: {path}: {name} is no second type" for path, name in listed if (path, name) not in needed
    )
