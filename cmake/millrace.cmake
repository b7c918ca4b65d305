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
if(DEFINED ENV{SOURCE_DATE_EPOCH})  # a release names no folder of its build, but in Fortran's messages
  add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
endif()
if(MILLRACE_SANITIZE)
  add_compile_options(-fsanitize=${MILLRACE_SANITIZE} -fno-omit-frame-pointer)
  # Instrumented, GCC 12 takes members of the standard library for uninitialized.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${MILLRACE_SANITIZE})
endif()
if(MILLRACE_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()

# For libraries that are loaded into other people's programs: the C++ library is inside, and nobody sees it.
include(CheckLinkerFlag)
check_linker_flag(CXX -Wl,--exclude-libs,ALL MILLRACE_HIDES_ARCHIVES)  # the version scripts hide the same
set(MILLRACE_OWN_RUNTIME -static-libstdc++ -static-libgcc)
if(MILLRACE_HIDES_ARCHIVES)
  list(APPEND MILLRACE_OWN_RUNTIME -Wl,--exclude-libs,ALL)
endif()

# Half of the time of a compilation goes into the headers of the standard library and of GoogleTest: they are compiled
# once. Exceptions: other launchers than ccache, and clang, which fails where options differ.
set(precompile OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND (NOT CMAKE_CXX_COMPILER_LAUNCHER OR CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache"))
  set(precompile ON)
endif()
option(MILLRACE_PRECOMPILE "Precompile headers" ${precompile})
set(standard_headers <algorithm> <array> <atomic> <chrono> <deque> <fstream> <functional> <map> <memory> <mutex>
    <optional> <random> <set> <span> <string> <string_view> <thread> <utility> <vector>)
list(TRANSFORM standard_headers REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:\\1>")

# millrace_headers(TARGET FLAGS HEADERS...): precompiles HEADERS without an option for position-independent code.
function(millrace_headers target flags)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${target}.cpp CONTENT "")
  add_library(${target} OBJECT ${CMAKE_BINARY_DIR}/${target}.cpp)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_link_libraries(${target} PRIVATE ${flags})
  target_precompile_headers(${target} PRIVATE ${ARGN})
endfunction()

# GCC 12 does not know precompiled lines as those of system headers, and gives false warnings there.
set(millrace_precompiled_options -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow)
if(MILLRACE_PRECOMPILE)
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # as ccache needs it
  endif()
  millrace_headers(millrace_library_headers millrace_flags ${standard_headers})
  target_compile_options(millrace_library_headers PRIVATE -fPIC)
  millrace_headers(millrace_program_headers millrace_flags ${standard_headers})
  target_compile_options(millrace_program_headers PRIVATE -fPIE)
endif()

# millrace_precompile(TARGET): TARGET, which has no other options for code than the usual ones, uses precompiled headers.
function(millrace_precompile target)
  if(NOT MILLRACE_PRECOMPILE)
    return()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_precompile_headers(${target} REUSE_FROM millrace_program_headers)
  else()
    target_precompile_headers(${target} REUSE_FROM millrace_library_headers)
  endif()
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${millrace_precompiled_options}>)
endfunction()

# Where most of what remains are headers, several files are compiled as one.
option(MILLRACE_UNITY "Compile some files together; off: fewer to compile again after a change" ON)

# millrace_compile_together(TARGET COUNT): so many of TARGET's files of C++ as one, in whose unnamed namespaces no name
# may occur twice. Not for libraries of rooms, whose tests link only some files.
function(millrace_compile_together target count)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${MILLRACE_UNITY} UNITY_BUILD_BATCH_SIZE ${count})
endfunction()

# millrace_library(NAME SOURCES... [DEPENDS ...]): the static library millrace_NAME of room src/NAME.
function(millrace_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(millrace_${name} STATIC ${ARG_SOURCES})
  target_include_directories(millrace_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(millrace_${name} PUBLIC ${ARG_DEPENDS} PRIVATE millrace_flags)
  millrace_precompile(millrace_${name})
endfunction()

# What all test programs share. Tests need no -O2: the libraries that they test have it.
if(MILLRACE_TESTS)
  add_library(millrace_test_flags INTERFACE)
  target_compile_options(millrace_test_flags INTERFACE $<$<CONFIG:RelWithDebInfo>:-O1>)
  target_link_libraries(millrace_test_flags INTERFACE GTest::gmock GTest::gtest_main millrace_flags)
  if(MILLRACE_PRECOMPILE)
    millrace_headers(millrace_test_headers millrace_test_flags ${standard_headers}
                     <filesystem> <gmock/gmock.h> <gtest/gtest.h>)
    target_compile_options(millrace_test_flags INTERFACE ${millrace_precompiled_options})
  endif()
endif()

# millrace_test(NAME SOURCES... [DEPENDS ...] [TOGETHER]): a GoogleTest program NAME_test beside its sources. TOGETHER: four
# of them are compiled as one, so that a change of one is still compiled in seconds.
function(millrace_test name)
  if(NOT MILLRACE_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "TOGETHER" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name}_test ${ARG_SOURCES})
  if(ARG_TOGETHER)
    millrace_compile_together(${name}_test 4)
    set_target_properties(${name}_test PROPERTIES  # a local name may be that of another file's helper
                          UNITY_BUILD_CODE_BEFORE_INCLUDE "#pragma GCC diagnostic ignored \"-Wshadow\"")
  endif()
  target_link_libraries(${name}_test PRIVATE ${ARG_DEPENDS} millrace_test_flags)
  if(MILLRACE_PRECOMPILE)
    set_target_properties(${name}_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)  # as for the headers
    target_precompile_headers(${name}_test REUSE_FROM millrace_test_headers)
  endif()
  add_test(NAME unit.${name} COMMAND ${name}_test)
  set(bound_s 600)
  if(MILLRACE_SANITIZE STREQUAL "thread")
    set(bound_s 5400)  # the simulation and the agent take 20 to 40 times as long
  endif()
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT ${bound_s})
endfunction()

# millrace_fuzz(NAME SOURCES... [DEPENDS ...]): a libFuzzer program NAME_fuzz, if MILLRACE_SANITIZE instruments the whole
# build for it.
function(millrace_fuzz name)
  if(NOT MILLRACE_SANITIZE MATCHES "fuzzer-no-link")
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name}_fuzz ${ARG_SOURCES})
  target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name}_fuzz PRIVATE ${ARG_DEPENDS} millrace_flags)
endfunction()
