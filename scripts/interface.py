#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Prints the public interface of this tree, one thing per line (docs/reference/interface.md). With --release it writes
tests/abi/interface.txt, the interface of the last release, which tests/abi/interface_test.py compares with the tree."""

from __future__ import annotations

import ast
import pathlib
import re
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAST = ROOT / "tests/abi/interface.txt"
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "scripts"), str(ROOT / "src/base")]

# A document's schema -> the sources of its keys: a file, or FILE:LABELS, some of its functions, classes and sets.
EVALUATE, MODEL = "python/millrace/tools/evaluate", "python/millrace/tools/model"
SCHEMAS = {
    "millrace.stats": "src/client/file/report.cpp src/agent/core/report.cpp src/agent/core/watch.cpp "
    "src/plain/notes.cpp python/millrace/stats/reader.py:finish python/millrace/stats/report.py:summary "
    "python/millrace/stats/plain.py:summary",
    "millrace.doctor": "python/millrace/doctor/diagnosis.py:diagnose,Finding",
    "millrace.costs": "src/client/open/costs_program.cpp",
    "millrace-journal": "src/journal/inspect.cpp",
    "millrace-checkpoint-file": "python/millrace/checkpoint/show.py:facts",
    "millrace-cluster": "python/millrace/tools/cluster/state.py:Spec,Node,State",
    "millrace.demo": "python/millrace/tools/demo/main.py:document python/millrace/tools/demo/runner.py:document",
    "millrace.advice": f"{EVALUATE}/advise.py:run,Prediction {EVALUATE}/tuning.py:Sentence",
    "millrace.application": f"{EVALUATE}/application.py:_KEYS",
    "millrace.compare": f"{EVALUATE}/compare.py:run,Difference",
    "millrace.evaluate": f"{EVALUATE}/session.py:create {EVALUATE}/main.py:_plan {EVALUATE}/case.py:Case",
    "millrace.evaluate.result": f"{EVALUATE}/session.py:store {EVALUATE}/suite.py:keep {EVALUATE}/figures.py:Figure",
    "millrace.evaluate.export": f"{EVALUATE}/export.py:document,rows",
    "millrace.sites": f"{EVALUATE}/sites.py:document,facts_of",
    "millrace.machine": f"{EVALUATE}/references.py:_REQUIRED,_entry",
    "millrace.model": f"{MODEL}/machine.py:_parse,_KEYS",
    "millrace.model-answer": f"{MODEL}/main.py:_answer,Answer,Request",
}
INTERNAL = {"millrace.published"}  # files that only Millrace reads
# A key of JSON in C++: {"key", value}, put("key", value), ["key"] =, and in a text.
CPP_KEY = re.compile(r'(?:(?<!\w)[{]|put\(|\[)"(\w+)"[],]|"(\w+)":')
# Python classes whose objects programs only get.
MADE_BY_CALLS = {"ChecksumError", "Memory", "Request", "Saving", "Ticket"}
VERSIONS = {
    "format of journals": ("src/journal/format.hpp", r"uint32_t version = (\d+);"),
    "format of checkpoints": ("python/millrace/checkpoint/header.py", r'^VERSION = "(\d+)"'),
    "protocol of agents": ("src/transport/frame.hpp", r"protocol_version = (\d+);"),
    "schema of statistics lines": ("src/agent/core/report.hpp", r"report_schema = (\d+);"),
    "library libmillrace_io.so": ("src/capi/CMakeLists.txt", r"SOVERSION (\d+)"),
    "MILLRACE_API_VERSION": ("include/millrace/millrace.h", r"MILLRACE_API_VERSION (\d+)"),
}


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def words(text: str) -> str:
    return " ".join(text.split())


# ---- Headers ----


def close_of(text: str, begin: int) -> int:
    """The place behind the brace that closes the one at `begin`."""
    depth = 0
    for place in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    raise ValueError("a brace without its end")


def declarations(text: str, scope: str = "", public: bool = True) -> Iterator[str]:
    """The public declarations of C or C++ without comments, and without their bodies."""
    start = place = 0
    while place < len(text):
        if text[place] not in "{;":
            place += 1
            continue
        head = words(text[start:place])
        while found := re.match(r"(public|private):\s*", head):
            public, head = found[1] == "public", head[found.end() :]
        end = place + 1
        if text[place] == "{":
            end = close_of(text, place)
            if head.startswith(("typedef", "enum")) or head.count("(") > head.count(")"):
                place = end  # the braces are a part of the declaration
                continue
        kind = re.fullmatch(r'(namespace|class|struct|extern) (\w+|"C").*', re.sub(r"^template <.*?> ", "", head))
        within = f"{scope}: " if scope else ""
        if kind and text[place] == "{":
            inner = scope if kind[1] == "extern" else f"{scope}::{kind[2]}".removeprefix("::")
            if public and kind[1] in ("class", "struct"):
                yield within + head
            yield from declarations(text[place + 1 : end - 1], inner, public and kind[1] != "class")
        elif public and head:
            yield within + re.sub(r"\)( noexcept)? : .*", r")\1", head)
        start = place = end


def header(name: str) -> Iterator[str]:
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", read(name), flags=re.DOTALL)
    for macro, value in re.findall(r"^#define (\w+) (.+)$", text, re.MULTILINE):
        if macro not in ("MILLRACE_API", "MILLRACE_API_VERSION"):
            yield f"constant {macro} {words(value)}"
    for one in declarations(re.sub(r"^#.*$|\bMILLRACE_API\b", "", text, flags=re.MULTILINE)):
        grows = re.fullmatch(r"typedef struct millrace_counts \{ (.*); \} millrace_counts", one)
        enum = re.fullmatch(r"enum \{ (.*) \}", one)
        if grows:  # programs pass its size
            yield from (f"millrace_counts, {n}: {member}" for n, member in enumerate(grows[1].split("; "), 1))
        elif enum:
            yield from (f"constant {member}" for member in enum[1].split(", "))
        else:
            yield one


def fortran(name: str) -> Iterator[str]:
    """Public constants, types with their members, and functions with the declarations of arguments and result."""
    text = re.sub(r"!.*", "", read(name)).replace("&\n", " ")
    lines = [words(line) for line in text.splitlines() if line.strip()]
    public = {one for line in lines if line.startswith("public ::") for one in re.findall(r"\w+", line)}
    unit: list[str] = []
    for line in lines:
        if re.match(r"(pure )?function |type, bind\(c\), public|interface \w", line):
            unit = [line]
        elif unit and (found := re.match(r"end (function|type|interface) (\w+)", line)):
            if found[1] == "type" or found[2] in public:
                named = set(re.findall(r"\w+", unit[0]))
                yield "; ".join(one for one in unit if found[1] != "function" or one == unit[0] or declares(one, named))
            unit = []
        elif unit:
            unit.append(line)
        elif ", public ::" in line:
            kind, values = line.split(", public ::")
            yield from (f"{kind} :: {one.strip()}" for one in re.split(r", (?=millrace_)", values))


def declares(line: str, named: set[str]) -> bool:
    declared = re.match(r"(?:integer|real|type|character)\b.* :: (.*)", line)
    return bool(declared) and not named.isdisjoint(re.findall(r"\w+", declared[1]))


# ---- Documents ----


def label(node: ast.AST) -> str:
    """The name of a function, a class or a variable."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    found = getattr(target, "id", "") if target else getattr(node, "name", "")
    return found if isinstance(found, str) else ""


def written_keys(part: ast.AST) -> Iterator[str]:
    """The keys of dictionaries, the fields of a data class, and the words of sets of keys."""
    if isinstance(part, ast.ClassDef):
        yield from (one.target.id for one in part.body if isinstance(one, ast.AnnAssign))
    for one in ast.walk(part):
        within: list[ast.AST | None] = []
        if isinstance(one, ast.Dict):
            within = list(one.keys)
        elif isinstance(one, ast.Set) or (isinstance(one, ast.Tuple) and isinstance(part, ast.Assign)):
            within = list(one.elts)
        elif isinstance(one, ast.DictComp) and isinstance(one.generators[0].iter, ast.Tuple):
            within = list(one.generators[0].iter.elts)
        elif isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store):
            within = [one.slice]
        elif isinstance(one, ast.Call) and getattr(one.func, "attr", "") == "store":
            yield from (keyword.arg for keyword in one.keywords if keyword.arg)
        yield from (word.value for word in within if isinstance(word, ast.Constant) and isinstance(word.value, str))


def keys_of(source: str) -> Iterator[str]:
    name, _, labels = source.partition(":")
    if not labels:
        yield from (first or second for first, second in CPP_KEY.findall(read(name)))
        return
    parts = [node for node in ast.walk(ast.parse(read(name))) if label(node) in labels.split(",")]
    if missing := set(labels.split(",")) - set(map(label, parts)):
        raise SystemExit(f"interface: {name} has no {', '.join(missing)}: correct SCHEMAS of scripts/interface.py")
    for part in parts:
        yield from written_keys(part)


def schemas() -> Iterator[str]:
    sources = [*(ROOT / "python/millrace").rglob("*.py"), *(ROOT / "src").rglob("*.cpp")]
    text = "".join(path.read_text(encoding="utf-8") for path in sources if not path.name.endswith("_test.cpp"))
    found = dict(re.findall(r'"(millrace[.-][a-z.-]+)[/-](\d+)"', text))
    found |= re.findall(r'"schema": "(millrace-checkpoint-file)",\s+"version": (\d+)', text)
    if strange := found.keys() - SCHEMAS.keys() - INTERNAL:
        raise SystemExit(f"interface: {', '.join(strange)}: add the schema to SCHEMAS of scripts/interface.py")
    for name in found.keys() - INTERNAL:
        yield f"schema {name}, version {found[name]}"
        yield from (f"schema {name}: {key}" for source in SCHEMAS[name].split() for key in keys_of(source))


# ---- Settings, commands, Python ----


def settings() -> Iterator[str]:
    from generate_settings import VARIABLES
    from millrace.run.setting_table import FOR_USERS

    for one in FOR_USERS:
        yield f"setting {one.name}: {one.variable}, {one.kind}, default {one.default or '-'}"
        yield from (f"setting {one.name}: allows {value}" for value in one.choices or [one.allowed])
        names = {"option": one.option_name, "hint": one.hint_name, "TOML": one.name if one.toml else ""}
        yield from (f"setting {one.name}: {kind} {name}" for kind, name in names.items() if name)
    yield from (f"variable {name}" for name in VARIABLES)


def command_line() -> Iterator[str]:
    import typer.main
    from manual import STATUS, commands
    from millrace.cli import app

    for one in commands(typer.main.get_command(app)):
        yield words(f"command millrace {one.words}")
        options = [parameter for parameter in one.parameters if parameter.param_type_name == "option"]
        for name in (name for option in options for name in (*option.opts, *option.secondary_opts)):
            yield f"{words(f'command millrace {one.words}')}: {name}"
        for number in re.findall(r"(\d+): ", STATUS.get(one.words, "")):
            yield f"command millrace {one.words}: status {number}"


def python_names() -> Iterator[str]:
    """The functions and classes that docs/reference/python.md names; of a module, all classes."""
    for dotted in re.findall(r"^::: millrace\.([\w.]+)", read("docs/reference/python.md"), re.MULTILINE):
        place, name = ROOT / "python/millrace" / dotted.replace(".", "/"), ""
        if not place.with_suffix(".py").is_file():
            place, name = place.parent, place.name
        modules = [place.with_suffix(".py")] if place.with_suffix(".py").is_file() else sorted(place.glob("*.py"))
        for node in (node for module in modules for node in ast.parse(module.read_text(encoding="utf-8")).body):
            if label(node) == name or (not name and isinstance(node, ast.ClassDef)):
                yield from members(node)


def members(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(map(ast.unparse, node.bases)) if node.name.endswith("Error") else ""
        yield f"Python class {node.name}({bases})"
    for one in node.body if isinstance(node, ast.ClassDef) else [node]:
        name = label(one).replace("__init__", "" if label(node) in MADE_BY_CALLS else "new")
        if isinstance(one, ast.FunctionDef) and name and not name.startswith("_"):
            inside = f"{label(node)}." if one is not node else ""
            yield f"Python {inside}{name}()"
            yield from (f"Python {inside}{name}: {argument}" for argument in arguments(one.args))


def arguments(declared: ast.arguments) -> Iterator[str]:
    """An argument per line, so that one more at the end is an addition."""
    names = [*declared.posonlyargs, *declared.args]
    defaults = [None] * (len(names) - len(declared.defaults)) + declared.defaults
    for place, (one, default) in enumerate(zip(names, defaults, strict=True)):
        if one.arg not in ("self", "cls"):
            yield f"{place}, {one.arg}" + (f"={ast.unparse(default)}" if default else "")
    for one, default in zip(declared.kwonlyargs, declared.kw_defaults, strict=True):
        yield one.arg + (f"={ast.unparse(default)}" if default else "")
    yield from (f"*{one.arg}" for one in (declared.vararg, declared.kwarg) if one)


def interface() -> list[str]:
    lines = [f"{name} {re.search(pattern, read(file), re.MULTILINE)[1]}" for name, (file, pattern) in VERSIONS.items()]
    for file in ("call.h", "hints.h", "millrace.h", "millrace.hpp"):
        lines += [f"{file}: {one}" for one in header(f"include/millrace/{file}")]
    lines += [f"millrace.f90: {one}" for one in fortran("include/millrace/millrace.f90")]
    return sorted({*lines, *settings(), *command_line(), *python_names(), *schemas()})


def main() -> int:
    from millrace import __version__

    text = "\n".join([f"Millrace {__version__}", *interface(), ""])
    if sys.argv[1:] == ["--release"]:
        LAST.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
