# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The treatment of every MPI_File_* function of MPI 4.0, and of the collective functions by which ranks tell each
other that they have written. Data only; generate.py reads it.

A transfer is a row of four attributes. generate.py derives its large-count variant. Each other function has its C
parameters and a class:

  own    a hand-written function of calls.hpp
  order  first brings pending bytes of files that several nodes have open to their file servers; then calls the MPI
         library's function
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
    ("MPI_File_set_errhandler", "MPI_File fh, MPI_Errhandler errhandler", "own", "errhandler"),
    ("MPI_File_get_errhandler", "MPI_File fh, MPI_Errhandler* errhandler", "own", "errhandler"),
    ("MPI_File_call_errhandler", "MPI_File fh, int errorcode", "pass", "errhandler"),
    ("MPI_Register_datarep", "...", "pass", "datarep"),
    ("MPI_Register_datarep_c", "...", "pass", "datarep"),
    ("MPI_Init", "int* argc, char*** argv", "own", "open_close"),
    ("MPI_Init_thread", "int* argc, char*** argv, int required, int* provided", "own", "open_close"),
    ("MPI_Finalize", "", "own", "open_close"),
]

# The functions of OTHERS in which ranks wait for each other. Their hooks first order writes, as for ORDERING, and then
# do their own part.
MEETING = (
    "MPI_File_open",
    "MPI_File_close",
    "MPI_File_set_size",
    "MPI_File_preallocate",
    "MPI_File_set_view",
    "MPI_File_set_atomicity",
    "MPI_File_sync",
)

# The types of COUNT, COUNTS, DISPLS and UNIT differ in the large-count variant. The variant is hooked too if all of
# them are numbers. With arrays, hook/narrow.cpp cannot replace a missing variant by the function with small counts.
WORDS = {
    "COUNTS": ("const int*", "const MPI_Count*"),
    "COUNT": ("int", "MPI_Count"),
    "DISPLS": ("const int*", "const MPI_Aint*"),
    "UNIT": ("int", "MPI_Aint"),
}
_sent = "const void* sendbuf, COUNT sendcount, MPI_Datatype sendtype"
_each = "const void* sendbuf, COUNTS sendcounts, DISPLS displs, MPI_Datatype sendtype"
_into = "void* recvbuf, COUNT recvcount, MPI_Datatype recvtype"
_into_each = "void* recvbuf, COUNTS recvcounts, DISPLS displs, MPI_Datatype recvtype"
_reduced = "const void* sendbuf, void* recvbuf, COUNT count, MPI_Datatype datatype, MPI_Op op"
_root = "int root, MPI_Comm comm"
_all_to_each = (
    "const void* sendbuf, COUNTS sendcounts, DISPLS sdispls, MPI_Datatype sendtype, "
    "void* recvbuf, COUNTS recvcounts, DISPLS rdispls, MPI_Datatype recvtype, MPI_Comm comm"
)
_types = "const MPI_Datatype*"
_made = "MPI_Comm* newcomm"
_window = "MPI_Aint size, UNIT disp_unit, MPI_Info info, MPI_Comm comm"

# The blocking collective functions by which a rank may learn that another rank has come to the same call, and the
# functions that start persistent ones. MPI_Comm_free and MPI_Comm_disconnect are not here, because a rank learns
# nothing from them. Calls of two ranks (messages, MPI_Win_post, MPI_Win_lock) and constructors from groups without a
# communicator (MPI sessions) are missing too. MPI_Start cannot tell a persistent message from a collective function.
# (function, C parameters)
ORDERING = [
    ("MPI_Barrier", "MPI_Comm comm"),
    ("MPI_Start", "MPI_Request* request"),
    ("MPI_Startall", "int count, MPI_Request* requests"),
    ("MPI_Bcast", f"void* buffer, COUNT count, MPI_Datatype datatype, {_root}"),
    ("MPI_Gather", f"{_sent}, {_into}, {_root}"),
    ("MPI_Gatherv", f"{_sent}, {_into_each}, {_root}"),
    ("MPI_Scatter", f"{_sent}, {_into}, {_root}"),
    ("MPI_Scatterv", f"{_each}, {_into}, {_root}"),
    ("MPI_Allgather", f"{_sent}, {_into}, MPI_Comm comm"),
    ("MPI_Allgatherv", f"{_sent}, {_into_each}, MPI_Comm comm"),
    ("MPI_Alltoall", f"{_sent}, {_into}, MPI_Comm comm"),
    ("MPI_Alltoallv", _all_to_each),
    (
        "MPI_Alltoallw",
        f"const void* sendbuf, COUNTS sendcounts, DISPLS sdispls, {_types} sendtypes, "
        f"void* recvbuf, COUNTS recvcounts, DISPLS rdispls, {_types} recvtypes, MPI_Comm comm",
    ),
    ("MPI_Reduce", f"{_reduced}, {_root}"),
    ("MPI_Allreduce", f"{_reduced}, MPI_Comm comm"),
    ("MPI_Scan", f"{_reduced}, MPI_Comm comm"),
    ("MPI_Exscan", f"{_reduced}, MPI_Comm comm"),
    (
        "MPI_Reduce_scatter",
        "const void* sendbuf, void* recvbuf, COUNTS recvcounts, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm",
    ),
    (
        "MPI_Reduce_scatter_block",
        "const void* sendbuf, void* recvbuf, COUNT recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm",
    ),
    ("MPI_Neighbor_allgather", f"{_sent}, {_into}, MPI_Comm comm"),
    ("MPI_Neighbor_allgatherv", f"{_sent}, {_into_each}, MPI_Comm comm"),
    ("MPI_Neighbor_alltoall", f"{_sent}, {_into}, MPI_Comm comm"),
    ("MPI_Neighbor_alltoallv", _all_to_each),
    (
        "MPI_Neighbor_alltoallw",
        f"const void* sendbuf, COUNTS sendcounts, const MPI_Aint* sdispls, {_types} sendtypes, "
        f"void* recvbuf, COUNTS recvcounts, const MPI_Aint* rdispls, {_types} recvtypes, MPI_Comm comm",
    ),
    ("MPI_Comm_dup", f"MPI_Comm comm, {_made}"),
    ("MPI_Comm_dup_with_info", f"MPI_Comm comm, MPI_Info info, {_made}"),
    ("MPI_Comm_split", f"MPI_Comm comm, int color, int key, {_made}"),
    ("MPI_Comm_split_type", f"MPI_Comm comm, int split_type, int key, MPI_Info info, {_made}"),
    ("MPI_Comm_create", f"MPI_Comm comm, MPI_Group group, {_made}"),
    ("MPI_Comm_create_group", f"MPI_Comm comm, MPI_Group group, int tag, {_made}"),
    ("MPI_Cart_create", f"MPI_Comm comm, int ndims, const int* dims, const int* periods, int reorder, {_made}"),
    ("MPI_Cart_sub", f"MPI_Comm comm, const int* remain_dims, {_made}"),
    ("MPI_Graph_create", f"MPI_Comm comm, int nnodes, const int* index, const int* edges, int reorder, {_made}"),
    (
        "MPI_Dist_graph_create",
        "MPI_Comm comm, int n, const int* sources, const int* degrees, const int* destinations, "
        f"const int* weights, MPI_Info info, int reorder, {_made}",
    ),
    (
        "MPI_Dist_graph_create_adjacent",
        "MPI_Comm comm, int indegree, const int* sources, const int* sourceweights, int outdegree, "
        f"const int* destinations, const int* destweights, MPI_Info info, int reorder, {_made}",
    ),
    (
        "MPI_Intercomm_create",
        f"MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag, {_made}",
    ),
    ("MPI_Intercomm_merge", f"MPI_Comm intercomm, int high, {_made}"),
    (
        "MPI_Comm_spawn",
        "const char* command, char** argv, int maxprocs, MPI_Info info, int root, MPI_Comm comm, "
        "MPI_Comm* intercomm, int* errcodes",
    ),
    (
        "MPI_Comm_spawn_multiple",
        "int count, char** commands, char*** argvs, const int* maxprocs, const MPI_Info* infos, int root, "
        "MPI_Comm comm, MPI_Comm* intercomm, int* errcodes",
    ),
    ("MPI_Comm_accept", f"const char* port_name, MPI_Info info, int root, MPI_Comm comm, {_made}"),
    ("MPI_Comm_connect", f"const char* port_name, MPI_Info info, int root, MPI_Comm comm, {_made}"),
    ("MPI_Win_create", f"void* base, {_window}, MPI_Win* win"),
    ("MPI_Win_create_dynamic", "MPI_Info info, MPI_Comm comm, MPI_Win* win"),
    ("MPI_Win_allocate", f"{_window}, void* baseptr, MPI_Win* win"),
    ("MPI_Win_allocate_shared", f"{_window}, void* baseptr, MPI_Win* win"),
    ("MPI_Win_fence", "int assertion, MPI_Win win"),
    ("MPI_Win_free", "MPI_Win* win"),
]
# Its own part orders all files but the one that it closes.
ORDERS_ITSELF = ("MPI_File_close",)
