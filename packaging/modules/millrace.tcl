#%Module1.0
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
# For Environment Modules. The prefix is four folders above this file; in a copy elsewhere, write its path here.
set prefix [file dirname [file dirname [file dirname [file dirname [file normalize $ModulesCurrentModulefile]]]]]
module-whatis "Millrace: accelerates the file I/O of unmodified MPI programs (millrace run -- mpiexec -n 16 ./app)"
proc ModulesHelp {} {
  puts stderr "Sets paths only. Start programs by: millrace run -- mpiexec -n 16 ./app"
}
conflict millrace
prepend-path PATH $prefix/bin
prepend-path MANPATH $prefix/share/man
prepend-path PKG_CONFIG_PATH $prefix/lib/pkgconfig
prepend-path CMAKE_PREFIX_PATH $prefix
