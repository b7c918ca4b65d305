# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
# The Python of generators and tests: the environment that scripts/bootstrap makes, else the distribution's
# own, which alone sees its mpi4py and h5py. -DPython3_EXECUTABLE=... says otherwise.
if(NOT DEFINED Python3_EXECUTABLE)
  foreach(candidate ${CMAKE_SOURCE_DIR}/.venv/bin/python3 /usr/bin/python3)
    if(EXISTS ${candidate})
      set(Python3_EXECUTABLE ${candidate} CACHE FILEPATH "Python of generators and tests")
      break()
    endif()
  endforeach()
endif()
find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter)
