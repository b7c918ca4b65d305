// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/handles/handlers.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "front/mpiio/handles/table.hpp"

namespace millrace::front {
namespace {

struct Kept {
  std::mutex lock;
  std::map<MPI_File, MPI_Errhandler> handlers;  // each with a reference of its own
};

// Never destroyed, because the MPI library may still call hooks from its exit handlers.
Kept& kept() {
  static Kept& one = *new Kept;
  return one;
}

struct Raised {
  MPI_File file;
  int code;
  bool noted;
};
constinit thread_local Raised raised{};

int set_real(MPI_File file, MPI_Errhandler handler) {
  return call<Slot::MPI_File_set_errhandler>(Entry::pmpi, file, handler);
}
int get_real(MPI_File file, MPI_Errhandler* handler) {
  return call<Slot::MPI_File_get_errhandler>(Entry::pmpi, file, handler);
}

MPI_Errhandler handler_of(MPI_File file) {
  const std::lock_guard guard(kept().lock);
  const auto found = kept().handlers.find(file);
  return found == kept().handlers.end() ? MPI_ERRHANDLER_NULL : found->second;
}

void note(MPI_File* file, int* code, ...);

// Millrace's handler, which is never freed.
MPI_Errhandler noting() {
  static const MPI_Errhandler one = [] {
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;
    return PMPI_File_create_errhandler(&note, &made) == MPI_SUCCESS ? made : MPI_ERRHANDLER_NULL;
  }();
  return one;
}

bool is_of_mpi(MPI_Errhandler handler) {
#ifdef MPI_ERRORS_ABORT
  if (handler == MPI_ERRORS_ABORT) return true;
#endif
  return handler == MPI_ERRORS_RETURN || handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRHANDLER_NULL ||
         handler == noting();
}

// Gives the library the program's handler for one call.
[[gnu::noinline]] bool lend(MPI_File file) {
  const MPI_Errhandler handler = handler_of(file);
  if (handler == MPI_ERRHANDLER_NULL) return false;
  thread_state.handling = file;
  return set_real(file, handler) == MPI_SUCCESS;
}

// Does not return if the handler jumps or throws. This library has a C++ runtime of its own, so an exception
// of the program may only pass functions that have nothing to destroy: this one, and handled() and the hooks,
// which call it.
void run(MPI_File file, int code) {
  if (!lend(file)) return;
  PMPI_File_call_errhandler(file, code);
  take_handler_again();
}

void note(MPI_File* file, int* code, ...) {
  if (thread_state.depth == 0) return run(*file, *code);
  if (!raised.noted) raised = {*file, *code, true};
}

// Takes over the reference to `handler`.
void keep(MPI_File file, MPI_Errhandler handler) {
  MPI_Errhandler old = MPI_ERRHANDLER_NULL;
  {
    const std::lock_guard guard(kept().lock);
    MPI_Errhandler& place = kept().handlers.try_emplace(file, MPI_ERRHANDLER_NULL).first->second;
    old = std::exchange(place, handler);
    if (handler == MPI_ERRHANDLER_NULL) kept().handlers.erase(file);
  }
  if (old != MPI_ERRHANDLER_NULL) PMPI_Errhandler_free(&old);
}

}  // namespace

// A handler on MPI_FILE_NULL is for opens, which call it outside of any Scope.
void keep_handler(MPI_File file) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (get_real(file, &handler) != MPI_SUCCESS) return;
  if (is_of_mpi(handler)) {
    if (handler != MPI_ERRHANDLER_NULL) PMPI_Errhandler_free(&handler);
    return;
  }
  keep(file, handler);
  set_real(file, noting());
}

void give_handler_back(MPI_File file) {
  const MPI_Errhandler handler = handler_of(file);
  if (handler == MPI_ERRHANDLER_NULL) return;
  set_real(file, handler);
  keep(file, MPI_ERRHANDLER_NULL);
}

[[gnu::noinline]] void take_handler_again() {
  const MPI_File file = std::exchange(thread_state.handling, MPI_File{});
  if (file != MPI_File{} && handler_of(file) != MPI_ERRHANDLER_NULL) set_real(file, noting());
}

int own_set_errhandler(Entry entry, MPI_File fh, MPI_Errhandler errhandler) {
  const int result = call<Slot::MPI_File_set_errhandler>(entry, fh, errhandler);
  if (fh == MPI_FILE_NULL || result != MPI_SUCCESS) return result;
  keep(fh, MPI_ERRHANDLER_NULL);
  keep_handler(fh);
  return result;
}

int own_get_errhandler(Entry entry, MPI_File fh, MPI_Errhandler* errhandler) {
  const MPI_Errhandler handler = handler_of(fh);
  if (handler == MPI_ERRHANDLER_NULL) return call<Slot::MPI_File_get_errhandler>(entry, fh, errhandler);
  set_real(fh, handler);  // so that the library gives a reference
  const int result = call<Slot::MPI_File_get_errhandler>(entry, fh, errhandler);
  set_real(fh, noting());
  return result;
}

int handled(int result) {
  if (raised.noted && thread_state.depth == 0) [[unlikely]] {
    const Raised now = std::exchange(raised, {});
    run(now.file, now.code);
  }
  return result;
}

}  // namespace millrace::front
