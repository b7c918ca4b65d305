// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs at the first MPI call of a process. It finds the loaded MPI library, loads the implementation library
// that was built for its ABI, and points the trampolines at its hooks. It depends on libc alone, because it
// is preloaded into every process of a job. Most of these use no MPI, and never run this code.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/environment.hpp"
#include "front/hook/attach.hpp"
#include "front/hook/narrow.hpp"

extern "C" {
extern void* millrace_slots[];
__attribute__((visibility("hidden"))) void* millrace_resolve(unsigned index);
}

namespace {

using millrace::front::Attach;
using millrace::front::attach_symbol;
using millrace::front::attach_version;
using millrace::front::AttachFunction;
using millrace::front::narrow_function;
using millrace::front::slot_count;
using millrace::front::slot_names;

constexpr unsigned entry_count = 2 * slot_count;
constexpr const char* version_name = "PMPI_Get_library_version";

void* real_functions[entry_count];
void* hook_functions[entry_count];

void say(const char* what, const char* detail) {
  char line[1024];
  int size = snprintf(line, sizeof line, "millrace: %s%s\n", what, detail);
  if (size >= static_cast<int>(sizeof line)) size = sizeof line - 1;
  if (size > 0 && write(STDERR_FILENO, line, static_cast<size_t>(size)) < 0) return;
}

[[noreturn]] void missing() {
  // The dynamic linker also ends a process at an undefined symbol.
  say("the program called an MPI function that the MPI library of this process lacks; the program ends", "");
  _exit(127);
}

constexpr unsigned candidates_max = 64;
struct Candidates {
  unsigned count = 0;
  char paths[candidates_max][1024];
};

// Collects loaded objects whose name says MPI. (dlopen must not be called from inside this callback.)
int collect(dl_phdr_info* info, size_t, void* opaque) {
  auto& found = *static_cast<Candidates*>(opaque);
  const char* slash = info->dlpi_name != nullptr ? strrchr(info->dlpi_name, '/') : nullptr;
  if (slash == nullptr || strstr(slash, "mpi") == nullptr || strlen(info->dlpi_name) >= 1024) return 0;
  if (found.count < candidates_max) strcpy(found.paths[found.count++], info->dlpi_name);
  return 0;
}

// The path of the object that holds `address`; nullptr if it is the main program or unknown.
const char* object_of(void* address) {
  Dl_info info;
  if (address == nullptr || dladdr(address, &info) == 0) return nullptr;
  return info.dli_fname;
}

// Returns a handle of the MPI library, and puts the library into the global scope. nullptr if this process
// has none that can be found.
void* find_mpi() {
  const char* path = object_of(dlsym(RTLD_NEXT, version_name));
  static Candidates found;
  if (path == nullptr) dl_iterate_phdr(collect, &found);
  for (unsigned i = 0; path == nullptr && i < found.count; ++i) {
    void* handle = dlopen(found.paths[i], RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    path = object_of(dlsym(handle, version_name));
    dlclose(handle);
  }
  if (path == nullptr) return nullptr;
  return dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
}

void find_real(void* mpi) {
  for (unsigned i = 0; i < entry_count; ++i) {
    char name[128];
    snprintf(name, sizeof name, "%s%s", i % 2 != 0 ? "P" : "", slot_names[i / 2]);
    real_functions[i] = dlsym(RTLD_NEXT, name);
    if (real_functions[i] == nullptr && mpi != nullptr) real_functions[i] = dlsym(mpi, name);
  }
}

struct Flavour {
  const char* mark;  // part of the text of MPI_Get_library_version
  const char* file;  // the implementation library, in the folder of libmillrace.so
};
constexpr Flavour flavours[] = {
    {"Open MPI", "libmillrace-ompi.so"},                                        // also IBM Spectrum MPI
    {"FUJITSU MPI", "libmillrace-ompi.so"}, {"MPICH", "libmillrace-mpich.so"},  // also CRAY MPICH
    {"MVAPICH", "libmillrace-mpich.so"},    {"Intel(R) MPI", "libmillrace-mpich.so"},
};

// The name of the implementation library for this MPI. Prints a line and returns nullptr if there is none.
const char* library_for(void* mpi) {
  const char* path = object_of(dlsym(mpi, version_name));
  if (path != nullptr && strstr(path, "mpi_abi") != nullptr) return "libmillrace-abi.so";
  using Version = int (*)(char*, int*);
  static char text[16384];  // larger than any MPI_MAX_LIBRARY_VERSION_STRING
  int size = 0;
  const auto version = reinterpret_cast<Version>(dlsym(mpi, version_name));
  if (version == nullptr || version(text, &size) != 0) text[0] = '\0';
  for (const Flavour& flavour : flavours) {
    if (strstr(text, flavour.mark) != nullptr) return flavour.file;
  }
  text[strcspn(text, "\n")] = '\0';
  say("passing through: Millrace does not know this MPI library; files are written as without it: ",
      text[0] != '\0' ? text : "(no version)");
  return nullptr;
}

// Loads the implementation library and lets it fill hook_functions.
void attach(const char* library) {
  Dl_info self;
  if (dladdr(reinterpret_cast<void*>(&millrace_resolve), &self) == 0 || self.dli_fname == nullptr) return;
  char path[4096];
  const char* slash = strrchr(self.dli_fname, '/');
  const int folder = slash != nullptr ? static_cast<int>(slash - self.dli_fname) + 1 : 0;
  snprintf(path, sizeof path, "%.*s%s", folder, self.dli_fname, library);
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    say("passing through: cannot load the library for this MPI: ", dlerror());
    return;
  }
  const auto function = reinterpret_cast<AttachFunction>(dlsym(handle, attach_symbol));
  const Attach request{attach_version, slot_count, real_functions, hook_functions};
  if (function == nullptr || function(&request) != 0) {
    memset(hook_functions, 0, sizeof hook_functions);
    say("passing through: this library belongs to another version of Millrace; install Millrace again: ",
        path);
    return;
  }
  // A function without a hook would miss the pipeline's bytes. So either all functions are hooked, or none.
  for (unsigned i = 0; i < entry_count; ++i) {
    if (real_functions[i] == nullptr || hook_functions[i] != nullptr) continue;
    memset(hook_functions, 0, sizeof hook_functions);
    say("passing through: Millrace was built for an older MPI library, which lacks ", slot_names[i / 2]);
    return;
  }
}

void resolve_all() {
  void* mpi = find_mpi();
  find_real(mpi);
  if (mpi == nullptr) {
    say("passing through: no MPI library is loaded in this process", "");
  } else if (!millrace::turned_off()) {
    const char* library = library_for(mpi);
    if (library != nullptr) attach(library);
  }
  for (unsigned i = 0; i < entry_count; ++i) {
    void* target = hook_functions[i] != nullptr ? hook_functions[i] : real_functions[i];
    // If this MPI lacks a function, its hook is not used, even if the implementation library has one.
    if (real_functions[i] == nullptr) target = narrow_function(i);
    if (target == nullptr) target = reinterpret_cast<void*>(&missing);
    __atomic_store_n(&millrace_slots[i], target, __ATOMIC_RELEASE);
  }
}

pthread_once_t once = PTHREAD_ONCE_INIT;

}  // namespace

void* millrace_resolve(unsigned index) {
  pthread_once(&once, resolve_all);
  return __atomic_load_n(&millrace_slots[index], __ATOMIC_ACQUIRE);
}
