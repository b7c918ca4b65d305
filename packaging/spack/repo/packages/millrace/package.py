# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403, F405
import os

from spack.package import *


class Millrace(CMakePackage):
    """Accelerates the file I/O of unmodified MPI programs: a library is preloaded, and an agent
    on each node writes the files."""

    homepage = "https://millrace.example"

    license("Apache-2.0")

    # From a checkout: spack dev-build millrace@main
    version("main", branch="main", git="file:///opt/src/millrace")

    variant("mpi", default=True, description="Build the library for the MPI of this installation")
    variant(
        "cuda",
        default=False,
        description="Take memory of NVIDIA GPUs: the driver is loaded while a program runs",
    )

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-typer@0.12:", type="run")
    depends_on("py-rich@13:", type="run")
    depends_on("py-tomli@2:", type="run", when="^python@:3.10")
    depends_on("liburing")
    depends_on("libsodium")
    depends_on("xxhash")
    depends_on("nlohmann-json", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("cuda", type="run", when="+cuda")

    generator("ninja")

    def cmake_args(self):
        args = [
            self.define("MILLRACE_TESTS", False),
            self.define("MILLRACE_BENCH", False),
            self.define("MILLRACE_WERROR", False),
            self.define("Python3_EXECUTABLE", self.spec["python"].command.path),
        ]
        # Empty, so that the build takes no MPI of the system.
        args += [self.define(f"MILLRACE_FOUND_{name}", "") for name in ("MPICH", "OMPI", "MPICC")]
        if self.spec.satisfies("+mpi"):
            ours = "OMPI" if self.spec["mpi"].satisfies("openmpi") else "MPICH"
            args.append(self.define(f"MILLRACE_MPICC_{ours}", self.spec["mpi"].mpicc))
        return args

    @property
    def build_targets(self):
        return ["shipped"]

    def test_preload(self):
        """a program runs with the preload"""
        millrace = which(join_path(self.prefix.bin, "millrace"))
        millrace("version")
        library = join_path(self.prefix.lib, "libmillrace.so")
        out = millrace("run", "--", "sh", "-c", "echo $LD_PRELOAD", output=str.split)
        assert library in out.strip().split(os.pathsep)
