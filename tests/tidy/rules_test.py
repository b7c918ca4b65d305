# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Each rule catches what it is for, and lets what is right pass."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import rules


def found(rule, path, text):
    return list(rule(path, text))


def function_of(lines: int, head: str = "int f(int a) {") -> str:
    return head + "\n" + "  g();\n" * (lines - 2) + "}\n"


class Rules(unittest.TestCase):
    def test_direction_upwards_is_caught(self):
        self.assertTrue(found(rules.direction, "src/sink/a.cpp", '#include "journal/writer.hpp"\n'))
        self.assertTrue(found(rules.direction, "src/base/a.cpp", '#include "extent/extent.hpp"\n'))
        self.assertTrue(found(rules.direction, "src/client/a.cpp", '#include "agent/core/core.hpp"\n'))
        self.assertTrue(found(rules.direction, "src/agent/a.cpp", '#include "client/file.hpp"\n'))
        self.assertTrue(found(rules.direction, "bench/ior/a.cpp", '#include "base/result.hpp"\n'))

    def test_direction_downwards_passes(self):
        self.assertFalse(found(rules.direction, "src/agent/a.cpp", '#include "io/storage.hpp"\n#include <vector>\n'))
        self.assertFalse(found(rules.direction, "src/front/mpiio/a.cpp", '#include "client/file.hpp"\n'))
        self.assertFalse(found(rules.direction, "src/sink/a.cpp", "#include <sys/uio.h>\n"))

    def test_mpi_headers_stay_in_their_places(self):
        self.assertTrue(found(rules.mpi_headers, "src/client/a.cpp", "#include <mpi.h>\n"))
        self.assertFalse(found(rules.mpi_headers, "src/front/mpiio/a.cpp", "#include <mpi.h>\n"))

    def test_system_calls_stay_in_their_places(self):
        for call in (
            "::write(fd, p, n)",
            "mmap(nullptr, 1)",
            "::fork()",
            "x = pwritev(fd, v, 1, 0)",
            "syscall(1)",
        ):
            self.assertTrue(found(rules.system_calls, "src/client/a.cpp", f"  {call};\n"), call)
            self.assertFalse(found(rules.system_calls, "src/io/posix/a.cpp", f"  {call};\n"), call)
        for call in (
            "file.write(p)",
            "file->fsync()",
            "write(p)",
            "core::open(x)",
            "// ::write(fd)",
            's = "::write("',
        ):
            self.assertFalse(found(rules.system_calls, "src/client/a.cpp", f"  {call};\n"), call)

    def test_caps(self):
        self.assertTrue(found(rules.file_length, "src/io/a.cpp", "\n" * 401))
        self.assertFalse(found(rules.file_length, "src/io/a.cpp", "\n" * 400))
        self.assertFalse(found(rules.file_length, "src/front/mpiio/generated/a.hpp", "\n" * 401))

    def test_function_lengths(self):
        self.assertFalse(found(rules.function_length, "src/io/a.cpp", function_of(70)))
        heads = (
            "int f(int a) {",
            "Status File::write(std::span<const Piece> pieces) const {",
            "auto f() -> int {",
            "A::A(int b) : b_(b) {",
            "void f(int a,\n       int b) {",
            "A::A(int b)\n    : b_(b) {",
            "A::A(int b,\n     int c)\n    : b_(b),\n      c_{c} {",
        )
        for head in heads:
            self.assertTrue(found(rules.function_length, "src/io/a.cpp", function_of(72, head)), head)
        body = "class A {\n  void f() {\n" + "    g();\n" * 75 + "  }\n};\n"
        self.assertTrue(found(rules.function_length, "src/io/a.cpp", body))
        self.assertFalse(found(rules.function_length, "src/io/a.cpp", "class A {\n" + "  int f();\n" * 90 + "};\n"))
        table = "array rows{\n" + "    Row{[](int a) { return a; }},\n" * 90 + "    Row{[](int a) {\n    }},\n};\n"
        self.assertFalse(found(rules.function_length, "src/io/a.cpp", table))
        nested = "namespace a {\n" + "int f() { return 1; }\n" * 90 + "}\n"
        self.assertFalse(found(rules.function_length, "src/io/a.cpp", nested))

    def test_spdx(self):
        self.assertTrue(found(rules.spdx, "src/io/a.cpp", "int a;\n"))
        good = "// SPDX-FileCopyrightText: 2026 The Millrace authors\n// SPDX-License-Identifier: Apache-2.0\n"
        self.assertFalse(found(rules.spdx, "src/io/a.cpp", good))

    def test_own_paths(self):
        self.assertTrue(found(rules.own_paths, "docs/a.md", "see " + "/ho" + "me/alice/x\n"))
        self.assertFalse(found(rules.own_paths, "docs/a.md", "see docs/wo" + "rk/x and ~/wo" + "rk/x\n"))

    def test_readmes(self):
        self.assertTrue(found(rules.readme_length, "src/io/README.md", "\n" * 21))
        self.assertFalse(found(rules.readme_length, "src/io/README.md", "\n" * 20))
        self.assertEqual(
            list(rules.rooms_without_readme(["src/io/a.cpp", "bench/x.cpp", "bench/README.md"])), ["src/io"]
        )


if __name__ == "__main__":
    unittest.main()
