# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What is saved is what is loaded, or is refused with a word about what it is."""

import array
import math
import subprocess
import sys
from collections import OrderedDict, namedtuple

import millrace
import pytest
from conftest import ROOT

np = pytest.importorskip("numpy")


@pytest.fixture
def there_and_back(tmp_path):
    def go(tree, **how):
        millrace.save(tmp_path / "tree", tree, fsync=False)
        return millrace.load(tmp_path / "tree", verify=True, **how)

    return go


def same(one, other):
    """Equal, and of equal types, all the way down."""
    if isinstance(one, np.ndarray | np.generic):
        assert type(one) is type(other) and one.dtype == other.dtype and one.shape == other.shape
        assert one.tobytes() == other.tobytes()
        return True
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert list(one) == list(other) and [type(key) for key in one] == [type(key) for key in other]
        return all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        assert len(one) == len(other)
        return all(map(same, one, other))
    assert one == other or (one != one and other != other)
    return True


PLAIN = [
    *(None, True, False, 0, -1, 2**63, -(2**200), 0.0, -0.0, 1.5, 1e300, 5e-324, math.inf, -math.inf, math.nan),
    *(1 + 2j, complex(math.inf, -0.0), "", "text", "\ud800 alone", "\0", "ü\u2028\U0001f600", '"\\/', b"", b"\0\xff"),
    *(bytearray(b"12"), [], (), {}, OrderedDict(), [[[]], ()], {"dict": 1}, {"tensor": "x", "as": "numpy"}),
    OrderedDict(b=1, a=2),
    {1: "int", 2.5: "real", None: 0, "s": 1, (1, ("a", None)): 3, -math.inf: 4},
    {True: 1, 0: 2},
    {"tuple": [1], "float": "nan", "ordered": True},
]


@pytest.mark.parametrize("value", PLAIN, ids=lambda value: repr(value)[:30])
def test_plain_values(there_and_back, value):
    same(value, there_and_back(value))
    same([value, {"x": value}], there_and_back([value, {"x": value}]))


def test_the_sign_of_zero(there_and_back):
    assert math.copysign(1, there_and_back(-0.0)) == -1
    assert math.copysign(1, there_and_back(complex(0, -0.0)).imag) == -1


DTYPES = [
    *"?bBhHiIlLqQefdFD",
    ">i2",
    ">u8",
    ">f4",
    ">f8",
    ">c8",
    ">c16",
    "M8[ns]",
    "m8[D]",
    ">M8[s]",
    "S3",
    "U2",
    ">U2",
]
DTYPES += ["V5", "g", "G", [("x", "i4"), ("y", ">f8", (2, 3))], [("in", [("a", "S2")]), ("b", "?")], "S0"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_arrays_of_every_type(there_and_back, dtype):
    dtype = np.dtype(dtype)
    values = []
    for shape in ((), (0,), (3,), (2, 0, 4), (3, 5), (2, 3, 4)):
        size = int(np.prod(shape)) * dtype.itemsize
        raw = np.frombuffer(bytes(i * 37 % 251 for i in range(size)), np.uint8)
        value = np.zeros(shape, dtype)
        if dtype.kind == "b":
            value[...] = raw.reshape(shape) % 2
        elif dtype.kind == "U":
            value[...] = "aü"
        elif size:
            value = raw.copy().view(dtype).reshape(shape)
        values.append(value)
    found = there_and_back(values)
    same(values, found)
    assert all(array.flags.writeable and array.flags.c_contiguous for array in found)
    same(values, there_and_back(values, mmap=True))


LAYOUTS = {
    "fortran": lambda a: np.asfortranarray(a),
    "transposed": lambda a: a.T,
    "every second": lambda a: a[::2, ::3],
    "backwards": lambda a: a[::-1],
    "broadcast": lambda a: np.broadcast_to(a[0], (7, a.shape[1])),
    "read only": lambda a: np.frombuffer(a.tobytes(), a.dtype),
    "unaligned": lambda a: np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(a.dtype),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["<i4", ">f8"])
def test_layouts(there_and_back, layout, dtype):
    value = LAYOUTS[layout](np.arange(1200, dtype=dtype).reshape(30, 40))
    assert np.array_equal(value, there_and_back(value))


def test_large_arrays_of_several_chunks(there_and_back):
    tree = {
        "large": np.arange(3_000_001, dtype=np.int64),
        "turned": np.arange(2_000_000, dtype=np.float32).reshape(1000, 2000).T,
        "many": [np.full(i, i, np.int16) for i in range(1500)],
        "exactly": np.ones(4 << 20, np.uint8),
    }
    for threads in (1, 3):
        found = there_and_back(tree, threads=threads)
        assert np.array_equal(found["large"], tree["large"]) and np.array_equal(found["turned"], tree["turned"])
        assert np.array_equal(found["exactly"], tree["exactly"])
        assert all(map(np.array_equal, found["many"], tree["many"]))


def test_scalars_of_numpy(there_and_back):
    same(
        [np.float32(2), np.bool_(True), np.int64(-1), np.str_("ü"), np.complex64(1j)],
        there_and_back([np.float32(2), np.bool_(True), np.int64(-1), np.str_("ü"), np.complex64(1j)]),
    )


def test_names_that_look_alike(there_and_back):
    tree = {"a.b": np.arange(1), "a": {"b": np.arange(2), "": np.arange(3)}, "__metadata__": np.arange(4)}
    tree.update({"a.b~2": np.arange(5), 0: np.arange(6), "0": np.arange(7), "\ud800": np.arange(8), "?": np.arange(9)})
    same(tree, there_and_back(tree))


def test_shared_arrays_are_stored_once_and_stay_shared(there_and_back, tmp_path):
    one = np.arange(1 << 17)
    tree = {"a": one, "again": [one, one[:]], "other": one.copy(), "part": one[:5]}
    found = there_and_back(tree)
    assert found["again"][0] is found["a"] and found["again"][1] is found["a"]
    assert found["other"] is not found["a"] and np.array_equal(found["part"], one[:5])
    assert (tmp_path / "tree").stat().st_size < 2 * one.nbytes + 10_000


class Dlpack:
    """Known by this protocol alone."""

    def __init__(self, inner):
        self.inner = inner

    def __dlpack__(self, **how):
        return self.inner.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.inner.__dlpack_device__()


class Strange(Dlpack):
    """What DLPack has no word for, but NumPy."""

    def __dlpack__(self, **how):
        raise BufferError("no such type")

    def __array__(self, *how, **more):
        return self.inner


def test_other_arrays_become_numpys(there_and_back):
    same(np.arange(3), there_and_back(Strange(np.arange(3))))
    inner = np.arange(6.0).reshape(2, 3)
    same([inner] * 2, there_and_back([Dlpack(inner), memoryview(inner)]))
    same(np.array([1, 2], np.int16), there_and_back(array.array("h", [1, 2])))


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "value, word",
    [
        ({1, 2}, "set"),
        (object(), "object"),
        (Point(1, 2), "Point"),
        (int, "builtins.type"),
        (np.array([None]), "Python objects"),
        (np.array([(1, None)], dtype=[("a", "i4"), ("b", "O")]), "Python objects"),
        (np.ma.masked_array([1, 2], [True, False]), "masked"),
        (10**5000, "digits"),
        ({b"key": 1}, "key"),
        ({(1, b"x"): 1}, "key"),
    ],
    ids=lambda value: repr(value)[:20] if isinstance(value, str) else "value",
)
def test_what_cannot_be_saved_is_named(tmp_path, value, word):
    with pytest.raises(TypeError, match=r"tree\['deep'\]\[1\].*" + word):
        millrace.save(tmp_path / "never", {"deep": [0, value]})
    assert list(tmp_path.iterdir()) == []


def test_trees_without_end_are_refused(tmp_path):
    tree = []
    tree.append({"again": tree})
    with pytest.raises(ValueError, match=r"tree\[0\]\['again'\] contains itself"):
        millrace.save(tmp_path / "never", tree)
    deep = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested"):
        millrace.save(tmp_path / "never", deep)
    deep = np.arange(3)
    for _ in range(200):
        deep = (deep,)
    millrace.save(tmp_path / "deep", deep)
    assert millrace.load(tmp_path / "deep")[0][0][0] is not None


def test_a_header_has_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr("millrace.checkpoint.header.HEADER_MAX_BYTES", 100_000)
    with pytest.raises(millrace.CheckpointError, match="into arrays"):
        millrace.save(tmp_path / "never", "x" * 100_000)


def test_import_is_light():
    code = (
        "import sys, millrace; dir(millrace); "
        "print([m for m in ('numpy', 'torch', 'cupy', 'ctypes', 'typer') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "python", capture_output=True, text=True, check=True, timeout=400
    )
    assert done.stdout.strip() == "[]"


def test_random_trees(there_and_back, dice):
    def grow(depth):
        kind = dice.randrange(9 if depth else 6)
        if kind == 0:
            return np.frombuffer(dice.randbytes(8 * dice.randrange(40)), dice.choice(["<i8", ">f8", "<c8", "<M8[s]"]))
        if kind < 6:
            return dice.choice(PLAIN[:20])
        if kind == 6:
            return [grow(depth - 1) for _ in range(dice.randrange(5))]
        if kind == 7:
            return tuple(grow(depth - 1) for _ in range(dice.randrange(5)))
        keys = [
            dice.choice(["", ".", "a", "~2", "a.b", "\ud83d", 0, 1.5, None, (1, "x")]) for _ in range(dice.randrange(6))
        ]
        return {key: grow(depth - 1) for key in keys}

    for _ in range(100):
        tree = grow(4)
        same(tree, there_and_back(tree))
