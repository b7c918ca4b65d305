/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A library for LD_PRELOAD: a pause takes ten times as long as it should, as where processors are scarce. */
#define _GNU_SOURCE
#include <time.h>

int nanosleep(const struct timespec* pause, struct timespec* rest) {
  long long ns = 10 * (pause->tv_sec * 1000000000LL + pause->tv_nsec);
  struct timespec slow = {ns / 1000000000, ns % 1000000000};
  if (rest != NULL) *rest = (struct timespec){0, 0};
  return clock_nanosleep(CLOCK_MONOTONIC, 0, &slow, NULL) == 0 ? 0 : -1;
}
