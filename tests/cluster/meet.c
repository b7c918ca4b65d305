/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Collective functions as meetings of two ranks on two nodes: the one on the last node writes before, the one
 * on the first node writes the same bytes after. The file server is on the first node, so that what nobody
 * asks the last node's agent for comes there later. Says "pass NAME" for each function after which the later
 * write is the one that stays, or FAIL.
 *
 * usage: meet FOLDER */
#include <mpi.h>
#if defined(OPEN_MPI) && MPI_VERSION < 4
#include <mpi-ext.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1000, BEFORE = 'a', AFTER = 'b', MOST = 64 };

static int rank, ranks;
static const char* folder;
/* The two ranks: the writer of what comes first is rank 0. */
static MPI_Comm two = MPI_COMM_NULL, graph = MPI_COMM_NULL, cart = MPI_COMM_NULL, inter = MPI_COMM_NULL;
static MPI_Group group;
static MPI_Win fence = MPI_WIN_NULL, freed = MPI_WIN_NULL;
static MPI_File other = MPI_FILE_NULL;
static MPI_Comm made[MOST];
static MPI_Win windows[MOST];
static MPI_Request persistent = MPI_REQUEST_NULL; /* a barrier */
static int comms_made, windows_made, windowless;

static int in[4], out[4], one[2] = {1, 1}, place[2] = {0, 1}, bytes[2] = {0, 4}, both[2] = {0, 1};
static MPI_Aint far[2] = {0, 4};
static MPI_Datatype types[2] = {MPI_INT, MPI_INT};
static char memory[64];
static void* allocated;

#define A_COMM &made[comms_made++]
#define A_WINDOW &windows[windows_made++]

#ifdef OPEN_MPI /* nobody waits in it there */
#define ATOMICITY(CALL)
#else
#define ATOMICITY(CALL) CALL(File_set_atomicity, (other, 0))
#endif
#define CALLS(CALL, WIDE)                                                                       \
  CALL(Barrier, (two))                                                                          \
  WIDE(Bcast, (in, 1, MPI_INT, 0, two))                                                         \
  WIDE(Gather, (in, 1, MPI_INT, out, 1, MPI_INT, 1, two))                                       \
  CALL(Gatherv, (in, 1, MPI_INT, out, one, place, MPI_INT, 1, two))                             \
  WIDE(Scatter, (in, 1, MPI_INT, out, 1, MPI_INT, 0, two))                                      \
  CALL(Scatterv, (in, one, place, MPI_INT, out, 1, MPI_INT, 0, two))                            \
  WIDE(Allgather, (in, 1, MPI_INT, out, 1, MPI_INT, two))                                       \
  CALL(Allgatherv, (in, 1, MPI_INT, out, one, place, MPI_INT, two))                             \
  WIDE(Alltoall, (in, 1, MPI_INT, out, 1, MPI_INT, two))                                        \
  CALL(Alltoallv, (in, one, place, MPI_INT, out, one, place, MPI_INT, two))                     \
  CALL(Alltoallw, (in, one, bytes, types, out, one, bytes, types, two))                         \
  WIDE(Reduce, (in, out, 1, MPI_INT, MPI_SUM, 1, two))                                          \
  WIDE(Allreduce, (in, out, 1, MPI_INT, MPI_SUM, two))                                          \
  WIDE(Scan, (in, out, 1, MPI_INT, MPI_SUM, two))                                               \
  WIDE(Exscan, (in, out, 1, MPI_INT, MPI_SUM, two))                                             \
  CALL(Reduce_scatter, (in, out, one, MPI_INT, MPI_SUM, two))                                   \
  WIDE(Reduce_scatter_block, (in, out, 1, MPI_INT, MPI_SUM, two))                               \
  WIDE(Neighbor_allgather, (in, 1, MPI_INT, out, 1, MPI_INT, graph))                            \
  CALL(Neighbor_allgatherv, (in, 1, MPI_INT, out, one, place, MPI_INT, graph))                  \
  WIDE(Neighbor_alltoall, (in, 1, MPI_INT, out, 1, MPI_INT, graph))                             \
  CALL(Neighbor_alltoallv, (in, one, place, MPI_INT, out, one, place, MPI_INT, graph))          \
  CALL(Neighbor_alltoallw, (in, one, far, types, out, one, far, types, graph))                  \
  CALL(Comm_dup, (two, A_COMM))                                                                 \
  CALL(Comm_dup_with_info, (two, MPI_INFO_NULL, A_COMM))                                        \
  CALL(Comm_split, (two, 0, 0, A_COMM))                                                         \
  CALL(Comm_split_type, (two, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, A_COMM))                  \
  CALL(Comm_create, (two, group, A_COMM))                                                       \
  CALL(Comm_create_group, (two, group, 7, A_COMM))                                              \
  CALL(Cart_create, (two, 1, (int[]){2}, (int[]){1}, 0, A_COMM))                                \
  CALL(Cart_sub, (cart, (int[]){1}, A_COMM))                                                    \
  CALL(Graph_create, (two, 2, (int[]){1, 2}, (int[]){1, 0}, 0, A_COMM))                         \
  CALL(Dist_graph_create, (two, 1, &me, one, (int[]){1 - me}, one, MPI_INFO_NULL, 0, A_COMM))   \
  CALL(Dist_graph_create_adjacent, (two, 2, both, one, 2, both, one, MPI_INFO_NULL, 0, A_COMM)) \
  CALL(Intercomm_create, (MPI_COMM_SELF, 0, two, 1 - me, 7, A_COMM))                            \
  CALL(Intercomm_merge, (inter, me, A_COMM))                                                    \
  WIDE(Win_create, (memory, 64, 1, MPI_INFO_NULL, two, A_WINDOW))                               \
  CALL(Win_create_dynamic, (MPI_INFO_NULL, two, A_WINDOW))                                      \
  WIDE(Win_allocate, (64, 1, MPI_INFO_NULL, two, &allocated, A_WINDOW))                         \
  CALL(Win_fence, (0, fence))                                                                   \
  CALL(Win_free, (&freed))                                                                      \
  CALL(File_set_size, (other, 10))                                                              \
  CALL(File_preallocate, (other, 20))                                                           \
  CALL(File_set_view, (other, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL))                  \
  ATOMICITY(CALL)

#define BODY(name, arguments) \
  static int call_##name(int me) { return (void)me, MPI_##name arguments; }
#define ROW(name, arguments) {"MPI_" #name, call_##name},
#if MPI_VERSION >= 4
#define BODIES(name, arguments) BODY(name, arguments) BODY(name##_c, arguments)
#define ROWS(name, arguments) ROW(name, arguments) ROW(name##_c, arguments)
#else
#define BODIES BODY
#define ROWS ROW
#endif

CALLS(BODY, BODIES)

/* On one node of the machine, as its nodes share a kernel. */
static int call_Win_allocate_shared(int me) {
  (void)me;
  return MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, two, &allocated, A_WINDOW);
}

static int call_Start(int me) {
  (void)me;
  const int error = MPI_Start(&persistent);
  return error != MPI_SUCCESS ? error : MPI_Wait(&persistent, MPI_STATUS_IGNORE);
}

static int call_Startall(int me) {
  (void)me;
  const int error = MPI_Startall(1, &persistent);
  return error != MPI_SUCCESS ? error : MPI_Wait(&persistent, MPI_STATUS_IGNORE);
}

static int call_File_open(int me) {
  char path[4096];
  MPI_File fh;
  (void)me;
  snprintf(path, sizeof path, "%s/third", folder);
  const int error = MPI_File_open(two, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
  return error != MPI_SUCCESS ? error : MPI_File_close(&fh);
}

static const struct {
  const char* name;
  int (*call)(int me);
} calls[] = {CALLS(ROW, ROWS){"MPI_Win_allocate_shared", call_Win_allocate_shared},
             {"MPI_Start", call_Start},
             {"MPI_Startall", call_Startall},
             {"MPI_File_open", call_File_open}};

static void prepare_persistent(void) {
#if MPI_VERSION >= 4
  MPI_Barrier_init(two, MPI_INFO_NULL, &persistent);
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
  MPIX_Barrier_init(two, MPI_INFO_NULL, &persistent);
#endif
}

/* What the calls need, so that each is made alone. */
static void prepare(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/other", folder);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 || rank == ranks - 1 ? 0 : MPI_UNDEFINED, -rank, &two);
  if (two == MPI_COMM_NULL) return;
  MPI_Comm_set_errhandler(two, MPI_ERRORS_RETURN);
  MPI_Comm_group(two, &group);
  prepare_persistent();
  MPI_Dist_graph_create_adjacent(two, 2, both, one, 2, both, one, MPI_INFO_NULL, 0, &graph);
  MPI_Cart_create(two, 1, (int[]){2}, (int[]){1}, 0, &cart);
  int me = 0;
  MPI_Comm_rank(two, &me);
  MPI_Intercomm_create(MPI_COMM_SELF, 0, two, 1 - me, 8, &inter);
  windowless = MPI_Win_create(memory, 64, 1, MPI_INFO_NULL, two, &fence) != MPI_SUCCESS;
  if (!windowless) MPI_Win_create(memory, 64, 1, MPI_INFO_NULL, two, &freed);
  MPI_File_open(two, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &other);
}

static void clean_up(void) {
  if (two == MPI_COMM_NULL) return;
  MPI_File_close(&other);
  if (!windowless) MPI_Win_free(&fence);
  for (int i = 0; i < windows_made; ++i) MPI_Win_free(&windows[i]);
  for (int i = 0; i < comms_made; ++i) MPI_Comm_free(&made[i]);
  MPI_Request_free(&persistent);
  MPI_Group_free(&group);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&cart);
  MPI_Comm_free(&graph);
  MPI_Comm_free(&two);
}

static void judge(const char* name, const char* path) {
  unsigned char data[BYTES] = {0};
  long earlier = 0;
  FILE* file = fopen(path, "rb");
  const size_t got = file != NULL ? fread(data, 1, BYTES, file) : 0;
  if (file != NULL) fclose(file);
  for (int i = 0; i < BYTES; ++i) earlier += data[i] != AFTER;
  if (got == BYTES && earlier == 0) {
    printf("pass %s\n", name);
  } else {
    printf("FAIL %s: %zu bytes, %ld are not of the later write\n", name, got, earlier);
  }
  fflush(stdout);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  folder = argv[1];
  prepare();
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
    unsigned char data[BYTES];
    char path[4096];
    MPI_File fh;
    MPI_Bcast(&windowless, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (windowless && strstr(calls[i].name, "_Win_") != NULL) {
      if (rank == 0) printf("lacks %s\n", calls[i].name); /* Open MPI without a component for these nodes */
      continue;
    }
    snprintf(path, sizeof path, "%s/%s", folder, calls[i].name);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
    if (two != MPI_COMM_NULL) {
      const int me = rank == 0;
      memset(data, me == 0 ? BEFORE : AFTER, BYTES);
      if (me == 0) MPI_File_write_at(fh, 0, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
      if (calls[i].call(me) != MPI_SUCCESS) printf("FAIL %s: an error\n", calls[i].name);
      if (me == 1) MPI_File_write_at(fh, 0, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
      /* The earlier writer closes after the later write. */
      if (me == 1) MPI_Send(data, 1, MPI_BYTE, 0, 9, two);
      if (me == 0) MPI_Recv(data, 1, MPI_BYTE, 1, 9, two, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&fh);
    if (rank == 0) judge(calls[i].name, path);
  }
  clean_up();
  if (rank == 0) printf("end\n");
  MPI_Finalize();
  return 0;
}
