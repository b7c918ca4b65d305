# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""h5py over MPI: datasets, hyperslabs, attributes; read back from the open file and after reopening it."""

import sys

import h5py
import numpy
from mpi4py import MPI


def main():
    comm = MPI.COMM_WORLD
    if not h5py.get_config().mpi:
        raise SystemExit("this h5py is not parallel")
    path = sys.argv[1] + "/client.h5"
    n, total = 400, 0
    with h5py.File(path, "w", driver="mpio", comm=comm) as file:
        for i in range(12):
            data = file.create_dataset(f"group-{i % 3}/set-{i:02d}", (n, 3 * comm.size), dtype="f8", track_times=False)
            data.attrs["index"] = i
            mine = numpy.arange(n * 3, dtype="f8").reshape(n, 3) + 1000 * comm.rank + i
            if i % 2:
                with data.collective:
                    data[:, 3 * comm.rank : 3 * comm.rank + 3] = mine
            else:
                data[:, comm.rank :: comm.size] = mine
            back = data[:, 3 * comm.rank : 3 * comm.rank + 3] if i % 2 else data[:, comm.rank :: comm.size]
            assert (back == mine).all()
            total += int(back.sum())
        chunked = file.create_dataset("chunked", (n, comm.size), dtype="i4", chunks=(32, 1), track_times=False)
        chunked[:, comm.rank] = numpy.arange(n) * (comm.rank + 1)
        file.flush()
    comm.Barrier()
    with h5py.File(path, "r", driver="mpio", comm=comm) as file:
        total += int(file["chunked"][...].sum()) + int(file["group-1/set-04"][...].sum())
    total = comm.reduce(total)
    if comm.rank == 0:
        print(f"answer {total}\nend", flush=True)


main()
