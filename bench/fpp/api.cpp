// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "fpp/api.hpp"

#include <dlfcn.h>
#include <millrace/millrace.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <stdexcept>

namespace bench::fpp {

namespace {

// The library's functions by their declarations.
struct Functions {
  decltype(&millrace_explain) explain;
  decltype(&millrace_open) open;
  decltype(&millrace_close) close;
  decltype(&millrace_write) write;
  decltype(&millrace_read) read;
  decltype(&millrace_device_open) device_open;
  decltype(&millrace_device_close) device_close;
  decltype(&millrace_request_init) request_init;
  decltype(&millrace_request_write) request_write;
  decltype(&millrace_request_read) request_read;
  decltype(&millrace_request_wait) request_wait;
  decltype(&millrace_request_fini) request_fini;
  decltype(&millrace_channel_open) channel_open;
  decltype(&millrace_channel_close) channel_close;
  decltype(&millrace_install) install;
  decltype(&millrace_find) find;
  decltype(&millrace_invoke) invoke;
};

template <class Function>
void load(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr) throw std::runtime_error(std::string(name) + " is not in the library");
}

void load_all(void* library, Functions& f) {
#define LOAD(name) load(library, "millrace_" #name, f.name)
  LOAD(explain);
  LOAD(open);
  LOAD(close);
  LOAD(write);
  LOAD(read);
  LOAD(device_open);
  LOAD(device_close);
  LOAD(request_init);
  LOAD(request_write);
  LOAD(request_read);
  LOAD(request_wait);
  LOAD(request_fini);
  LOAD(channel_open);
  LOAD(channel_close);
  LOAD(install);
  LOAD(find);
  LOAD(invoke);
#undef LOAD
}

}  // namespace

struct Api::Library {
  Functions f{};
  std::string method;
  millrace_device* device = nullptr;
  millrace_file* file = nullptr;
  millrace_request* request = nullptr;
  millrace_channel* channel = nullptr;
  std::uint64_t host_open = 0, host_write = 0, host_read = 0, host_close = 0;

  std::int64_t checked(std::int64_t result) const {
    if (result < 0) throw std::runtime_error(f.explain());
    return result;
  }
  std::uint64_t find(std::uint64_t library, const char* name) const {
    std::uint64_t symbol = 0;
    checked(f.find(channel, library, name, &symbol));
    return symbol;
  }
  int invoke(std::uint64_t symbol, std::initializer_list<millrace_argument> arguments) const {
    std::uint64_t returned = 1;
    checked(f.invoke(channel, symbol, arguments.begin(), arguments.size(), device, &returned));
    return static_cast<int>(returned);
  }
  // All bytes at the file's beginning: the file has nothing else.
  int move(void* values, std::uint64_t bytes, bool writes) const {
    std::int64_t moved = 0;
    if (method == "api") {
      moved = writes ? f.write(file, device, values, bytes) : f.read(file, device, values, bytes);
    } else {
      checked(writes ? f.request_write(request, file, device, values, bytes, 0)
                     : f.request_read(request, file, device, values, bytes, 0));
      moved = f.request_wait(request, -1);
    }
    return static_cast<std::uint64_t>(checked(moved)) == bytes ? 0 : 1;
  }
};

namespace {

// The kernel's C functions work on this object.
Api::Library* current = nullptr;

int api_open(const char* path, int writes, std::uint64_t buffer_bytes) {
  if (current->method == "offload")
    return current->invoke(
        current->host_open,
        {millrace_memory(MILLRACE_IN, nullptr, const_cast<char*>(path), std::strlen(path) + 1),
         millrace_integer(static_cast<std::uint64_t>(writes)), millrace_integer(buffer_bytes)});
  const int flags = writes != 0 ? MILLRACE_WRITE | MILLRACE_CREATE | MILLRACE_TRUNCATE : MILLRACE_READ;
  current->checked(current->f.open(path, flags, 0666, &current->file));
  return 0;
}

int host_move(std::uint64_t symbol, const double* values, std::uint64_t count) {
  return current->invoke(symbol, {millrace_argument_of(MILLRACE_CALL),
                                  millrace_integer(reinterpret_cast<std::uintptr_t>(values)),
                                  millrace_integer(count * sizeof(double))});
}

int api_write(const double* values, std::uint64_t count) {
  if (current->method == "offload") return host_move(current->host_write, values, count);
  return current->move(const_cast<double*>(values), count * sizeof(double), true);
}

int api_read(double* values, std::uint64_t count) {
  if (current->method == "offload") return host_move(current->host_read, values, count);
  return current->move(values, count * sizeof(double), false);
}

int api_close() {
  if (current->method == "offload") return current->invoke(current->host_close, {});
  current->checked(current->f.close(current->file));
  return 0;
}

constexpr fpp_kernel kernel_of_api{api_open, api_write, api_read, api_close};

// libmillrace-bench-offload.so, beside the benchmarks' other libraries or programs.
std::string offload_library() {
  const std::filesystem::path self = std::filesystem::canonical("/proc/self/exe").parent_path();
  for (const char* place : {"../../lib", "../../../lib", "."}) {
    const auto path = self / place / "libmillrace-bench-offload.so";
    if (std::filesystem::exists(path)) return path;
  }
  throw std::runtime_error("libmillrace-bench-offload.so is not where it was built or installed");
}

}  // namespace

bool by_api(const Settings& settings) {
  return settings.method == "api" || settings.method == "requests" || settings.method == "offload";
}

Api::Api(const Settings& settings, int device) : library_(std::make_unique<Library>()) {
  Library& all = *library_;
  void* const loaded = dlopen(settings.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) throw std::runtime_error(dlerror());
  load_all(loaded, all.f);
  all.method = settings.method;
  if (settings.memory == "device")
    all.checked(all.f.device_open(("cuda:" + std::to_string(device)).c_str(), &all.device));
  if (settings.method == "requests") all.checked(all.f.request_init(&all.request));
  if (settings.method == "offload") {
    std::uint64_t functions = 0;
    all.checked(all.f.channel_open(MILLRACE_PROCESS, &all.channel));
    all.checked(all.f.install(all.channel, offload_library().c_str(), &functions));
    all.host_open = all.find(functions, "host_open");
    all.host_write = all.find(functions, "host_write");
    all.host_read = all.find(functions, "host_read");
    all.host_close = all.find(functions, "host_close");
  }
  current = &all;
}

Api::~Api() {
  current = nullptr;
  if (library_->request != nullptr) (void)library_->f.request_fini(library_->request);
  if (library_->channel != nullptr) (void)library_->f.channel_close(library_->channel);
  if (library_->device != nullptr) (void)library_->f.device_close(library_->device);
}

const fpp_kernel& Api::kernel() const { return kernel_of_api; }

}  // namespace bench::fpp
