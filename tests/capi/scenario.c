/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * scenario DEVICE FOLDER FUNCTIONS: files, requests, functions, queues, as a C program uses them. C99, and
 * C++. scenario.cpp and scenario.f90 do the same; the files that they leave are compared.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "millrace/millrace.h"

enum { COUNT = 1000000, BYTES = COUNT * 8 };
static double values[COUNT];
static double back[COUNT];

static int64_t checked(int64_t result, const char* what) {
  if (result >= 0) return result;
  printf("%s: %ld, %s\n", what, (long)result, millrace_explain());
  exit(1);
}
#define CHECK(call) checked(call, #call)

static void expect(int right, const char* what) {
  if (right) return;
  printf("not so: %s\n", what);
  exit(1);
}
#define EXPECT(condition) expect(condition, #condition)

static void files(millrace_device* device, void* memory, const char* path) {
  millrace_file* file = NULL;
  millrace_request* request = NULL;
  CHECK(
      millrace_open(path, MILLRACE_READ | MILLRACE_WRITE | MILLRACE_CREATE | MILLRACE_TRUNCATE, 0600, &file));
  CHECK(millrace_write_mem(device, memory, values, BYTES));
  EXPECT(CHECK(millrace_write(file, device, memory, BYTES)) == BYTES);
  CHECK(millrace_request_init(&request));
  CHECK(millrace_request_write(request, file, device, memory, BYTES / 2, BYTES));
  while (CHECK(millrace_request_query(request)) == 0) {
  }
  EXPECT(CHECK(millrace_request_wait(request, -1)) == BYTES / 2);
  CHECK(millrace_request_read(request, file, NULL, back, BYTES, BYTES / 2));
  EXPECT(CHECK(millrace_request_wait(request, 60000)) == BYTES);
  EXPECT(memcmp(back, values + COUNT / 2, BYTES / 2) == 0);
  EXPECT(memcmp(back + COUNT / 2, values, BYTES / 2) == 0);
  CHECK(millrace_request_fini(request));
  EXPECT(CHECK(millrace_seek(file, 8, MILLRACE_SET)) == 8);
  EXPECT(CHECK(millrace_read(file, device, memory, 16)) == 16);
  CHECK(millrace_read_mem(device, back, memory, 24));
  EXPECT(back[0] == values[1] && back[1] == values[2] && back[2] == values[2]);
  CHECK(millrace_truncate(file, BYTES + 8));
  EXPECT(CHECK(millrace_size(file)) == BYTES + 8);
  CHECK(millrace_sync(file));
  CHECK(millrace_close(file));
  EXPECT(millrace_close(file) < 0 && strstr(millrace_explain(), "no such handle") != NULL);
}

static void functions(int where, millrace_device* device, void* memory, const char* library_path) {
  millrace_channel* channel = NULL;
  millrace_queue* queue = NULL;
  uint64_t library = 0, sum = 0, fill = 0, returned = 0, written = 0, called = 0, read = 0;
  double total = 0;
  millrace_argument arguments[4];
  CHECK(millrace_channel_open(where, &channel));
  CHECK(millrace_install(channel, library_path, &library));
  CHECK(millrace_find(channel, library, "sum", &sum));
  CHECK(millrace_find(channel, library, "fill", &fill));
  CHECK(millrace_write_mem(device, memory, values, BYTES));
  memcpy(back, values, BYTES);
  arguments[0] = millrace_memory(MILLRACE_IN, device, memory, BYTES);
  arguments[1] = millrace_integer(COUNT);
  arguments[2] = millrace_memory(MILLRACE_OUT, NULL, &total, sizeof total);
  arguments[3] = millrace_memory(MILLRACE_INOUT, NULL, back, BYTES);
  CHECK(millrace_invoke(channel, sum, arguments, 4, NULL, &returned));
  EXPECT(returned == COUNT && total == 0.5 * COUNT * (COUNT - 1) && back[3] == 9);

  CHECK(millrace_queue_open(device, &queue));
  CHECK(millrace_queue_write_mem(queue, memory, back, BYTES, &written));
  arguments[0] = millrace_argument_of(MILLRACE_CALL);
  arguments[1] = millrace_integer((uint64_t)(uintptr_t)memory);
  arguments[2] = millrace_integer(16);
  arguments[3] = millrace_integer(0);
  CHECK(millrace_queue_call(queue, channel, fill, arguments, 4, &called));
  CHECK(millrace_queue_read_mem(queue, back, memory, 32, &read));
  CHECK(millrace_queue_sync(queue, 60000));
  EXPECT(CHECK(millrace_queue_peek(queue, read)) == 1);
  CHECK(millrace_queue_wait(queue, called, -1, &returned));
  CHECK(millrace_queue_wait(queue, written, -1, NULL));
  CHECK(millrace_queue_wait(queue, read, -1, NULL));
  EXPECT(returned == 0 && back[1] == 0 && back[2] == 4 && back[3] == 9);
  CHECK(millrace_queue_close(queue));
  EXPECT(millrace_find(channel, library, "no_such_function", &sum) < 0);
  CHECK(millrace_uninstall(channel, library));
  CHECK(millrace_channel_close(channel));
}

int main(int count, char** words) {
  char path[4096];
  millrace_device* device = NULL;
  void* memory = NULL;
  millrace_counts counts;
  int i;
  if (count != 4) return 2;
  EXPECT(millrace_api_version() >= MILLRACE_API_VERSION);
  for (i = 0; i < COUNT; ++i) values[i] = i;
  sprintf(path, "%s/c", words[2]);
  CHECK(millrace_device_open(words[1], &device));
  CHECK(millrace_alloc(device, BYTES, &memory));
  files(device, memory, path);
  functions(MILLRACE_THREAD, device, memory, words[3]);
  functions(MILLRACE_PROCESS, device, memory, words[3]);
  EXPECT(millrace_alloc(device, 0, &memory) < 0);
  CHECK(millrace_free(device, memory));
  CHECK(millrace_device_close(device));
  CHECK(millrace_get_counts(&counts, sizeof counts));
  EXPECT(counts.handles == 0 && counts.staging_bytes == 0 && counts.staging_peak_bytes <= 64 << 20);
  puts("all is well");
  return 0;
}
