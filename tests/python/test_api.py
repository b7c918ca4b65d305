# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Files, requests, devices, queues and channels, over the C library."""

import array
import errno
import gc
import os
import re
import signal
import time

import millrace
import pytest
from conftest import BUILD, ROOT, Child
from millrace.api import native

pytestmark = pytest.mark.skipif(native.find() is None, reason="the C library is not built")
FUNCTIONS = BUILD / "lib" / "libchannel_functions.so"
FAKE_CUDA = BUILD / "fake-cuda"


@pytest.fixture(autouse=True)
def nothing_stays_open():
    yield
    gc.collect()
    assert native.counts().handles == 0


def pattern(size):
    return bytes(i * 31 % 251 for i in range(size))


def test_every_function_of_the_header_is_bound():
    header = (ROOT / "include" / "millrace" / "millrace.h").read_text()
    declared = set(re.findall(r"^MILLRACE_API [\w *]*?\bmillrace_(\w+)\(", header, re.MULTILINE))
    assert declared == set(native.FUNCTIONS)
    members = re.search(r"typedef struct millrace_counts \{(.*?)\}", header, re.DOTALL)[1]
    assert re.findall(r"uint64_t (\w+);", members) == [name for name, _ in native.Counts._fields_]
    assert f"#define MILLRACE_API_VERSION {native.API_VERSION}\n" in header


def test_a_file_is_written_and_read(tmp_path):
    with millrace.File(tmp_path / "file", "w+") as file:
        assert file.write(b"one") == 3 and file.write(array.array("h", [1, 2])) == 4 and file.tell() == 7
        assert file.write_at(memoryview(b"TWO"), 10) == 3 and file.tell() == 7 and file.size() == 13
        file.sync()
        assert file.read_at(3, 10) == b"TWO" and file.seek(-13, os.SEEK_END) == 0 and file.read(100)[:3] == b"one"
        into = bytearray(2)
        assert file.read_into_at(into, 11) == 2 and into == b"WO" and file.read_into(into) == 0
        file.truncate(1)
        assert os.fstat(file.fileno()).st_size == 1
    assert file.closed
    file.close()
    with pytest.raises(ValueError, match="closed"):
        file.read(1)


@pytest.mark.parametrize("mode, flags", [("r", "r"), ("rb", "r"), ("r+", "rw"), ("w", "w"), ("x", "w"), ("a+b", "rwa")])
def test_modes(tmp_path, mode, flags):
    path = tmp_path / "file"
    if mode != "x":
        path.write_bytes(b"before")
    with millrace.File(path, mode) as file:
        if "w" in flags:
            file.write(b"new")
            expected = {"r+": b"newore", "a+b": b"beforenew"}.get(mode, b"new")
            assert path.read_bytes() == expected
        else:
            with pytest.raises(OSError, match="Bad file descriptor"):
                file.write(b"new")
        if "r" in flags:
            assert file.read_at(3, 0) == path.read_bytes()[:3]
    for wrong in ("", "b", "rw", "q", "r++", "wb+x"):
        with pytest.raises(ValueError, match="mode"):
            millrace.File(path, wrong)


def test_errors_are_the_systems(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        millrace.File(tmp_path / "no" / "file", "w")
    assert caught.value.filename == str(tmp_path / "no" / "file")
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(FileExistsError):
        millrace.File(tmp_path / "file", "x")
    with millrace.File("/dev/full", "w") as file, pytest.raises(OSError) as caught:
        file.write(b"data")
    assert caught.value.errno == errno.ENOSPC
    with pytest.raises(OSError, match="descriptor"):
        millrace.File.adopt(-1)


def test_what_is_no_memory_is_refused(tmp_path):
    with millrace.File(tmp_path / "file", "w+") as file:
        with pytest.raises(TypeError, match="a str has no accessible bytes"):
            file.write("text")
        with pytest.raises(BufferError, match="read-only"):
            file.read_into(b"abc")
        with pytest.raises(BufferError, match="contiguous"):
            file.write(memoryview(b"abcdef")[::2])
        for offset in (-1, 1 << 63):
            with pytest.raises(ValueError, match="from 0"):
                file.write_at(b"x", offset)


def test_pipes_are_adopted():
    reading, writing = os.pipe()
    with millrace.File.adopt(reading) as there, millrace.File.adopt(writing) as here:
        here.write(b"through a pipe")
        assert there.read(100) == b"through a pipe"
        with pytest.raises(OSError) as caught:
            here.seek(0)
        assert caught.value.errno == errno.ESPIPE
    with pytest.raises(OSError):
        os.fstat(reading)


def test_arrays_of_numpy(tmp_path):
    np = pytest.importorskip("numpy")
    values = np.arange(1000.0).reshape(10, 100)
    with millrace.File(tmp_path / "file", "w+") as file:
        assert file.write(values) == values.nbytes
        found = np.empty_like(values)
        assert file.read_into_at(found, 0) == values.nbytes and np.array_equal(found, values)
        with pytest.raises(BufferError):
            file.write(values.T)


def test_requests_go_on_in_the_background(tmp_path):
    data = pattern(3_000_000)
    with millrace.File(tmp_path / "file", "w+") as file:
        requests = [file.begin_write(data, i * len(data)) for i in range(8)]
        assert [request.wait(240) for request in requests] == [len(data)] * 8
        assert all(request.done() and request.wait() == len(data) for request in requests)
        into = bytearray(len(data))
        request = file.begin_read(into, 7 * len(data))
        while not request.done():
            time.sleep(0.001)
        assert request.wait() == len(data) and into == data
        assert file.begin_read(into, 8 * len(data) - 5).wait() == 5


def test_a_request_that_does_not_come_to_its_end():
    reading, writing = os.pipe()
    with millrace.File.adopt(reading) as file:
        into = bytearray(5)
        request = file.begin_read(into, 0)
        with pytest.raises(OSError):  # a pipe has no offsets
            request.wait(240)
        with pytest.raises(OSError):
            request.wait()
    os.close(writing)


@pytest.mark.parametrize("which", ["host", "process"])
def test_memory_of_devices(tmp_path, which):
    data = pattern(5_000_000)
    with millrace.Device(which) as device, millrace.File(tmp_path / "file", "w+") as file:
        memory = device.alloc(len(data))
        memory.write(data)
        assert memory.read() == data and memory[100:200].read() == data[100:200] and len(memory[5:]) == len(data) - 5
        assert file.write(memory) == len(data) and (tmp_path / "file").read_bytes() == data
        other = device.alloc(1000)
        assert file.read_into_at(other, 77) == 1000 and other.read() == data[77:1077]
        assert file.begin_write(memory[:1000], 0).wait(240) == 1000
        with pytest.raises(ValueError, match="sizes differ"):
            other.write(b"short")
        with pytest.raises(TypeError, match="this process"):
            other.write(memory[:1000])
        with pytest.raises(ValueError, match="step 1"):
            memory[::2]
        other.free()
        other.free()
        assert len(other) == 0
        del memory, other


def test_memory_of_another_process():
    data = bytearray(b"what it was")
    address = native.address_of(memoryview(data))
    child = Child(lambda output: time.sleep(100))
    data[:] = bytes(len(data))  # here, not there
    try:
        with millrace.Device(f"process:{child.process}") as device:
            assert device.at(address, len(data)).read() == b"what it was"
            with pytest.raises(OSError):
                device.alloc(10)
    finally:
        child.end(signal.SIGKILL)
    with pytest.raises(OSError, match="gpu"):
        millrace.Device("gpu")


def test_queues_do_their_commands_in_order(tmp_path):
    data = pattern(1_000_000)
    with millrace.Device("process") as device:
        memory, back = device.alloc(len(data)), bytearray(len(data))
        with millrace.Queue(device) as queue, millrace.Channel("thread") as channel:
            add = channel.install(FUNCTIONS).find("add")
            tickets = [queue.write(memory, data), queue.read(memory, back), queue.call(add, 40, 2)]
            assert [ticket.wait(240) for ticket in tickets] == [0, 0, 42] and back == data
            assert all(ticket.done() for ticket in tickets) and tickets[2].wait() == 42
            sign = tmp_path / "go-on"
            os.mkfifo(sign)
            slow = queue.call(channel.install(FUNCTIONS).find("wait_for"), millrace.In(bytes(sign) + b"\0"))
            with pytest.raises(TimeoutError, match="goes on"):
                slow.wait(0.01)
            with pytest.raises(TimeoutError):
                queue.sync(0.01)
            sign.write_bytes(b"x")
            queue.sync(60)
            assert slow.done() and slow.wait() == 0
            del tickets, slow
        del memory


@pytest.mark.parametrize("where", ["thread", "process"])
def test_functions_on_the_host(where):
    with millrace.Channel(where) as channel, millrace.Device("process") as device:
        library = channel.install(FUNCTIONS)
        text = millrace.In(b"seven!!\0")
        assert library.find("weigh")(3, 1.5, text, millrace.Real32(2.5), 10_000, 500.0) == 3_010_682
        numbers, total = array.array("d", range(1, 1001)), array.array("d", [0])
        scaled = device.alloc(8000)
        scaled.write(numbers)
        count = library.find("sum")(millrace.In(numbers), len(numbers), millrace.Out(total), millrace.InOut(scaled))
        assert count == 1000 and total[0] == 500_500 and array.array("d", scaled.read())[-1] == 1e6
        assert library.find("fill")(millrace.CALL, scaled.address, 8000, 7, device=device) == 0
        assert scaled.read() == b"\7" * 8000
        assert library.find("add")(-3, 1) == 2**64 - 2 or library.find("add")(-3, 1) == 2**32 - 2
        pid = library.find("process")()
        assert (pid == os.getpid()) == (where == "thread")
        with pytest.raises(TypeError, match="cannot be an argument"):
            library.find("add")("1", 2)
        with pytest.raises(BufferError, match="read-only"):
            millrace.Out(b"abc")
        with pytest.raises(OverflowError):
            library.find("add")(1 << 64, 0)
        with pytest.raises(FileNotFoundError, match="no_such"):
            library.find("no_such")
        with pytest.raises(FileNotFoundError):
            channel.install("/no/such/library.so")
        library.uninstall()
        with pytest.raises(OSError):
            library.find("add")
        del scaled
    with pytest.raises(ValueError, match="thread or a process"):
        millrace.Channel("elsewhere")


def test_a_function_that_dies_is_an_error():
    with millrace.Channel("process") as channel, pytest.raises(ProcessLookupError):
        channel.install(FUNCTIONS).find("die")()


CUDA = """
import ctypes, gc, os, sys
import millrace, numpy as np
from millrace.api import native

class Array:
    def __init__(self, memory, shape, typestr, **more):
        self.memory = memory
        self.__cuda_array_interface__ = {
            "shape": shape, "typestr": typestr, "data": (memory.address, False), "version": 3, **more}

path = sys.argv[1]
driver = ctypes.CDLL("libcuda.so.1")
driver.fake_cuda_reset(ctypes.c_uint64(7), 100)
device = millrace.Device("cuda")
values = np.arange(3_000_000, dtype=np.float32).reshape(1000, 3000)
memory = device.alloc(values.nbytes)
memory.write(values)
there = Array(memory, values.shape, "<f4", stream=1)
with millrace.File(path, "w+") as file:
    assert file.write(there) == values.nbytes
    back = Array(device.alloc(values.nbytes), values.shape, "<f4", strides=(12000, 4))
    assert file.read_into_at(back, 0) == values.nbytes and back.memory.read() == values.tobytes()
    for wrong, word in ((dict(strides=(4, 4000)), "contiguous"), (dict(stream=12345), "stream 0x3039")):
        try:
            file.write(Array(memory, values.shape, "<f4", **wrong))
        except (BufferError, RuntimeError) as error:
            assert word in str(error)
        else:
            sys.exit("not refused")
small = Array(memory, (7,), "<i2")
tree = {"large": there, "again": there, "small": small, "none": Array(memory[:0], (0, 3), "<f8"), "host": values[0]}
for how in ({}, {"wait": False}, {"wait": False, "copy": False}):
    millrace.save(path, tree, **how).wait(240)
    found = millrace.load(path, verify=True)
    assert np.array_equal(found["large"], values) and found["again"] is found["large"]
    assert found["small"].tobytes() == values.tobytes()[:14] and found["none"].shape == (0, 3)
try:
    millrace.save(path, {"a": Array(memory, (5,), ">f4")})
except TypeError as error:
    assert "tree['a']" in str(error) and "little-endian" in str(error)
assert native.counts().staging_peak_bytes <= 64 << 20
del tree, there, back, small, memory
gc.collect()
device.close()
live = (ctypes.c_int * 8)()
driver.fake_cuda_get_live(live)
assert live[3] == 0 and live[6] == 0, ("allocations or misuse", *live)
print(native.counts().handles, len(os.listdir("/proc/self/fd")) < 20)
"""


@pytest.mark.skipif(not FAKE_CUDA.is_dir(), reason="the fake CUDA driver is not built")
def test_arrays_of_cuda(tmp_path, program, monkeypatch):
    pytest.importorskip("numpy")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(FAKE_CUDA))
    out, err = program(CUDA, tmp_path / "file").communicate(timeout=400)
    assert (out, err) == ("0 True\n", "")


def test_without_the_library_save_and_load_work_and_the_rest_says_why(tmp_path, program, monkeypatch):
    pytest.importorskip("numpy")
    monkeypatch.setenv("MILLRACE_PREFIX", str(tmp_path))
    code = """
import sys, millrace, numpy as np
millrace.save(sys.argv[1], np.arange(5))
print(millrace.load(sys.argv[1], verify=True))
try:
    millrace.File(sys.argv[1])
except millrace.NotFoundError as error:
    print(error)
"""
    out, err = program(code, tmp_path / "file").communicate(timeout=400)
    assert err == "" and out.startswith(
        "[0 1 2 3 4]\nmillrace.File: Millrace's C library (libmillrace_io.so.1) was not"
    )
