# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Each rule catches what it is for, and lets what is right pass."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import classes
import exceptions_test
import rules
import type_names


def found(rule, path, text):
    return list(rule(path, text))


def function_of(lines: int, head: str = "int f(int a) {") -> str:
    return head + "\n" + "  g();\n" * (lines - 2) + "}\n"


class Rules(unittest.TestCase):
    def test_direction_upwards_is_caught(self):
        self.assertTrue(found(rules.direction, "src/sink/a.cpp", '#include "journal/writer.hpp"\n'))
        self.assertTrue(found(rules.direction, "src/base/a.cpp", '#include "extent/extent.hpp"\n'))
        self.assertTrue(found(rules.direction, "src/client/a.cpp", '#include "agent/core/core.hpp"\n'))
        self.assertTrue(found(rules.direction, "src/agent/a.cpp", '#include "client/file/file.hpp"\n'))
        self.assertTrue(found(rules.direction, "bench/ior/a.cpp", '#include "base/result.hpp"\n'))

    def test_direction_downwards_passes(self):
        self.assertFalse(found(rules.direction, "src/agent/a.cpp", '#include "io/storage.hpp"\n#include <vector>\n'))
        self.assertFalse(found(rules.direction, "src/front/mpiio/a.cpp", '#include "client/file/file.hpp"\n'))
        self.assertFalse(found(rules.direction, "src/sink/a.cpp", "#include <sys/uio.h>\n"))

    def test_rooms_inside_a_room(self):
        def problems(path, target):
            return found(rules.direction_inside, path, f'#include "{target}"\n')

        self.assertTrue(problems("src/agent/pipeline/a.cpp", "agent/requests/requests.hpp"))
        self.assertTrue(problems("src/agent/core/a.hpp", "agent/server/connection.hpp"))
        self.assertTrue(problems("src/agent/links/a.cpp", "agent/recovery/recovery.hpp"))
        self.assertTrue(problems("src/agent/core/testing/a_rig.hpp", "agent/links/links.hpp"))
        self.assertTrue(problems("src/agent/core/a.cpp", "../server/rounds.hpp"))
        self.assertFalse(problems("src/agent/core/a.cpp", "agent/pipeline/cover.hpp"))
        self.assertFalse(problems("src/agent/server/a.cpp", "agent/server/rounds.hpp"))
        self.assertFalse(problems("src/agent/pipeline/a.cpp", "sink/sink.hpp"))
        # A file that lies in none of the rooms could include all of them, and be included by all.
        self.assertTrue(problems("src/agent/a.hpp", "base/result.hpp"))
        self.assertTrue(problems("src/agent/common/a.hpp", "base/result.hpp"))
        self.assertTrue(problems("src/agent/pipeline/a.cpp", "agent/a.hpp"))

        self.assertTrue(problems("src/front/mpiio/open/a.cpp", "front/mpiio/call/pending.hpp"))
        self.assertFalse(problems("src/front/mpiio/call/a.cpp", "front/mpiio/open/opening.hpp"))
        self.assertFalse(problems("src/front/mpiio/open/a.cpp", "client/open/open.hpp"))
        self.assertTrue(problems("src/front/mpiio/a.hpp", "base/result.hpp"))

    def test_rooms_inside_have_one_order(self):
        for inside in rules.INSIDE.values():
            seen = set()
            for room, below in inside.items():
                self.assertLessEqual(below, seen, room)
                seen.add(room)

    def test_tools_are_not_imported_by_what_accelerates_a_program(self):
        for line in ("from millrace.tools.cluster import state", "from millrace import tools", "from ..tools import a"):
            text = f"def f():\n    {line}\n"
            self.assertTrue(found(rules.python_direction, "python/millrace/run/a.py", text), line)
            self.assertFalse(found(rules.python_direction, "python/millrace/tools/demo/a.py", text), line)
            self.assertFalse(found(rules.python_direction, "python/millrace/cli.py", text), line)
        self.assertFalse(found(rules.python_direction, "python/millrace/run/a.py", "from millrace import prefix\n"))

    def test_rigs_stay_with_the_tests(self):
        include = '#include "agent/core/testing/core_rig.hpp"\n'
        self.assertTrue(found(rules.rigs, "src/agent/core/core.cpp", include))
        self.assertFalse(found(rules.rigs, "src/agent/core/core_test.cpp", include))
        self.assertFalse(found(rules.rigs, "src/agent/core/testing/ring_rig.hpp", include))

    def test_mpi_headers_stay_in_their_places(self):
        self.assertTrue(found(rules.mpi_headers, "src/client/a.cpp", "#include <mpi.h>\n"))
        self.assertFalse(found(rules.mpi_headers, "src/front/mpiio/a.cpp", "#include <mpi.h>\n"))

    def test_no_result_of_a_change_is_dropped(self):
        for dropped in (
            "::close(fd);",
            "if (fd >= 0) ::close(fd);",
            "(void)::fsync(fd);",
            "(void)io::sync_name(path);",
            "(void)(safe ? io::remove_durably(path) : io::remove_owned(path));",
        ):
            self.assertTrue(found(rules.dropped_results, "src/agent/core/a.cpp", f"{{\n  {dropped}\n"), dropped)
        for kept in (
            "return ::close(fd) == 0;",
            "if (::fsync(fd) != 0) fail();",
            "result = ::ftruncate(fd, 0);",
            "to.close(1);",
        ):
            self.assertFalse(found(rules.dropped_results, "src/agent/core/a.cpp", f"{{\n  {kept}\n"), kept)

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
        for lines, long in ((69, False), (70, True)):
            python = "class A:\n    def f(self):\n" + "        g()\n" * lines
            self.assertEqual(bool(found(rules.function_length, "python/a.py", python)), long)

    def test_classes_are_counted(self):
        text = """
struct Plain { int a = 1, b{2}; std::map<int, int> c; };
template <class T>
class Many final : public Base<T> {
 public:
  Many(int a, int b)
      : a_(a), b_{b} {
    use();
  }
  Many(const Many&) = delete;
  ~Many() override;
  bool operator==(const Many& other) const;
  std::vector<int> take() { return std::exchange(values_, {}); }
  template <class F>
  void each(F f) const;
  static constexpr int most = 4;
  using Call = std::function<void(int, int)>;
  enum class End { all, none } end = End::all;

 private:
  struct Inner {
    int x;
  };
  friend class Other;
  alignas(64) std::atomic<int> head_{0};
  std::function<void(const std::string&, int)> log_;
  int (*raw_)(int, int) = nullptr;
  std::vector<int> values_ = {1, 2};
};
"""
        self.assertEqual(
            [(one.name, one.members, one.functions) for one in classes.classes(text)],
            [("Plain", 3, 0), ("Many", 5, 5), ("Inner", 1, 0)],
        )

    def test_class_sizes(self):
        def problems(members, functions):
            body = "".join(f"  int m{i}_;\n" for i in range(members))
            body += "".join(f"  void f{i}();\n" for i in range(functions))
            return found(rules.class_size, "src/agent/core/a.hpp", "class A {\n" + body + "};\n")

        self.assertFalse(problems(20, 35))
        self.assertTrue(problems(21, 0))
        self.assertTrue(problems(0, 36))

    def test_names_of_types(self):
        way = "namespace millrace::front {\nenum class Way : int { read };\n}\n"
        inside = "namespace a {\nclass B final : public C<int> {\n  struct Way {\n    int x;\n  };\n};\n}\n"
        hidden = "namespace {\ntemplate <class T>\nstruct Way {\n  T x;\n};\n}\n"
        local = "void f() {\n  struct Way {\n    int x;\n  };\n}\n"

        def problems(listed=(), **texts):
            files = {f"src/{room}.{end}": text for room, (end, text) in texts.items()}
            renamed = {path.replace("__", "/"): text for path, text in files.items()}
            return list(type_names.problems(renamed | glossary, dict.fromkeys(listed, "why")))

        glossary = {}

        front = ("hpp", way)
        for other in (("hpp", way), ("hpp", inside), ("cpp", hidden), ("cpp", "using Way = int;\n")):
            self.assertTrue(problems(front__a=front, front__b=other), other)
        self.assertTrue(problems(front__a=front, agent__b=("hpp", way)))
        self.assertTrue(problems(client__a=front, front__b=("cpp", hidden)))
        self.assertFalse(problems(front__a=front, client__b=("cpp", hidden)), "client includes no front")
        self.assertFalse(problems(front__a=("hpp", inside), front__b=("cpp", hidden)), "they never meet")
        for none in (local, "class Way;\n", "using Way = other::Way;\n", "struct Way* f();\n", "struct Ways {\n};\n"):
            self.assertFalse(problems(front__a=front, front__b=("cpp", none)), none)
        self.assertFalse(problems([("src/front/b.hpp", "Way")], front__a=front, front__b=front))
        self.assertTrue(problems([("src/front/a.hpp", "Way")], front__a=front), "the list has an entry too much")
        glossary[type_names.GLOSSARY] = "| word | meaning |\n| way | a means |\n"
        self.assertTrue(problems(front__a=("hpp", inside), front__b=("cpp", hidden)), "a word has one meaning")

    def test_lists_of_exceptions_never_grow(self):
        then = {"A": {"a", "b"}, "B": {"c"}}
        self.assertFalse(exceptions_test.longer(then, {"A": {"a", "new"}, "B": set()}))
        self.assertTrue(exceptions_test.longer(then, {"A": {"a", "b", "new"}, "B": set()}))
        self.assertTrue(exceptions_test.longer(then, {**then, "C": {"new"}}))

    def test_a_file_is_no_part(self):
        head = "// SPDX\n// The part of Core that takes files in.\n"
        self.assertTrue(found(rules.parts_of_a_file, "src/agent/core/a.cpp", head))
        self.assertTrue(found(rules.parts_of_a_file, "src/client/a.hpp", "// What the parts of A share.\n"))
        self.assertFalse(found(rules.parts_of_a_file, "src/agent/core/a.cpp", "// How files are opened.\n"))

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
        self.assertFalse(found(rules.readme_length, "src/io/README.md", "| a row |\n" * 21))
        self.assertEqual(
            list(rules.rooms_without_readme(["src/io/a.cpp", "bench/x.cpp", "bench/README.md"])), ["src/io"]
        )
        inside = ["src/agent/README.md", "src/agent/core/a.cpp", "src/front/hook/a.cpp"]
        self.assertEqual(list(rules.rooms_without_readme(inside)), ["src/agent/core", "src/front/hook"])


if __name__ == "__main__":
    unittest.main()
