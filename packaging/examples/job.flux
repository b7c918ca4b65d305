#!/bin/bash
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
# Flux: 4 nodes with 64 ranks. Submit it by: flux batch job.flux
#flux: --nodes=4
#flux: --nslots=64
#flux: --time-limit=30m
#flux: --job-name=millrace-example
set -euo pipefail
module use /opt/millrace/share/modulefiles
module load millrace

# `flux run` passes the environment to all ranks. A folder that all nodes see takes the reports, because
# `millrace run` does not know this launcher.
mkdir -p millrace-reports
export MILLRACE_STATS=$PWD/millrace-reports

millrace run --strategy sort -- flux run --nodes=4 --ntasks=64 ./app input.nml

# On each node: wait until all bytes are in their files, and recover what a killed agent left.
flux run --nodes=4 --ntasks=4 millrace drain
