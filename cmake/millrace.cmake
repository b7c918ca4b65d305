# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
# The ways in which a room declares what it holds.

set(MILLRACE_SANITIZE "" CACHE STRING "Sanitizers for everything that is built, as -fsanitize takes them")
option(MILLRACE_COVERAGE "Instrument for coverage" OFF)
# Newer compilers know warnings that nobody here has seen: a user's build must not fail of them.
set(known OFF)
if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13) OR
   (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15))
  set(known ON)
endif()
option(MILLRACE_WERROR "Treat warnings as errors" ${known})

add_library(millrace_flags INTERFACE)
target_compile_options(millrace_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                                -Wno-sign-conversion)
if(MILLRACE_WERROR)
  target_compile_options(millrace_flags INTERFACE -Werror)
endif()
if(MILLRACE_SANITIZE)
  add_compile_options(-fsanitize=${MILLRACE_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${MILLRACE_SANITIZE})
endif()
if(MILLRACE_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()

# millrace_library(NAME SOURCES... [DEPENDS ...]): the static library millrace_NAME of room src/NAME.
function(millrace_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(millrace_${name} STATIC ${ARG_SOURCES})
  target_include_directories(millrace_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(millrace_${name} PUBLIC ${ARG_DEPENDS} PRIVATE millrace_flags)
endfunction()

# millrace_test(NAME SOURCES... [DEPENDS ...]): a GoogleTest program NAME_test beside its sources.
function(millrace_test name)
  if(NOT MILLRACE_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name}_test ${ARG_SOURCES})
  target_link_libraries(${name}_test PRIVATE ${ARG_DEPENDS} GTest::gmock GTest::gtest_main millrace_flags)
  add_test(NAME unit.${name} COMMAND ${name}_test)
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 600)
endfunction()

option(MILLRACE_FUZZ "Build libFuzzer targets (clang only)" OFF)
if(MILLRACE_FUZZ AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "MILLRACE_FUZZ needs clang: set CMAKE_CXX_COMPILER=clang++")
endif()

# millrace_fuzz(NAME SOURCES... [DEPENDS ...]): a libFuzzer program NAME_fuzz. What it is to look into has to be
# among its sources, to be instrumented.
function(millrace_fuzz name)
  if(NOT MILLRACE_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name}_fuzz ${ARG_SOURCES})
  target_compile_options(${name}_fuzz PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(${name}_fuzz PRIVATE ${ARG_DEPENDS} millrace_flags)
endfunction()
