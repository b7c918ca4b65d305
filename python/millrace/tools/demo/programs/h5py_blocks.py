# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""A cube written through h5py by all ranks, block-decomposed in its two fastest dimensions.

Usage: h5py_blocks.py FILE EDGE independent|collective. Rank 0 prints one JSON document.
"""

import json
import sys

import h5py
import numpy as np
from mpi4py import MPI

path, edge, mode = sys.argv[1], int(sys.argv[2]), sys.argv[3]
comm = MPI.COMM_WORLD
rows, columns = MPI.Compute_dims(comm.size, 2)
row, column = divmod(comm.rank, columns)
j0, j1 = row * edge // rows, (row + 1) * edge // rows
k0, k1 = column * edge // columns, (column + 1) * edge // columns
i, j, k = np.ogrid[0:edge, j0:j1, k0:k1]
block = (i * 1e6 + j * 1e3 + k).astype(np.float32)

comm.Barrier()
begin = MPI.Wtime()
with h5py.File(path, "w", driver="mpio", comm=comm) as file:
    file.attrs["title"] = "a cube in blocks"
    cube = file.create_dataset("cube", (edge, edge, edge), dtype=np.float32)
    if mode == "collective":
        with cube.collective:
            cube[:, j0:j1, k0:k1] = block
    else:
        cube[:, j0:j1, k0:k1] = block
comm.Barrier()
seconds = MPI.Wtime() - begin

with h5py.File(path, "r", driver="mpio", comm=comm) as file:
    right = bool(np.array_equal(file["cube"][:, j0:j1, k0:k1], block))
right = comm.allreduce(right, op=MPI.LAND)
if comm.rank == 0:
    print(json.dumps({"seconds": seconds, "bytes": edge**3 * 4, "verified": right}))
sys.exit(0 if right else 1)
