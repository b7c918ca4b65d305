# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors of torch, where torch is installed."""

import millrace
import pytest
from millrace.api import native

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bfloat16"]
TYPES += ["complex64", "complex128", "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2"]


def raw(tensor):
    tensor = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def same(one, other):
    assert type(other) is torch.Tensor and one.dtype == other.dtype and one.shape == other.shape
    return raw(one) == raw(other)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("mapped", [False, True])
def test_tensors_of_every_type(tmp_path, name, mapped):
    dtype = getattr(torch, name, None)
    if dtype is None:
        pytest.skip("this torch has no such type")
    size = torch.empty(0, dtype=dtype).element_size()
    numbers = torch.from_numpy(
        (np.arange(12 * size, dtype=np.uint8) % 2 if name == "bool" else np.arange(12 * size, dtype=np.uint8)).copy()
    )
    whole = numbers.view(dtype).reshape(3, 4)
    tree = {"whole": whole, "turned": whole.t(), "one": whole[1, 1], "empty": whole[:0], "part": whole[:, 1:3]}
    millrace.save(tmp_path / "tree", tree)
    found = millrace.load(tmp_path / "tree", verify=True, mmap=mapped)
    assert all(same(tree[key], found[key]) for key in tree)


def test_conjugated_and_negated_tensors(tmp_path):
    value = torch.tensor([1 + 2j, 3 - 4j])
    tree = {"conj": value.conj(), "neg": torch._neg_view(torch.arange(3.0)), "imag": value.conj().imag}
    millrace.save(tmp_path / "tree", tree)
    found = millrace.load(tmp_path / "tree")
    assert all(torch.equal(tree[key], found[key]) for key in tree)


def test_states_of_models_and_optimizers(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Linear(7, 5))
    model[1].weight = torch.nn.Parameter(model[0].weight.detach().t().contiguous())
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(2, 5)).sum().backward()
    optimizer.step()
    states = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "rng": torch.get_rng_state()}
    millrace.save(tmp_path / "tree", states)
    found = millrace.load(tmp_path / "tree", verify=True)
    other = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Linear(7, 5))
    other.load_state_dict(found["model"])
    torch.optim.Adam(other.parameters()).load_state_dict(found["optimizer"])
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
    assert torch.equal(found["rng"], states["rng"])


def test_tied_weights_are_stored_once_and_stay_tied(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(300, 300, bias=False), torch.nn.Linear(300, 300, bias=False))
    model[1].weight = model[0].weight
    millrace.save(tmp_path / "tree", model.state_dict())
    found = millrace.load(tmp_path / "tree")
    assert found["0.weight"] is found["1.weight"]
    assert (tmp_path / "tree").stat().st_size < 300 * 300 * 4 + 10_000


def test_other_libraries_on_demand(tmp_path):
    millrace.save(
        tmp_path / "tree", {"t": torch.arange(4), "c": torch.ones(2, dtype=torch.complex64), "n": np.ones(3, ">f4")}
    )
    found = millrace.load(tmp_path / "tree", arrays="numpy")
    assert np.array_equal(found["t"], np.arange(4)) and found["c"].dtype == np.complex64
    found = millrace.load(tmp_path / "tree", arrays="torch", device="cpu")
    assert torch.equal(found["n"], torch.ones(3)) and found["c"].dtype == torch.complex64
    millrace.save(tmp_path / "dates", np.array("2020", "M8[Y]"))
    with pytest.raises(millrace.CheckpointError, match="torch has no type"):
        millrace.load(tmp_path / "dates", arrays="torch")


def test_bfloat16_in_numpy_needs_a_package(tmp_path):
    millrace.save(tmp_path / "tree", {"b": torch.ones(3, dtype=torch.bfloat16)})
    try:
        import ml_dtypes
    except ImportError:
        with pytest.raises(millrace.CheckpointError, match="ml_dtypes"):
            millrace.load(tmp_path / "tree", arrays="numpy")
        return
    found = millrace.load(tmp_path / "tree", arrays="numpy")["b"]
    assert found.dtype == ml_dtypes.bfloat16
    millrace.save(tmp_path / "again", found)
    assert millrace.load(tmp_path / "again").tobytes() == found.tobytes()


@pytest.mark.parametrize(
    "make, word",
    [
        (lambda: torch.eye(3).to_sparse(), "dense"),
        (lambda: torch.empty(3, device="meta"), "meta"),
        (lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8), "dense"),
    ],
)
def test_tensors_without_plain_bytes_are_refused(tmp_path, make, word):
    with pytest.raises(TypeError, match=rf"tree\['t'\].*{word}"):
        millrace.save(tmp_path / "never", {"t": make()})


def test_safetensors_own_torch_loader_reads_it(tmp_path):
    library = pytest.importorskip("safetensors.torch")
    tree = {"w": torch.randn(3, 4), "b": torch.ones(5, dtype=torch.bfloat16), "f": torch.ones(3).to(torch.float8_e5m2)}
    millrace.save(tmp_path / "tree", tree)
    found = library.load_file(tmp_path / "tree")
    assert all(same(tree[key], found[key]) for key in tree)
    library.save_file(tree, tmp_path / "theirs")
    found = millrace.load(tmp_path / "theirs", arrays="torch")
    assert all(same(tree[key], found[key]) for key in tree)


def test_a_copy_for_the_background(tmp_path):
    value = torch.arange(3 << 18)
    saving = millrace.save(tmp_path / "tree", value, wait=False)
    value.zero_()
    saving.wait(240)
    assert torch.equal(millrace.load(tmp_path / "tree"), torch.arange(3 << 18))


@pytest.mark.skipif(native.find() is None, reason="the C library is not built")
def test_tensors_are_written_to_files(tmp_path):
    value = torch.nn.Parameter(torch.randn(30, 40).to(torch.bfloat16))
    with millrace.File(tmp_path / "file", "w+") as file:
        assert file.write(value) == 2400
        back = torch.zeros(30, 40, dtype=torch.bfloat16)
        assert file.begin_read(back, 0).wait() == 2400 and torch.equal(back, value)
        with pytest.raises(BufferError, match="contiguous"):
            file.write(value.t())
        with pytest.raises(TypeError, match="meta"):
            file.write(torch.empty(3, device="meta"))
