-- SPDX-FileCopyrightText: 2026 The Millrace authors
-- SPDX-License-Identifier: Apache-2.0
-- For Lmod. The prefix is four folders above this file; in a copy elsewhere, write its path here.
local prefix = myFileName():match("^(.*)/[^/]+/[^/]+/[^/]+/[^/]+$")
whatis("Millrace: accelerates the file I/O of unmodified MPI programs (millrace run -- mpiexec -n 16 ./app)")
help("Sets paths only. Start programs by: millrace run -- mpiexec -n 16 ./app")
conflict("millrace")
prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
prepend_path("PKG_CONFIG_PATH", pathJoin(prefix, "lib/pkgconfig"))
prepend_path("CMAKE_PREFIX_PATH", prefix)
