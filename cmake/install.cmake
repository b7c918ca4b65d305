# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
# What `make install` puts where, and the same layout, runnable, in the build tree. Rooms install their own
# libraries and programs, as component `native` by default: that is what a Python wheel carries
# (pyproject.toml). `command`, here, is the rest of a prefix. No file names its prefix: the parts find each
# other by where they lie, so a prefix can be moved.
#
#   bin/millrace  bin/millraced  bin/millrace-journal  bin/millrace-recover  bin/millrace-host
#   bin/millrace-costs
#   lib/libmillrace.so  lib/libmillrace_posix.so  lib/libmillrace_device.so
#   lib/libmillrace-mpich.so  lib/libmillrace-ompi.so
#   lib/libmillrace_io.so.1  lib/pkgconfig/  lib/cmake/millrace/
#   include/millrace/  share/millrace/python/  share/doc/millrace/  share/man/
#   share/bash-completion/completions/millrace  share/zsh/site-functions/_millrace
#   lib/slurm/spank_millrace.so  libexec/millrace/slurm-epilog  share/modulefiles/millrace/
#   libexec/millrace/bench/ and lib/libmillrace-bench-*.so: what `millrace demo`, `cluster` and `evaluate` run

# build/bin/millrace runs the command from the source tree, bin/millrace of a prefix from share/.
set(MILLRACE_COMMAND_FOLDER ${CMAKE_SOURCE_DIR}/python)
set(MILLRACE_PYTHON ${Python3_EXECUTABLE})
configure_file(cmake/millrace.sh.in ${CMAKE_BINARY_DIR}/bin/millrace @ONLY
               FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                                WORLD_EXECUTE)
set(MILLRACE_COMMAND_FOLDER "$_millrace_here/../share/millrace/python")
set(MILLRACE_PYTHON /usr/bin/python3)
configure_file(cmake/millrace.sh.in ${CMAKE_BINARY_DIR}/install/millrace @ONLY)
install(PROGRAMS ${CMAKE_BINARY_DIR}/install/millrace DESTINATION bin COMPONENT command)

# Bytecode, where the users of a prefix or of a source tree may not write it: without, each start compiles the sources.
file(GLOB_RECURSE millrace_modules CONFIGURE_DEPENDS python/millrace/*.py)
set(stamp ${CMAKE_BINARY_DIR}/install/bytecode.stamp)
add_custom_command(
  OUTPUT ${stamp} COMMAND ${Python3_EXECUTABLE} -m compileall -q ${CMAKE_SOURCE_DIR}/python/millrace || ${CMAKE_COMMAND} -E true
  COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
  DEPENDS ${millrace_modules} VERBATIM)
add_custom_target(millrace_bytecode ALL DEPENDS ${stamp})

install(DIRECTORY python/ DESTINATION share/millrace/python COMPONENT command
        FILES_MATCHING PATTERN "*.py" PATTERN "*.html" PATTERN "*.j2" PATTERN "*.css" PATTERN "*.yaml"
        PATTERN "tests" EXCLUDE PATTERN "__pycache__" EXCLUDE)
install(CODE "execute_process(
  COMMAND ${MILLRACE_PYTHON} -m compileall -q -s \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\" millrace
  WORKING_DIRECTORY \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/millrace/python\")" COMPONENT command)
# existing_targets(OUT PROGRAMS...): programs of bench/ that are built here, for any MPI or none.
function(existing_targets out)
  foreach(name IN LISTS ARGN)
    foreach(target bench_${name} bench_${name}_mpich bench_${name}_ompi)
      if(TARGET ${target})
        list(APPEND found ${target})
      endif()
    endforeach()
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

set(demo_programs "")
set(evaluate_programs "")
if(TARGET bench_limit)
  existing_targets(demo_programs limit ior btio subarray)
  existing_targets(evaluate_programs memory flops transfer fpp ipc link geofem mdtest slow_disk)
  install(TARGETS ${demo_programs} ${evaluate_programs} RUNTIME DESTINATION libexec/millrace/bench COMPONENT command)
  list(APPEND demo_programs millrace-bench-yield millrace-bench-finalize)
  install(TARGETS millrace-bench-yield millrace-bench-finalize LIBRARY DESTINATION lib COMPONENT command)
endif()

# What `millrace demo` runs, with the measuring of costs for `millrace doctor`; and all that is installed, without tests.
set(for_demo millraced millrace-costs millrace_hook millrace_bytecode ${demo_programs})
foreach(mpi IN LISTS MILLRACE_MPIS)
  list(APPEND for_demo millrace_front_${mpi})
endforeach()
add_custom_target(for_demo DEPENDS ${for_demo})
add_custom_target(shipped DEPENDS ${for_demo} millrace-journal millrace-recover millrace-host millrace_posix millrace_device
  millrace-model millrace_capi ${evaluate_programs} $<$<TARGET_EXISTS:spank_millrace>:spank_millrace>)

# For programs that link the C API, of a prefix or of a wheel.
install(DIRECTORY include/millrace DESTINATION include
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.f90")
include(CMakePackageConfigHelpers)
configure_file(cmake/millrace.pc.in ${CMAKE_BINARY_DIR}/install/millrace.pc @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/install/millrace-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/install/millrace.pc DESTINATION lib/pkgconfig)
install(FILES cmake/millrace-config.cmake ${CMAKE_BINARY_DIR}/install/millrace-config-version.cmake
        DESTINATION lib/cmake/millrace)

install(FILES LICENSE README.md CHANGELOG.md DESTINATION share/doc/millrace COMPONENT command)
install(DIRECTORY docs/ DESTINATION share/doc/millrace COMPONENT command FILES_MATCHING PATTERN "*.md")

# Manual pages and completions lie in a wheel's data, so that pip puts them into the share/ of the environment.
set(share share)
set(share_component command)
if(SKBUILD)
  set(share ${SKBUILD_DATA_DIR}/share)
  set(share_component native)
endif()
install(DIRECTORY share/man/ DESTINATION ${share}/man COMPONENT ${share_component})
install(FILES share/completions/millrace.bash DESTINATION ${share}/bash-completion/completions RENAME millrace
        COMPONENT ${share_component})
install(FILES share/completions/_millrace DESTINATION ${share}/zsh/site-functions COMPONENT ${share_component})

# `module use PREFIX/share/modulefiles`: Lmod takes the second file, Environment Modules the first.
install(FILES packaging/modules/millrace.tcl DESTINATION share/modulefiles/millrace RENAME ${PROJECT_VERSION} COMPONENT command)
install(FILES packaging/modules/millrace.lua DESTINATION share/modulefiles/millrace RENAME ${PROJECT_VERSION}.lua COMPONENT command)
install(FILES packaging/examples/job.pbs packaging/examples/job.flux DESTINATION share/doc/millrace/examples COMPONENT command)
