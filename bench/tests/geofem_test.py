# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
import itertools
import os
import unittest

import harness
from harness import BenchTest, in_turn, mpis

try:
    import numpy
    import scipy.sparse.linalg
except ImportError:
    numpy = None

# Threads that wait must not take the processors from those that they wait for.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

YOUNG, POISSON = 1.0, 0.3


def element_stiffness(edge):
    """Of a cube, 24 x 24: strains in Voigt's notation and 3 Gauss points each way, not as the program has it."""
    scale = YOUNG / ((1 + POISSON) * (1 - 2 * POISSON))
    elasticity = numpy.zeros((6, 6))
    elasticity[:3, :3] = scale * POISSON
    elasticity[range(3), range(3)] = scale * (1 - POISSON)
    elasticity[range(3, 6), range(3, 6)] = scale * (1 - 2 * POISSON) / 2
    corners = [(c & 1, c >> 1 & 1, c >> 2) for c in range(8)]
    points, weights = numpy.polynomial.legendre.leggauss(3)
    stiffness = numpy.zeros((24, 24))
    for which in itertools.product(range(3), repeat=3):
        at = [(points[k] + 1) / 2 for k in which]
        strain = numpy.zeros((6, 24))
        for c, corner in enumerate(corners):
            near = [a if bit else 1 - a for a, bit in zip(at, corner, strict=True)]
            sign = [1 if bit else -1 for bit in corner]
            x, y, z = (sign[d] * near[(d + 1) % 3] * near[(d + 2) % 3] / edge for d in range(3))
            rows = [[x, 0, 0], [0, y, 0], [0, 0, z], [y, x, 0], [0, z, y], [z, 0, x]]
            strain[:, 3 * c : 3 * c + 3] = rows
        weight = numpy.prod([weights[k] / 2 for k in which]) * edge**3
        stiffness += weight * strain.T @ elasticity @ strain
    return stiffness


def traction_problem(nodes):
    """Matrix and load of a cuboid that slides on three faces and is pulled at the upper one."""
    nx, ny, nz = nodes
    edge = 1 / (max(nodes) - 1)

    def number(x, y, z):
        return x + nx * (y + ny * z)

    matrix = numpy.zeros((3 * nx * ny * nz,) * 2)
    load = numpy.zeros(3 * nx * ny * nz)
    stiffness = element_stiffness(edge)
    for x, y, z in itertools.product(range(nx - 1), range(ny - 1), range(nz - 1)):
        of = [number(x + (c & 1), y + (c >> 1 & 1), z + (c >> 2)) for c in range(8)]
        unknowns = [3 * node + i for node in of for i in range(3)]
        matrix[numpy.ix_(unknowns, unknowns)] += stiffness
        if z == nz - 2:
            for node in of[4:]:
                load[3 * node + 2] += edge**2 / 4
    for x, y, z in itertools.product(range(nx), range(ny), range(nz)):
        for i, coordinate in enumerate((x, y, z)):
            if coordinate == 0:
                fixed = 3 * number(x, y, z) + i
                matrix[fixed, :] = matrix[:, fixed] = load[fixed] = 0
                matrix[fixed, fixed] = 1
    return matrix, load


def read_dump(prefix, ranks, size):
    matrix, load, displacement = numpy.zeros((size, size)), numpy.full(size, numpy.nan), numpy.full(size, numpy.nan)
    seen = set()
    for rank in range(ranks):
        for line in prefix.with_name(f"{prefix.name}.{rank}").read_text().splitlines():
            kind, row, *rest = line.split()
            if kind == "A":
                assert (row, rest[0]) not in seen
                seen.add((row, rest[0]))
                matrix[int(row), int(rest[0])] = float(rest[1])
            else:
                (load if kind == "b" else displacement)[int(row)] = float(rest[0])
    return matrix, load, displacement


class Geofem(BenchTest):
    def solve(self, ranks, *arguments, mpi=None):
        return self.run_ok("geofem", mpi or mpis("geofem")[0], ranks, *arguments, "--no-limit")

    @unittest.skipUnless(numpy, "needs NumPy and SciPy")
    def test_matrix_load_and_solution_are_those_of_an_independent_program(self):
        nodes = (6, 4, 5)
        matrix, load = traction_problem(nodes)
        solution = scipy.sparse.linalg.spsolve(scipy.sparse.csc_matrix(matrix), load)
        for mpi, (ranks, threads) in zip(mpis("geofem"), ((3, 2), (4, 1)), strict=False):
            with self.subTest(mpi=mpi, ranks=ranks, threads=threads):
                self.solve(ranks, "-N", "6,4,5", "-t", threads, "-e", "1e-12", "--dump", self.file, mpi=mpi)
                seen_matrix, seen_load, displacement = read_dump(self.file, ranks, len(load))
                numpy.testing.assert_allclose(seen_matrix, matrix, rtol=0, atol=1e-13)
                numpy.testing.assert_allclose(seen_load, load, rtol=0, atol=1e-15)
                numpy.testing.assert_allclose(displacement, solution, rtol=0, atol=1e-10)

    def test_a_linear_displacement_is_exact_whatever_the_order_ranks_and_threads(self):
        for mpi in in_turn("geofem"):
            for ordering, ranks, threads in (
                ("none", 2, 1),
                ("mc", 1, 3),
                ("rcm", 3, 1),
                ("cm-rcm", 2, 2),
            ):
                with self.subTest(mpi=mpi, ordering=ordering, ranks=ranks, threads=threads):
                    document = self.solve(ranks, "-N", "9,11,7", "-r", ordering, "-t", threads, mpi=mpi)
                    self.assertTrue(document["verified"])
                    self.assertLessEqual(document["residual"], 1.1e-8)
                    self.assertLess(document["error"], 5e-8)

    def test_the_error_of_sines_falls_with_the_square_of_the_element(self):
        errors = [self.solve(1, "-N", n, "-p", "manufactured")["error"] for n in (6, 11, 21)]
        for coarse, fine in itertools.pairwise(errors):
            self.assertAlmostEqual(coarse / fine, 4, delta=0.4)

    def test_more_ranks_cost_few_iterations_and_threads_none(self):
        alone = self.solve(1, "-N", 13, "-r", "cm-rcm")["iterations"]
        self.assertEqual(self.solve(1, "-N", 13, "-t", 3)["iterations"], alone)
        for ranks in (2, 4):
            self.assertLess(self.solve(ranks, "-N", 13)["iterations"], 1.6 * alone)

    def test_orders_are_what_they_are_called(self):
        def colours(*arguments):
            return self.solve(1, "-N", 8, *arguments)["ordering"]["colours"]

        self.assertEqual(colours("-r", "rcm"), 7 * 7 + 1)  # planes x + 2 y + 4 z
        self.assertEqual(colours("-r", "cm-rcm", "-c", 12), 12)
        self.assertGreaterEqual(colours("-r", "cm-rcm", "-c", 2), 8)  # 8 nodes of an element are all connected
        self.assertGreaterEqual(colours("-r", "mc", "-c", 30), 30)

    def test_cores_have_the_same_problem_as_ranks_or_threads(self):
        shapes = [(4, 1), (2, 2), (1, 4)]
        documents = [self.solve(ranks, "-n", "5,4,3", "-t", threads) for ranks, threads in shapes]
        for document in documents:
            self.assertEqual(document["nodes"], [10, 8, 3])
        self.assertEqual([d["model"] for d in documents], ["flat MPI", "HB 2x2", "HB 4x1"])

    def test_operations_are_counted(self):
        document = self.solve(1, "-N", "5,6,7")
        rows, blocks = 5 * 6 * 7, 13 * 16 * 19
        self.assertEqual(document["flops_per_iteration"], 18 * blocks + 18 * (blocks - rows) + 42 * rows + 36 * rows)
        self.assertGreater(document["bytes_per_iteration"], 2 * 72 * blocks)

    def test_the_limit_is_measured(self):
        document = self.run_ok("geofem", mpis("geofem")[0], 2, "-n", 6)
        self.assertGreater(document["limit"]["triad_gb_s"], 0)
        self.assertGreater(document["fraction_of_limit"], 0)

    def test_what_does_not_converge_is_not_verified(self):
        status, out, _ = self.start("geofem", mpis("geofem")[0], 2, "-N", 9, "-m", 3, "--no-limit")
        self.assertEqual(status, 1)
        self.assertIn('"verified": false', out)

    def test_bad_use_is_refused_with_a_reason(self):
        self.assert_refused("is neither N nor NX,NY,NZ", "geofem", "-n", "3,4")
        self.assert_refused("is none of none, mc, rcm, cm-rcm", "geofem", "-r", "random")
        self.assert_refused("leaves nothing to do at the same time", "geofem", "-r", "none", "-t", "2")
        self.assert_refused("at least 2 nodes", "geofem", "-N", "1,5,5")
        self.assert_refused("is not a number from", "geofem", "-e", "0")
        status, _, err = self.start("geofem", mpis("geofem")[0], 5, "-N", 2)
        self.assertEqual(status, 2)
        self.assertIn("cannot be divided among so many ranks", err)


if __name__ == "__main__":
    harness.main("geofem")
