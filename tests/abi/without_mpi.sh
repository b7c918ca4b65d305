#!/bin/sh
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
# A process without MPI does not notice the preload. usage: without_mpi.sh libmillrace.so
set -eu
preload=$1
for command in true 'echo hello' 'bash -c "echo hello; exit 0"' 'python3 -c "import subprocess; subprocess.check_call([\"true\"])"'; do
  said=$(LD_PRELOAD=$preload MILLRACE_STRATEGY=nonsense sh -c "$command" 2>&1) || { echo "failed: $command"; exit 1; }
  plain=$(sh -c "$command" 2>&1)
  [ "$said" = "$plain" ] || { echo "$command: $said"; exit 1; }
done
# Nothing is opened and nothing is allocated at load: the library has no constructor of its own.
if readelf -dW "$preload" | grep -E 'INIT_ARRAYSZ' | grep -qvE ' (0|8) \(bytes\)'; then
  echo "the preload has constructors"
  exit 1
fi
