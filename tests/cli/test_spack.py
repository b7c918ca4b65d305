# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The Spack package, read with a stand-in for Spack: its variants, and the CMake variables that it sets."""

import re
import sys
import types

import pytest
from conftest import ROOT

RECIPE = ROOT / "packaging/spack/repo/packages/millrace/package.py"


class Spec:
    """A concrete spec: the words that hold, and an MPI and a Python."""

    def __init__(self, *words):
        self.words = words
        self.mpicc, self.command = "/mpi/bin/mpicc", types.SimpleNamespace(path="/usr/bin/python3")

    def satisfies(self, word):
        return word in self.words

    def __getitem__(self, name):
        return self


@pytest.fixture
def recipe(monkeypatch):
    """The class, and the arguments of its directives."""
    directives = []

    class CMakePackage:
        @staticmethod
        def define(name, value):
            return f"-D{name}={value}"

    def note(name):
        return lambda *words, **more: directives.append((name, words, more))

    package = types.ModuleType("spack.package")
    names = ("license", "version", "variant", "depends_on", "generator")
    vars(package).update({name: note(name) for name in names}, CMakePackage=CMakePackage)
    monkeypatch.setitem(sys.modules, "spack", types.ModuleType("spack"))
    monkeypatch.setitem(sys.modules, "spack.package", package)
    found = {}
    exec(compile(RECIPE.read_text(), RECIPE, "exec"), found)
    return found["Millrace"], directives


def test_it_has_variants_for_mpi_and_cuda(recipe):
    _, directives = recipe
    assert [words[0] for name, words, _ in directives if name == "variant"] == ["mpi", "cuda"]
    assert {more.get("when") for name, words, more in directives if words[0] in ("mpi", "cuda")} >= {"+mpi", "+cuda"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["+mpi", "openmpi"], "-DMILLRACE_MPICC_OMPI=/mpi/bin/mpicc"),
        (["+mpi"], "-DMILLRACE_MPICC_MPICH=/mpi/bin/mpicc"),
        ([], None),
    ],
)
def test_it_sets_variables_that_the_build_reads(recipe, words, expected):
    made = recipe[0]()
    made.spec = Spec(*words)
    arguments = made.cmake_args()
    assert {word for word in arguments if "MILLRACE_MPICC" in word} == ({expected} if expected else set())
    assert {f"-DMILLRACE_FOUND_{name}=" for name in ("MPICH", "OMPI", "MPICC")} <= set(arguments)
    build = "".join(path.read_text() for path in [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")])
    for name in re.findall(r"-D(\w+)=", " ".join(arguments)):
        assert re.search(rf"\b{name}\b", build), name
    targets = (ROOT / "cmake/install.cmake").read_text()
    assert all(f"add_custom_target({name} " in targets for name in made.build_targets)
