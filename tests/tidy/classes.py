# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""How many data members and functions the classes of formatted C++ have, by their declarations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

HEAD = re.compile(
    r"\b(?:class|struct)\s+(?:alignas\([^)]*\)\s*)?([A-Za-z_][\w:]*)\s*(?:final\s*)?(?::(?!:)[^;{}()]*)?\{"
)
ACCESS = re.compile(r"\b(?:public|protected|private)\s*:(?!:)")
# Statements of a class that declare neither data nor a function, and data that is no state of an object.
NEITHER = re.compile(r"(?:using|typedef|friend|static_assert)\b")
NO_STATE = re.compile(r"(?:enum|class|struct|union|static|inline static|constexpr)\b")
ATTRIBUTE = re.compile(r"\[\[.*?\]\]|\b(?:alignas|decltype)\s*\([^()]*\)|\bmutable\b|\bvirtual\b")


@dataclass
class Class:
    name: str
    line: int
    members: int = 0
    functions: int = 0


def closing(text: str, opening: int) -> int:
    """Where the bracket at `opening` closes; the end of the text if it does not."""
    left = text[opening]
    right = {"{": "}", "(": ")"}[left]
    depth = 0
    for at in range(opening, len(text)):
        depth += {left: 1, right: -1}.get(text[at], 0)
        if depth == 0:
            return at
    return len(text)


def without_arguments_of_templates(text: str) -> str:
    """A declaration without what stands between < and >."""
    kept, depth = [], 0
    for letter in text.replace("->", "  "):
        depth += letter == "<"
        if depth == 0:
            kept.append(letter)
        depth -= letter == ">"
    return "".join(kept)


def statements(body: str) -> Iterator[str]:
    """What a class declares, one after the other, without the contents of braces.

    In formatted code a space stands before the brace of a function's body and none before an initializer's.
    """
    text, at = "", 0
    while at < len(body):
        letter = body[at]
        if letter == "(":
            end = closing(body, at)
            text += body[at : end + 1]
            at = end
        elif letter == "{":
            at = closing(body, at)
            called = "(" in without_arguments_of_templates(text) and not text.rstrip().endswith("=")
            if called and text[-1:].isspace():
                yield text
                text = ""
            else:
                text += "{}"
        elif letter == ";":
            yield text
            text = ""
        else:
            text += letter
        at += 1


def count(found: Class, statement: str) -> None:
    text = without_arguments_of_templates(ATTRIBUTE.sub(" ", ACCESS.sub(" ", statement)))
    text = re.sub(r"^\s*template\b\s*(?:requires\b[^;]*?\)\s*)?", "", text).strip()
    if NEITHER.match(text):
        return
    nested = re.match(r"(?:class|struct|union|enum)\b.*\{\}\s*(\w.*)?$", text, re.DOTALL)
    if nested:
        found.members += 1 if nested.group(1) else 0
        return
    function = "(" in text.split("=")[0] or re.search(r"\boperator\b", text)
    if function and not re.search(r"\(\s*\*", text):
        found.functions += not re.search(r"=\s*(?:default|delete)\s*$", text)
    elif text and not NO_STATE.match(text):
        found.members += 1 + re.sub(r"\([^()]*\)", "", text).count(",")


def classes(text: str) -> Iterator[Class]:
    """The classes that are defined in `text`, which has no comments and no strings; nested ones too."""
    for head in HEAD.finditer(text):
        before = text[: head.start()].rstrip()
        if before.endswith(("enum", "<", ",")):
            continue  # enum class; a parameter of a template
        opening = head.end() - 1
        found = Class(head.group(1), text.count("\n", 0, head.start()) + 1)
        for statement in statements(text[opening + 1 : closing(text, opening)]):
            count(found, statement)
        yield found
