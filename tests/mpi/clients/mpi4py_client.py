# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""mpi4py's MPI.File: views, independent, collective, non-blocking and split calls; read back at once."""

import sys

import numpy
from mpi4py import MPI


def main():
    comm = MPI.COMM_WORLD
    rank, size = comm.rank, comm.size
    file = MPI.File.Open(comm, sys.argv[1] + "/client.bin", MPI.MODE_CREATE | MPI.MODE_RDWR)
    rows, columns = 64, 48
    total = 0

    # A matrix by blocks of columns.
    block = MPI.INT.Create_subarray([rows, columns * size], [rows, columns], [0, columns * rank])
    block.Commit()
    file.Set_view(0, MPI.INT, block)
    mine = numpy.arange(rows * columns, dtype="i4") + 100000 * rank
    file.Write_all(mine)
    back = numpy.zeros_like(mine)
    file.Read_at_all(0, back)
    assert (back == mine).all()
    total += int(back.sum())

    # Small pieces at explicit offsets behind it.
    file.Sync()
    comm.Barrier()
    file.Sync()
    base = rows * columns * size * 4
    file.Set_view(base, MPI.BYTE, MPI.BYTE)
    for i in range(200):
        file.Write_at((i * size + rank) * 37, numpy.full(37, (i + rank) % 251, dtype="u1"))
    request = file.Iwrite_at(200 * size * 37 + rank * 100, numpy.full(100, rank + 1, dtype="u1"))
    request.Wait()
    for i in range(0, 200, 7):
        piece = numpy.zeros(37, dtype="u1")
        file.Read_at((i * size + rank) * 37, piece)
        assert (piece == (i + rank) % 251).all()
        total += int(piece.sum())

    # Split collective, ordered, and the size.
    file.Sync()
    comm.Barrier()
    file.Sync()
    behind = base + 200 * size * 37 + 100 * size
    file.Set_view(behind, MPI.DOUBLE, MPI.DOUBLE)
    doubles = numpy.linspace(rank, rank + 1, 100)
    file.Write_at_all_begin(100 * rank, doubles)
    file.Write_at_all_end(doubles)
    comm.Barrier()
    assert file.Get_size() == behind + 800 * size
    file.Close()
    block.Free()
    total = comm.reduce(total)
    if rank == 0:
        print(f"answer {total}\nend", flush=True)


main()
