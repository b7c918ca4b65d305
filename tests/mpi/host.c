/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A program that does not link MPI, as a Python interpreter does not: loads a plugin that does, out of the
 * global scope, and runs it. usage: host PLUGIN DIRECTORY */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  int (*run)(int, char**);
  *(void**)&run = dlsym(plugin, "plugin_main");
  return run == NULL ? 2 : run(argc - 1, argv + 1);
}
