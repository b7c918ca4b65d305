/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 * Written by src/base/generate_settings.py. Do not edit.
 *
 * Names of the MPI_Info hints that Millrace reads at MPI_File_open and MPI_File_set_view. A program can
 * write the names itself instead of including this header. Without Millrace, the MPI library ignores them.
 *
 *     MPI_Info_set(info, MILLRACE_HINT_STRATEGY, "sort");
 */
/* clang-format off */
#ifndef MILLRACE_HINTS_H
#define MILLRACE_HINTS_H

#define MILLRACE_HINT_STRATEGY "millrace_strategy"         /* auto, immediate, sort, journal */
#define MILLRACE_HINT_MERGE "millrace_merge"               /* 0 or 1 */
#define MILLRACE_HINT_SORT_BUFFER "millrace_sort_buffer"   /* 1MiB to 1TiB */
#define MILLRACE_HINT_DURABILITY "millrace_durability"     /* server, disk, node */
#define MILLRACE_HINT_SINK "millrace_sink"                 /* auto, buffered, direct */
#define MILLRACE_HINT_FILE_SERVERS "millrace_file_servers" /* auto, or a number from 0 to 64 */
#define MILLRACE_HINT_STAGE "millrace_stage"               /* auto, none, whole, pieces */
#define MILLRACE_HINT_TARGET "millrace_target"             /* shared, first */

#endif
