# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Places that may do what a rule forbids: path prefix -> reason. A list never grows (exceptions_test.py)."""

# Raw system calls belong to src/io and src/front/hook.
SYSTEM_CALLS = {
    "src/base/fd.hpp": "an owned descriptor has to close itself",
    "src/base/file_system": "reads the table of mounts",
    "src/report/": "appends whole lines to reports, logs and traces: O_APPEND, without the seam of storage",
    "src/transport/": "the channel between processes is shared memory, futexes and a socket",
    "src/agent/server/epoll": "the descriptors that the event loop waits for",
    "src/agent/server/server": "the process around the agent's state machine: signals, leaving when unused",
    "src/agent/server/rounds": "which file a rank names, and whether the rank may write to it",
    "src/agent/server/connection": "one client's socket and channel, as the server sees it",
    "src/agent/core/core": "poll waits for the last writes in the destructor",
    "src/agent/pipeline/block_pool": "memory that goes back to the system: mmap, madvise",
    "src/agent/recovery/recovery": "fstat tells a file from a device; poll waits for the writes of the only thread",
    "src/agent/server/serve": "the agent goes to the background: fork, and a pipe that says that it listens",
    "src/client/file/enrolment": "statx tells whether the target is a plain file",
    "src/client/file/target_file": "opens the target a second time, for the agent",
    "src/client/costs/cost_record": "reads and replaces the user's record of costs",
    "src/client/file/mounts": "stat tells the device of a path",
    "src/client/open/measure_costs": "a small job whose system calls are timed",
    "src/client/start/job": "reads the identity of the job from /proc",
    "src/client/open/own_process": "a file's seam to the system: stat, fdatasync",
    "src/client/start/log": "lines on stderr without stdio",
    "src/client/way/sieve": "reads and rewrites a part of the program's file, as the MPI library would",
    "src/client/way/read_pieces": "reads pieces of the program's file, as the MPI library would",
    "src/client/start/socket_contact": "a session's seam to the system: wakes the agent by its eventfd, pauses, stat",
    "src/client/open/stage": "makes and finds copies of files on the node; reads the file that is copied",
    "src/client/session/trace": "gettid, which glibc has from 2.30 on",
    "src/client/start/start": "starts the agent: posix_spawn",
    "src/client/testing/": "jobs of forked ranks",
    "src/staging/buffers": "memory between host and device: mmap, madvise",
    "src/staging/channel/": "a socket to the thread or process that runs functions: socketpair, posix_spawn",
    "src/staging/end": "one read or write at a time of the program's own descriptor, as the program called it",
    "src/staging/process/": "another process's memory, and the child that holds it: fork, a socket, pidfd",
    "src/capi/": "opens, reads, writes, syncs and closes the program's own files, as it asks",
    "src/front/mpiio/types/linear": "a file in memory that the MPI library writes to",
    "src/front/posix/": "hooks have the system calls' names, and hand the real ones to src/plain",
    "src/client/open/reach": "waits for connections: poll",
    "src/client/file/refresh": "makes the file system look again: statx",
    "src/client/file/stripe": "asks the file system for a file's stripes; the preload does without src/io",
    "src/client/open/company": "stat tells whether all nodes see one file; the node's identity is read from /proc",
    "src/front/mpiio/handles/table": "stat tells which file a name means",
    "src/front/mpiio/open/opening": "stat tells which file a name means",
}

# Files that may drop the result of a call that changes a file. A line that nobody needs is an error.
DROPPED_RESULTS = {
    "src/base/fd.hpp": "reset() and the destructor: a descriptor with writes that count is closed by close()",
    "src/journal/folder.cpp": "a mark on a log that nobody can recover",
    "src/agent/recovery/group.cpp": "a log without records; a sign of life of the recovery",
    "src/client/open/node_copy.cpp": "every node has looked at its copy before",
    "src/client/open/plan.cpp": "an open that is only in the report",
    "src/client/file/file.hpp": "withdraw(): no rank has written to the file",
    "src/client/file/opened_file.hpp": "the destructor: the front has closed the file",
}

# Rooms below which a file may also include something that its room may not: (file prefix, included prefix).
INCLUDES: dict[tuple[str, str], str] = {
    ("src/client/open/open.cpp", "io/posix/owned.hpp"): "the name of a file that is made is synced (ADR 8)",
    ("src/client/open/own_process.cpp", "io/posix/"): "a file that is to be opened is compared with those of logs",
    (
        "src/client/file/target_file.cpp",
        "io/posix/identity.hpp",
    ): "a file that is opened a second time has to be the same one",
    ("src/client/way/sieve", "io/posix/"): "what it rewrites is locked, as ROMIO locks it",
    ("src/client/file/ledgers_test.cpp", "io/posix/identity.hpp"): "it makes logs of a real file",
}

# Files that may be longer than the cap, functions that may be longer than theirs.
LONG_FILES: dict[str, str] = {}
LONG_FUNCTIONS: dict[str, str] = {}

# (file, class) that may have more data members or functions than the caps.
LARGE_CLASSES: dict[tuple[str, str], str] = {}

# (file, type) that may have the name of another type (names.py).
SAME_NAMES: dict[tuple[str, str], str] = {
    ("src/front/mpiio/call/arguments.hpp", "Completion"): "the MPI functions' table has it; the front includes no io",
    ("src/staging/cuda/api.hpp", "Stream"): "a word of the CUDA driver, whose functions the file declares",
}
