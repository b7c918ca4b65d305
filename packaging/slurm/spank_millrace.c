/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * SPANK plugin: `srun --millrace ./app` and `sbatch --millrace script` run the ranks of a step with Millrace.
 * It lies in lib/slurm of a prefix and finds the preload library beside that folder.
 * docs/how-to/slurm.md describes it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

SPANK_PLUGIN(millrace, 1)

/* sbatch --millrace sets this variable for the batch script. The steps of the script read it. */
static const char wanted_variable[] = "SLURM_MILLRACE";
/* srun sets this variable for all nodes of the step: all ranks run without Millrace. */
static const char without_variable[] = "SLURM_MILLRACE_WITHOUT";
enum { list_max = 32 * 1024 };
static int wanted;
static int missing_here; /* other nodes have the library */

static int note_option(int value, const char* argument, int remote) {
  (void)value;
  (void)argument;
  (void)remote;
  wanted = 1;
  return ESPANK_SUCCESS;
}

static struct spank_option option = {
    "millrace", NULL, "accelerate the MPI-IO of this job's programs with Millrace", 0, 0, note_option};

/* The prefix that this plugin lies in: /opt/millrace for /opt/millrace/lib/slurm/spank_millrace.so. */
static int find_prefix(char* prefix) {
  Dl_info own;
  if (dladdr(wanted_variable, &own) == 0 || realpath(own.dli_fname, prefix) == NULL) return 0;
  for (int level = 0; level < 3; ++level) {
    char* slash = strrchr(prefix, '/');
    if (slash == NULL) return 0;
    *slash = 0;
  }
  return 1;
}

/* True if `path` can be preloaded. LD_PRELOAD cannot hold a path with a blank or a colon. */
static int check_library(const char* path) {
  if (access(path, R_OK) == 0 && strpbrk(path, " :\t\n") == NULL) return 1;
  return 0;
}

static int is_on(spank_t step, const char* variable) {
  char value[8] = "";
  return spank_getenv(step, variable, value, sizeof value) == ESPANK_SUCCESS && strcmp(value, "1") == 0;
}

/* True for the helpers by which mpirun and mpiexec start ranks. The launcher itself starts its own node's
 * ranks, so otherwise some ranks of a job would have Millrace and some not. */
static int starts_helper(spank_t step) {
  static const char* const helpers[] = {"orted", "prted", "hydra_pmi_proxy", "hydra_bstrap_proxy",
                                        "pmi_proxy"};
  int count = 0;
  char** words = NULL;
  if (spank_get_item(step, S_JOB_ARGV, &count, &words) != ESPANK_SUCCESS || count < 1) return 0;
  const char* slash = strrchr(words[0], '/');
  const char* name = slash != NULL ? slash + 1 : words[0];
  for (size_t i = 0; i < sizeof helpers / sizeof helpers[0]; ++i) {
    if (strcmp(name, helpers[i]) == 0) return 1;
  }
  return 0;
}

/* Puts Millrace before the libraries that the user preloads. False: the step needs nothing more, or the
 * library is missing here. */
static int preload(spank_t step, const char* prefix) {
  static char library[PATH_MAX + 64], plain[PATH_MAX + 64], list[list_max], theirs[list_max - 3 * PATH_MAX];
  snprintf(library, sizeof library, "%s/lib/libmillrace.so", prefix);
  snprintf(plain, sizeof plain, "%s/lib/libmillrace_posix.so", prefix);
  if (!check_library(library)) {
    slurm_spank_log(
        "millrace: %s cannot be preloaded on this node, and srun's node has it: ranks with and without "
        "Millrace cannot work together, so the step fails; install Millrace on all nodes",
        library);
    missing_here = 1;
    return 0;
  }
  const spank_err_t found = spank_getenv(step, "LD_PRELOAD", theirs, (int)sizeof theirs);
  if (found == ESPANK_NOSPACE) {
    slurm_spank_log("millrace: LD_PRELOAD is too long; the program runs without Millrace");
    return 0;
  }
  if (found != ESPANK_SUCCESS) theirs[0] = 0;
  if (strstr(theirs, "libmillrace.so") != NULL)
    return 0; /* by `millrace run`, with that command's settings */
  char other[8];
  const int posix = is_on(step, "MILLRACE_POSIX") ||
                    spank_getenv(step, "MILLRACE_POSIX_ASYNC", other, sizeof other) != ESPANK_ENV_NOEXIST ||
                    spank_getenv(step, "MILLRACE_POSIX_STAGE", other, sizeof other) != ESPANK_ENV_NOEXIST;
  const int with_plain = posix && check_library(plain);
  if (posix && !with_plain)
    slurm_spank_log("millrace: %s cannot be preloaded on this node; plain files are left as they are", plain);
  snprintf(list, sizeof list, "%s%s%s%s%s", library, with_plain ? ":" : "", with_plain ? plain : "",
           theirs[0] != 0 ? ":" : "", theirs);
  return spank_setenv(step, "LD_PRELOAD", list, 1) == ESPANK_SUCCESS;
}

/* All ranks of a step must have the same key, and no other step of this or another job may have it. */
static void name_job(spank_t step, uint32_t step_id) {
  uint32_t job = 0, restarts = 0;
  char key[64];
  spank_get_item(step, S_JOB_ID, &job);
  spank_get_item(step, S_SLURM_RESTART_COUNT, &restarts);
  snprintf(key, sizeof key, "slurm-%u.%u.%u", job, step_id, restarts);
  spank_setenv(step, "MILLRACE_JOB", key, 1);
}

int slurm_spank_init(spank_t step, int count, char* arguments[]) {
  (void)count;
  (void)arguments;
  return spank_option_register(step, &option);
}

/* In srun, before it starts the step: the decision for all nodes. Slurm passes variables SLURM_* to them,
 * whatever
 * --export says. */
int slurm_spank_local_user_init(spank_t step, int count, char* arguments[]) {
  (void)step;
  (void)count;
  (void)arguments;
  static char prefix[PATH_MAX], library[PATH_MAX + 64];
  const char* value = getenv(wanted_variable);
  unsetenv(without_variable); /* of the step that this one runs in */
  if (!wanted && (value == NULL || strcmp(value, "1") != 0)) return ESPANK_SUCCESS;
  if (!find_prefix(prefix)) return ESPANK_SUCCESS;
  snprintf(library, sizeof library, "%s/lib/libmillrace.so", prefix);
  if (check_library(library)) return ESPANK_SUCCESS;
  slurm_spank_log(
      "millrace: %s cannot be preloaded on this node; the program runs without Millrace, on all nodes",
      library);
  setenv(without_variable, "1", 1);
  return ESPANK_SUCCESS;
}

/* On a node of the job, before a step's ranks start. */
int slurm_spank_user_init(spank_t step, int count, char* arguments[]) {
  (void)count;
  (void)arguments;
  static char prefix[PATH_MAX];
  uint32_t step_id = 0;
  if (!wanted && !is_on(step, wanted_variable)) return ESPANK_SUCCESS;
  if (is_on(step, without_variable)) return ESPANK_SUCCESS;
  if (spank_get_item(step, S_JOB_STEPID, &step_id) != ESPANK_SUCCESS) return ESPANK_SUCCESS;
  if (step_id >=
      SLURM_MAX_NORMAL_STEP_ID) { /* the batch script, or the shell of salloc: their steps are accelerated */
    spank_setenv(step, wanted_variable, "1", 1);
    return ESPANK_SUCCESS;
  }
  if (starts_helper(step)) return ESPANK_SUCCESS;
  if (!find_prefix(prefix)) {
    slurm_spank_log("millrace: the plugin does not find its own folder; the program runs without Millrace");
    return ESPANK_SUCCESS;
  }
  if (!preload(step, prefix)) return missing_here ? ESPANK_ERROR : ESPANK_SUCCESS;
  name_job(step, step_id);
  /* PnetCDF 1.15 and later does not use MPI-IO without this. */
  spank_setenv(step, "PNETCDF_HINTS", "nc_driver=mpiio", 0);
  return ESPANK_SUCCESS;
}

/* In a rank, before its program. Slurm goes on after an error of an optional plugin. */
int slurm_spank_task_init(spank_t step, int count, char* arguments[]) {
  (void)step;
  (void)count;
  (void)arguments;
  if (missing_here) _exit(127);
  return ESPANK_SUCCESS;
}
