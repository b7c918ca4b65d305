# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Every MPI_File_* function of MPI 4.0, and what Millrace does with it; and the collective functions by which
ranks tell each other that they have written. Data only; generate.py reads it.

A transfer is a row of four attributes; its large-count variant is derived. The others name their C
parameters and a class:

  own    a hand-written function of calls.hpp
  order  what this node holds of files of several nodes reaches them, then the MPI library's function
  pass   the MPI library's function; not interposed at all
"""

# name: (direction, position, coordination, completion)
TRANSFERS = {}
for direction in ("read", "write"):
    for position, at, shared in (("explicit", "_at", ""), ("individual", "", ""), ("shared", "", "_shared")):
        independent = f"{direction}{at}{shared}"
        TRANSFERS[independent] = (direction, position, "independent", "blocking")
        TRANSFERS["i" + independent] = (direction, position, "independent", "nonblocking")
        collective = f"{direction}_ordered" if shared else f"{direction}{at}_all"
        TRANSFERS[collective] = (direction, position, "collective", "blocking")
        if not shared:
            TRANSFERS["i" + collective] = (direction, position, "collective", "nonblocking")
        TRANSFERS[collective + "_begin"] = (direction, position, "collective", "split_begin")
        TRANSFERS[collective + "_end"] = (direction, position, "collective", "split_end")

# (function, C parameters, class, test that proves it)
OTHERS = [
    (
        "MPI_File_open",
        "MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh",
        "own",
        "open_close",
    ),
    ("MPI_File_close", "MPI_File* fh", "own", "open_close"),
    ("MPI_File_delete", "const char* filename, MPI_Info info", "pass", "delete"),
    ("MPI_File_set_size", "MPI_File fh, MPI_Offset size", "own", "size"),
    ("MPI_File_preallocate", "MPI_File fh, MPI_Offset size", "own", "size"),
    ("MPI_File_get_size", "MPI_File fh, MPI_Offset* size", "own", "size"),
    ("MPI_File_get_group", "MPI_File fh, MPI_Group* group", "pass", "inquiry"),
    ("MPI_File_get_amode", "MPI_File fh, int* amode", "pass", "inquiry"),
    ("MPI_File_set_info", "MPI_File fh, MPI_Info info", "pass", "info"),
    ("MPI_File_get_info", "MPI_File fh, MPI_Info* info_used", "own", "info"),
    (
        "MPI_File_set_view",
        "MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, "
        "const char* datarep, MPI_Info info",
        "own",
        "view",
    ),
    (
        "MPI_File_get_view",
        "MPI_File fh, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype, " "char* datarep",
        "pass",
        "view",
    ),
    ("MPI_File_seek", "MPI_File fh, MPI_Offset offset, int whence", "own", "pointers"),
    ("MPI_File_get_position", "MPI_File fh, MPI_Offset* offset", "own", "pointers"),
    ("MPI_File_get_byte_offset", "MPI_File fh, MPI_Offset offset, MPI_Offset* disp", "pass", "pointers"),
    ("MPI_File_seek_shared", "MPI_File fh, MPI_Offset offset, int whence", "own", "shared_pointer"),
    ("MPI_File_get_position_shared", "MPI_File fh, MPI_Offset* offset", "own", "shared_pointer"),
    ("MPI_File_get_type_extent", "MPI_File fh, MPI_Datatype datatype, MPI_Aint* extent", "pass", "inquiry"),
    ("MPI_File_get_type_extent_c", "MPI_File fh, MPI_Datatype datatype, MPI_Count* extent", "pass", "inquiry"),
    ("MPI_File_set_atomicity", "MPI_File fh, int flag", "own", "atomicity"),
    ("MPI_File_get_atomicity", "MPI_File fh, int* flag", "pass", "atomicity"),
    ("MPI_File_sync", "MPI_File fh", "own", "sync"),
    (
        "MPI_File_create_errhandler",
        "MPI_File_errhandler_function* fn, MPI_Errhandler* errhandler",
        "pass",
        "errhandler",
    ),
    ("MPI_File_set_errhandler", "MPI_File fh, MPI_Errhandler errhandler", "pass", "errhandler"),
    ("MPI_File_get_errhandler", "MPI_File fh, MPI_Errhandler* errhandler", "pass", "errhandler"),
    ("MPI_File_call_errhandler", "MPI_File fh, int errorcode", "pass", "errhandler"),
    ("MPI_Register_datarep", "...", "pass", "datarep"),
    ("MPI_Register_datarep_c", "...", "pass", "datarep"),
    ("MPI_Finalize", "", "own", "open_close"),
]

_sent = "const void* sendbuf, int sendcount, MPI_Datatype sendtype"
_each = "const void* sendbuf, const int* sendcounts, const int* displs, MPI_Datatype sendtype"
_into = "void* recvbuf, int recvcount, MPI_Datatype recvtype"
_into_each = "void* recvbuf, const int* recvcounts, const int* displs, MPI_Datatype recvtype"
_reduced = "const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op"
_root = "int root, MPI_Comm comm"

# (function, C parameters)
ORDERING = [
    ("MPI_Barrier", "MPI_Comm comm"),
    ("MPI_Bcast", f"void* buffer, int count, MPI_Datatype datatype, {_root}"),
    ("MPI_Gather", f"{_sent}, {_into}, {_root}"),
    ("MPI_Gatherv", f"{_sent}, {_into_each}, {_root}"),
    ("MPI_Scatter", f"{_sent}, {_into}, {_root}"),
    ("MPI_Scatterv", f"{_each}, {_into}, {_root}"),
    ("MPI_Allgather", f"{_sent}, {_into}, MPI_Comm comm"),
    ("MPI_Allgatherv", f"{_sent}, {_into_each}, MPI_Comm comm"),
    ("MPI_Alltoall", f"{_sent}, {_into}, MPI_Comm comm"),
    (
        "MPI_Alltoallv",
        "const void* sendbuf, const int* sendcounts, const int* sdispls, MPI_Datatype sendtype, "
        "void* recvbuf, const int* recvcounts, const int* rdispls, MPI_Datatype recvtype, MPI_Comm comm",
    ),
    ("MPI_Reduce", f"{_reduced}, {_root}"),
    ("MPI_Allreduce", f"{_reduced}, MPI_Comm comm"),
]
