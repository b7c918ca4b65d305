// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "client/typemap.hpp"
#include "front/mpiio/mpi.hpp"

namespace millrace::front {

// Makes the map of a datatype from its envelope and contents, recursively; nullptr if there is none. Size,
// bounds and true bounds agree with what the MPI library says of the type. `predefined` tells whether the
// type can never be freed. Nothing is cached.
std::shared_ptr<const client::TypeMap> flatten(MPI_Datatype type, bool& predefined);

}  // namespace millrace::front
