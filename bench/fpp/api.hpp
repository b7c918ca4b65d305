// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "fpp/kernel.h"
#include "fpp/start.hpp"

namespace bench::fpp {

// A rank's own file by calls of Millrace's C API, whose library is loaded at run time:
// `api`: a write and a read of the values where they are; `requests`: the same, begun and waited for;
// `offload`: functions that run in a process of the host, with its own fwrite and fread, and get the values
// from here.
class Api {
 public:
  // Failures throw. NoDevice or BadUsage: this machine cannot measure it.
  Api(const Settings& settings, int device);
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  // Of one Api at a time.
  const fpp_kernel& kernel() const;

  struct Library;

 private:
  std::unique_ptr<Library> library_;
};

bool by_api(const Settings& settings);

}  // namespace bench::fpp
