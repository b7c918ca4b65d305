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

# What all test programs share. The headers of GoogleTest took about a third of the time of a test's compilation: they are
# compiled once. Exceptions: a compiler cache, which cannot compare such objects, and clang, which fails where options
# differ. Tests need no -O2: the libraries that they test have it.
if(MILLRACE_TESTS)
  set(precompile OFF)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(precompile ON)
  endif()
  option(MILLRACE_PRECOMPILE "Precompile the headers of tests" ${precompile})
  add_library(millrace_test_flags INTERFACE)
  target_compile_options(millrace_test_flags INTERFACE $<$<CONFIG:RelWithDebInfo>:-O1>)
  target_link_libraries(millrace_test_flags INTERFACE GTest::gmock GTest::gtest_main millrace_flags)
  if(MILLRACE_PRECOMPILE)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/test_headers.cpp CONTENT "")
    add_library(millrace_test_headers OBJECT ${CMAKE_BINARY_DIR}/test_headers.cpp)
    set_target_properties(millrace_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_link_libraries(millrace_test_headers PRIVATE millrace_test_flags)
    target_precompile_headers(millrace_test_headers PRIVATE <algorithm> <array> <filesystem> <fstream> <functional> <map>
      <memory> <random> <string> <thread> <vector> <gmock/gmock.h> <gtest/gtest.h>)
    # GCC 12 does not know precompiled lines as those of system headers, and gives false warnings there.
    target_compile_options(millrace_test_flags INTERFACE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow)
  endif()
endif()

# millrace_test(NAME SOURCES... [DEPENDS ...]): a GoogleTest program NAME_test beside its sources.
function(millrace_test name)
  if(NOT MILLRACE_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name}_test ${ARG_SOURCES})
  target_link_libraries(${name}_test PRIVATE ${ARG_DEPENDS} millrace_test_flags)
  if(MILLRACE_PRECOMPILE)
    set_target_properties(${name}_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)  # as for the headers
    target_precompile_headers(${name}_test REUSE_FROM millrace_test_headers)
  endif()
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
