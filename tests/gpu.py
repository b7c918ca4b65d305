# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Is there a CUDA device? Tests of a real one are skipped (77) where there is none."""

from __future__ import annotations

import ctypes

SKIP = 77
DRIVER = "libcuda.so.1"


def absent() -> str:
    """Why no CUDA device can be used here; empty where one can."""
    try:
        driver = ctypes.CDLL(DRIVER)
    except OSError as error:
        return f"no CUDA driver ({error})"
    error = driver.cuInit(0)
    if error:
        return f"no CUDA device (cuInit: {error})"
    count = ctypes.c_int(0)
    error = driver.cuDeviceGetCount(ctypes.byref(count))
    return "" if error == 0 and count.value > 0 else f"no CUDA device (error {error})"
