# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Saving while the program goes on."""

import gc
import os
import threading
import weakref

import millrace
import pytest
from millrace.checkpoint import saving as implementation

np = pytest.importorskip("numpy")


@pytest.fixture
def gate(monkeypatch):
    """Writes wait until it is opened."""
    opened = threading.Event()
    real = os.pwritev

    def wait(*words):
        assert opened.wait(240)
        return real(*words)

    monkeypatch.setattr(os, "pwritev", wait)
    yield opened
    opened.set()


def test_the_copy_is_saved(tmp_path, gate):
    tree = {
        "large": np.arange(3 << 20),
        "turned": np.arange(6).reshape(2, 3).T,
        "small": [np.arange(3)],
        "e": np.zeros(0),
    }
    expected = {"large": tree["large"].copy(), "turned": tree["turned"].copy()}
    saving = millrace.save(tmp_path / "tree", tree, wait=False)
    tree["large"][:] = 0
    tree["turned"][:] = 0
    tree["small"][0][:] = 9
    assert not saving.done()
    with pytest.raises(TimeoutError, match="goes on"):
        saving.wait(0.05)
    gate.set()
    saving.wait(240)
    assert saving.done() and saving.seconds > 0.04 and saving.bytes == (tmp_path / "tree").stat().st_size
    found = millrace.load(tmp_path / "tree", verify=True)
    assert np.array_equal(found["large"], expected["large"]) and np.array_equal(found["turned"], expected["turned"])
    assert np.array_equal(found["small"][0], [0, 1, 2])


def test_borrowed_arrays_are_not_copied(tmp_path, gate):
    array = np.zeros(3 << 20)
    saving = millrace.save(tmp_path / "tree", array, wait=False, copy=False, checksum=False)
    array[:] = 7  # against the rule, to see that there is no copy
    gate.set()
    saving.wait(240)
    assert (millrace.load(tmp_path / "tree") == 7).all()


def test_saves_of_one_path_are_in_order(tmp_path):
    for i in range(20):
        millrace.save(tmp_path / "tree", {"i": i, "a": np.full(100_000, i)}, wait=False, fsync=False)
    millrace.save(tmp_path / "tree", {"i": 20, "a": 0})
    assert millrace.load(tmp_path / "tree")["i"] == 20


def test_no_more_than_two_go_on(tmp_path, gate):
    arrays = [np.full(10, i) for i in range(5)]
    begun = []

    def begin():
        for i, array in enumerate(arrays):
            begun.append(millrace.save(tmp_path / str(i), array, wait=False))

    thread = threading.Thread(target=begin)
    thread.start()
    while len(begun) < implementation.AT_ONCE:
        thread.join(0.01)
    thread.join(0.2)
    assert len(begun) == implementation.AT_ONCE and thread.is_alive()
    gate.set()
    millrace.save(tmp_path / "front", 1)  # in the foreground there is no such bound
    thread.join(60)
    for saving in begun:
        saving.wait(240)
    assert all(np.array_equal(millrace.load(tmp_path / str(i)), array) for i, array in enumerate(arrays))


def test_errors_come_out_of_wait_and_hold_no_arrays(tmp_path, monkeypatch):
    def fail(*words):
        raise OSError(5, "disk")

    monkeypatch.setattr(os, "pwritev", fail)
    array = np.ones(10)
    seen = weakref.ref(array)
    saving = millrace.save(tmp_path / "tree", {"a": array}, wait=False, copy=False)
    del array
    for _ in range(2):
        with pytest.raises(OSError, match="disk"):
            saving.wait(240)
    assert os.listdir(tmp_path) == []
    gc.collect()
    assert seen() is None


def test_the_programs_end_waits(tmp_path, program):
    code = """
import os, sys, time, millrace, numpy
real = os.pwritev
def slow(*words):
    time.sleep(0.1)
    return real(*words)
os.pwritev = slow
millrace.save(sys.argv[1], numpy.arange(2 << 20), wait=False)
"""
    out, err = program(code, tmp_path / "tree").communicate(timeout=400)
    assert (out, err) == ("", "")
    assert np.array_equal(millrace.load(tmp_path / "tree", verify=True), np.arange(2 << 20))


def test_an_error_that_nobody_waited_for_is_told_at_the_end(tmp_path, program):
    code = "import sys, millrace, numpy; millrace.save(sys.argv[1], numpy.arange(2), wait=False)"
    _, err = program(code, tmp_path / "no" / "tree").communicate(timeout=400)
    assert err == f"millrace: {tmp_path / 'no' / 'tree'} was not saved: [Errno 2] No such file or directory: " + (
        f"'{tmp_path / 'no' / 'tree'}'\n"
    )


def test_a_child_does_not_wait_for_its_parents_saves(tmp_path, gate):
    saving = millrace.save(tmp_path / "tree", np.arange(3), wait=False)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            saving.wait(5)
        except RuntimeError as error:
            gate.set()
            status = 0 if "only the process that began" in str(error) else 2
            millrace.save(tmp_path / "child", np.arange(4), wait=False).wait(120)
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    gate.set()
    saving.wait(240)
    assert len(millrace.load(tmp_path / "tree")) == 3 and len(millrace.load(tmp_path / "child")) == 4
