# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
# find_package(millrace): the library millrace::io, for C and C++; and, where Fortran is enabled, millrace::fortran: the
# module, compiled by the compiler that uses it.
get_filename_component(millrace_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET millrace::io)
  add_library(millrace::io SHARED IMPORTED)
  set_target_properties(millrace::io PROPERTIES IMPORTED_LOCATION "${millrace_prefix}/lib/libmillrace_io.so.1"
                        IMPORTED_SONAME libmillrace_io.so.1
                        INTERFACE_INCLUDE_DIRECTORIES "${millrace_prefix}/include")
endif()
get_property(millrace_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if("Fortran" IN_LIST millrace_languages AND NOT TARGET millrace_fortran)
  set(millrace_modules "${CMAKE_BINARY_DIR}/millrace-modules")
  add_library(millrace_fortran STATIC EXCLUDE_FROM_ALL "${millrace_prefix}/include/millrace/millrace.f90")
  set_target_properties(millrace_fortran PROPERTIES Fortran_MODULE_DIRECTORY "${millrace_modules}"
                        POSITION_INDEPENDENT_CODE ON)
  target_include_directories(millrace_fortran INTERFACE "${millrace_modules}")
  target_link_libraries(millrace_fortran PUBLIC millrace::io)
  add_library(millrace::fortran ALIAS millrace_fortran)
endif()
