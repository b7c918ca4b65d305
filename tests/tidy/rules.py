# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The rules. Each takes a path relative to the root, and its text, and yields what is wrong as text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import exceptions
from classes import classes

# room -> rooms that it may include:
# base <- extent, io, report <- {journal, sink, transport, staging} <- agent, client, plain <- front, capi.
BELOW = {
    "base": set(),
    "extent": {"base"},
    "io": {"base", "extent"},
    "report": {"base"},
    "journal": {"base", "extent", "io"},
    "sink": {"base", "extent", "io"},
    "transport": {"base", "extent", "io"},
    "staging": {"base", "extent", "io"},
    "agent": {"base", "extent", "io", "report", "journal", "sink", "transport", "staging"},
    "client": {"base", "extent", "report", "journal", "transport"},
    "plain": {"base", "extent", "staging"},
    "front": {"base", "extent", "client", "plain", "staging"},
    "capi": {"base", "extent", "plain", "staging"},
}
ROOMS = set(BELOW)
# room -> the rooms and files inside it -> those beside them that they may include. All code of such a room is in these.
INSIDE = {
    "agent": {
        "pipeline": set(),
        "requests": {"pipeline"},
        "core": {"pipeline", "requests"},
        "recovery": {"pipeline", "requests", "core"},
        "links": {"pipeline", "requests", "core"},
        "server": {"pipeline", "requests", "core", "links"},
    },
    "client": {
        "costs": set(),
        "view": set(),
        "session": {"view"},
        "start": {"view", "session"},
        "way": {"view", "session"},
        "file": {"costs", "view", "session", "start", "way"},
        "open": {"costs", "view", "session", "start", "way", "file"},
    },
    "front/mpiio": {
        "generated": set(),
        "mpi.hpp": set(),
        "real.hpp": {"generated", "mpi.hpp"},
        "types": {"mpi.hpp"},
        "ranks": {"mpi.hpp"},
        "handles": {"real.hpp", "ranks"},
        "open": {"mpi.hpp", "real.hpp", "types", "ranks", "handles"},
        "call": {"generated", "mpi.hpp", "real.hpp", "types", "ranks", "handles", "open"},
        "device": {"mpi.hpp", "real.hpp", "types", "ranks", "handles", "open", "call"},
        "attach.cpp": {"generated", "open", "call", "device"},
    },
}
FILE_CAP = 400
FUNCTION_CAP = 70
README_CAP = 20
MEMBER_CAP = 20
METHOD_CAP = 35

# Where classes are counted, and no file is a part of another one.
SIZED = ("src/", "sim/")

CODE = (".c", ".cpp", ".h", ".hpp", ".S", ".inc")
CXX = (".c", ".cpp", ".h", ".hpp")
HASH = (".py", ".cmake", ".sh", ".toml")

PACKAGE = "python/millrace/"

# Calls that only ever are the system's, and names that are so common that only "::name(" is taken for one.
SYSTEM_CALLS = (
    "mmap|munmap|mremap|madvise|memfd_create|pread|pwrite|preadv|pwritev|pwritev2|ftruncate|fallocate|"
    "posix_fallocate|fsync|fdatasync|sync_file_range|posix_fadvise|socket|socketpair|sendmsg|recvmsg|"
    "epoll_create1|epoll_ctl|epoll_wait|eventfd|signalfd|timerfd_create|fork|vfork|execv|execve|execvp|"
    "posix_spawn|setsid|syscall|flock|io_uring_\\w+"
)
COMMON_NAMES = "open|openat|close|read|write|poll|unlink|rename|stat|fstat|lseek|kill|wait|waitpid|pipe|pipe2|dup|dup2"
SYSTEM_CALL = re.compile(rf"(?<![\w.:>])(?:::)?(?:{SYSTEM_CALLS})\s*\(|(?<![\w>:])::(?:{COMMON_NAMES})\s*\(")
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
PART = re.compile(r"^// (?:The|What the) (?:part|half|rest|other half)s? of\b", re.MULTILINE)
FOR_TESTS = re.compile(r"(_test|_bench|_fuzz)\.[ch]pp$|/testing/|/test_\w+\.hpp$")
OWN_PATHS = re.compile(r"(?<![\w.~-])/(?:work|root|home/\w+)/")


used: set[str] = set()  # paths of exceptions.DROPPED_RESULTS that were needed


def room_of(path: str) -> str | None:
    parts = path.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == "src" else None


def excepted(path: str, table: dict[str, str]) -> bool:
    return any(path.startswith(prefix) for prefix in table)


def without_comments_and_strings(text: str) -> str:
    """Same lines, but comments, and what string literals hold, are gone."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)

    def blank(match: re.Match[str]) -> str:
        token = match.group(0)
        return '""' if token.startswith('"') else "\n" * token.count("\n")

    return pattern.sub(blank, text)


def direction(path: str, text: str) -> Iterator[str]:
    for quoted, angled in INCLUDE.findall(text):
        target = quoted or angled
        top = target.split("/")[0] if "/" in target else None
        if path.startswith("bench/") and top in ROOMS and "/" in target:
            yield f'bench includes nothing from src, but here is "{target}"'
        room = room_of(path)
        if room not in BELOW or top not in ROOMS or top == room or top in BELOW[room]:
            continue
        if not any(path.startswith(f) and target.startswith(t) for f, t in exceptions.INCLUDES):
            allowed = ", ".join(sorted(BELOW[room])) or "nothing"
            yield f'{room} may include {allowed}, but here is "{target}"'


def direction_inside(path: str, text: str) -> Iterator[str]:
    room = next((house for house in INSIDE if path.startswith(f"src/{house}/")), None)
    if room is None or not path.endswith(CODE):
        return
    own, inside = path.removeprefix(f"src/{room}/").split("/")[0], INSIDE[room]
    if own not in inside:
        yield f"code of {room} lies in one of its rooms: {', '.join(inside)}"
        return
    for quoted, angled in INCLUDE.findall(text):
        target = quoted or angled
        other = target.removeprefix(f"{room}/").split("/")[0] if target.startswith(f"{room}/") else own
        if target.startswith(".") or (other != own and other not in inside[own]):
            allowed = ", ".join(sorted(inside[own])) or "nothing"
            yield f'{room}/{own} may include {allowed}, but here is "{target}"'


def python_direction(path: str, text: str) -> Iterator[str]:
    """What accelerates a program imports nothing that measures, predicts, evaluates or demonstrates."""
    if not path.startswith(PACKAGE) or path.startswith((f"{PACKAGE}tools/", f"{PACKAGE}cli.py")):
        return
    for node in ast.walk(ast.parse(text)) if path.endswith(".py") else ():
        names = [f"{node.module}.{one.name}" for one in node.names] if isinstance(node, ast.ImportFrom) else ()
        for name in [one.name for one in node.names] if isinstance(node, ast.Import) else names:
            if re.match(r"(?:millrace\.)?tools\b", name):
                yield f"line {node.lineno}: only tools and the command line import tools, but here is {name}"


def rigs(path: str, text: str) -> Iterator[str]:
    if room_of(path) is None or FOR_TESTS.search(path):
        return
    for quoted, angled in INCLUDE.findall(text):
        if "/testing/" in (quoted or angled):
            yield f'shipped code includes a rig of the tests: "{quoted or angled}"'


def mpi_headers(path: str, text: str) -> Iterator[str]:
    if path.startswith(("src/front/mpiio/", "bench/", "tests/")) or path.endswith(".md"):
        return
    for quoted, angled in INCLUDE.findall(text):
        if (quoted or angled) in ("mpi.h", "mpio.h", "mpi-ext.h"):
            yield "MPI headers belong to src/front/mpiio, bench and tests"


def system_calls(path: str, text: str) -> Iterator[str]:
    if room_of(path) is None or FOR_TESTS.search(path):
        return
    if path.startswith(("src/io/", "src/front/hook/")) or excepted(path, exceptions.SYSTEM_CALLS):
        return
    code = without_comments_and_strings(text)
    for match in SYSTEM_CALL.finditer(code):
        line = code.count("\n", 0, match.start()) + 1
        yield f"line {line}: system call {match.group(0)}...) outside src/io (see exceptions.py)"


# Calls that change a file, and our functions over them. Status and Result are [[nodiscard]], so only a cast to void
# drops them; nothing warns of a system call.
CHANGES = "close|write|pwrite|pwritev|ftruncate|fallocate|fsync|fdatasync|sync_file_range|copy_file_range"
OUR_CHANGES = "close|sync_name|write_at|write_durably|remove_durably|resize|put"
DROPPED = re.compile(
    rf"\(void\)[^;{{}}]*?\b((?:{CHANGES}|{OUR_CHANGES})\s*\()|(?:[;{{}})]|\belse)\s*(::(?:{CHANGES})\s*\()"
)


def dropped_results(path: str, text: str) -> Iterator[str]:
    """Every error of a file is somebody's: no result of a call that changes a file is dropped."""
    if room_of(path) not in ("base", "io", "journal", "sink", "agent", "client") or FOR_TESTS.search(path):
        return
    code = without_comments_and_strings(text)
    for match in DROPPED.finditer(code):
        line = code.count("\n", 0, match.end()) + 1
        if path in exceptions.DROPPED_RESULTS:
            used.add(path)
        else:
            yield f"line {line}: the result of {match.group(1) or match.group(2)}...) is dropped (see exceptions.py)"


def file_length(path: str, text: str) -> Iterator[str]:
    lines = text.count("\n")
    if "/generated/" in path or not path.endswith((*CXX, ".py", ".cmake")) or excepted(path, exceptions.LONG_FILES):
        return
    if lines > FILE_CAP:
        yield f"{lines} lines; a file has at most {FILE_CAP}"


# Formatted code: a function's first line ends in "{" after ")", and its "}" stands below its first column.
OPENING = re.compile(
    r"^(\s*)(?!\s|(?:if|for|while|switch|else|do|catch|try|namespace|struct|class|enum|extern)\b)\S.*\{$"
)
SIGNATURE_END = re.compile(r"\)\s*(?:const|noexcept|override|final|&|&&|mutable|\s)*(?:->[^{]*)?(?::.*)?\{$")


INITIALIZER = re.compile(r"\s*:(?!:)")
MEMBER = re.compile(r"\s+\w+[({].*[)}](?:,| \{)$")


def before_initializers(lines: list[str], index: int) -> int:
    """Where the signature starts, if lines[index] is one of a constructor's member initializers; else index."""
    start = index
    while start > 0 and MEMBER.match(lines[start]):
        start -= 1
    if not INITIALIZER.match(lines[start]):
        return index
    start, depth = start - 1, lines[start - 1].count(")") - lines[start - 1].count("(")
    while depth > 0 and start > 0:
        start -= 1
        depth += lines[start].count(")") - lines[start].count("(")
    return start


def functions(text: str) -> Iterator[tuple[int, int]]:
    """(first line, number of lines) of every function body in clang-formatted C++."""
    lines = without_comments_and_strings(text).split("\n")
    for index, line in enumerate(lines):
        if not line.endswith("{") or not (SIGNATURE_END.search(line) or MEMBER.match(line)):
            continue
        # A signature over several lines starts where the parentheses balance.
        start, depth = index, line.count(")") - line.count("(")
        while depth > 0 and start > 0:
            start -= 1
            depth += lines[start].count(")") - lines[start].count("(")
        start = before_initializers(lines, start)
        if not OPENING.match(lines[start] if start == index else lines[start] + "{"):
            continue
        indent = len(lines[start]) - len(lines[start].lstrip())
        for end in range(index + 1, len(lines)):
            if re.match(rf"^ {{{indent}}}\}}", lines[end]):
                yield start + 1, end - start + 1
                break


def python_functions(text: str) -> Iterator[tuple[int, int]]:
    """(first line, number of lines) of every function."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.end_lineno - node.lineno + 1


def function_length(path: str, text: str) -> Iterator[str]:
    if "/generated/" in path or excepted(path, exceptions.LONG_FUNCTIONS):
        return
    found = functions(text) if path.endswith(CXX) else python_functions(text) if path.endswith(".py") else ()
    for first, count in found:
        if count > FUNCTION_CAP:
            yield f"line {first}: a function of {count} lines; the cap is {FUNCTION_CAP}"


def class_size(path: str, text: str) -> Iterator[str]:
    if not path.startswith(SIZED) or not path.endswith(CXX) or FOR_TESTS.search(path):
        return
    for one in classes(without_comments_and_strings(text)):
        if (path, one.name) in exceptions.LARGE_CLASSES:
            continue
        if one.members > MEMBER_CAP or one.functions > METHOD_CAP:
            yield (
                f"line {one.line}: {one.name} has {one.members} data members and {one.functions} functions; "
                f"the caps are {MEMBER_CAP} and {METHOD_CAP}"
            )


def parts_of_a_file(path: str, text: str) -> Iterator[str]:
    """A file has a subject of its own. It does not continue another one."""
    if path.startswith(SIZED) and path.endswith(CXX) and PART.search("\n".join(text.split("\n")[:12])):
        yield "the file says that it is a part of something: give it a subject, or merge it"


def spdx(path: str, text: str) -> Iterator[str]:
    name = path.rsplit("/", 1)[-1]
    if "/generated/" in path and path.endswith(".txt"):
        return
    known = path.endswith((*CODE, *HASH)) or name in ("CMakeLists.txt", "Makefile")
    if not known or not text.strip():
        return
    head = "\n".join(text.split("\n")[:4])
    if "SPDX-FileCopyrightText: " not in head or "SPDX-License-Identifier: Apache-2.0" not in head:
        yield "no SPDX header in the first lines"


def own_paths(path: str, text: str) -> Iterator[str]:
    for match in OWN_PATHS.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield f"line {line}: an absolute path of somebody's machine: {match.group(0)}"


def readme_length(path: str, text: str) -> Iterator[str]:
    in_room = path.startswith(("src/", "tests/", "cmd/", "bench/", "include/", "python/", "sim/"))
    lines = sum(not line.startswith("|") for line in text.splitlines())
    if in_room and path.endswith("/README.md") and lines > README_CAP:
        yield f"{lines} lines; a room's README has at most {README_CAP}, not counting rows of tables"


RULES = (
    direction,
    direction_inside,
    python_direction,
    rigs,
    mpi_headers,
    system_calls,
    dropped_results,
    file_length,
    function_length,
    class_size,
    parts_of_a_file,
    spdx,
    own_paths,
    readme_length,
)


def rooms_without_readme(paths: list[str]) -> Iterator[str]:
    """Every room needs a README.md."""
    rooms = {"/".join(p.split("/")[:2]) for p in paths if p.count("/") >= 2 and p.startswith(("src/", "tests/"))}
    houses = tuple(f"src/{house}/" for house in ("front", *INSIDE))
    inside = {h + p[len(h) :].split("/")[0] for h in houses for p in paths if p.startswith(h) and "/" in p[len(h) :]}
    rooms = rooms - {"src/front"} | inside - {"src/front/mpiio/generated"}
    rooms |= {p.split("/")[0] for p in paths if p.startswith(("bench/", "cmd/", "python/", "sim/"))}
    rooms |= {"/".join(p.split("/")[:2]) for p in paths if p.startswith("include/")}
    for room in sorted(rooms):
        if f"{room}/README.md" not in paths:
            yield room


def check(path: str, text: str) -> list[str]:
    return [f"{path}: {problem}" for rule in RULES for problem in rule(path, text)]
