# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""A cube written by mpi4py through a subarray file view, a plane of the slowest dimension per call.

Usage: mpi4py_view.py FILE EDGE independent|collective. Rank 0 prints one JSON document.
"""

import json
import sys

import numpy as np
from mpi4py import MPI

path, edge, mode = sys.argv[1], int(sys.argv[2]), sys.argv[3]
comm = MPI.COMM_WORLD
rows, columns = MPI.Compute_dims(comm.size, 2)
row, column = divmod(comm.rank, columns)
start = [0, row * edge // rows, column * edge // columns]
shape = [edge, (row + 1) * edge // rows - start[1], (column + 1) * edge // columns - start[2]]
block = np.arange(np.prod(shape), dtype=np.float64).reshape(shape) + comm.rank * 1e9
view = MPI.DOUBLE.Create_subarray([edge] * 3, shape, start).Commit()

comm.Barrier()
begin = MPI.Wtime()
file = MPI.File.Open(comm, path, MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Set_view(0, MPI.DOUBLE, view)
for plane in block:
    (file.Write_all if mode == "collective" else file.Write)(np.ascontiguousarray(plane))
file.Close()
comm.Barrier()
seconds = MPI.Wtime() - begin

file = MPI.File.Open(comm, path, MPI.MODE_RDONLY)
file.Set_view(0, MPI.DOUBLE, view)
back = np.empty_like(block)
file.Read_all(back)
file.Close()
view.Free()
right = comm.allreduce(bool(np.array_equal(back, block)), op=MPI.LAND)
if comm.rank == 0:
    print(json.dumps({"seconds": seconds, "bytes": edge**3 * 8, "verified": right}))
sys.exit(0 if right else 1)
