# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays on a real CUDA device, where there is one: torch's and CuPy's."""

import millrace
import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

TYPES = ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "float8_e4m3fn"]


def numbers(dtype, count, seed):
    made = torch.randint(0, 2, (count * torch.empty(0, dtype=dtype).element_size(),), dtype=torch.uint8)
    return made.cuda().view(dtype) if dtype is torch.bool else made.mul_(37 + seed).cuda().view(dtype)


def raw(tensor):
    tensor = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    return tensor.contiguous().cpu().reshape(-1).view(torch.uint8).numpy().tobytes()


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("how", [{}, {"wait": False}, {"wait": False, "copy": False}])
def test_tensors_come_back_on_the_device(tmp_path, name, how):
    dtype = getattr(torch, name)
    whole = numbers(dtype, 3_000_000, 1).reshape(1000, 3000)
    tree = {"whole": whole, "turned": whole.t(), "part": whole[3:9, 5:700], "one": whole[1, 1], "none": whole[:0]}
    millrace.save(tmp_path / "tree", tree, **how).wait(100)
    for device in (None, "cuda:0"):
        found = millrace.load(tmp_path / "tree", device=device, verify=True)
        for key, tensor in tree.items():
            assert found[key].device.type == ("cpu" if device is None else "cuda")
            assert found[key].dtype == dtype and found[key].shape == tensor.shape and raw(found[key]) == raw(tensor)


def test_work_of_the_present_stream_is_in_the_file(tmp_path):
    for stream in (torch.cuda.default_stream(), torch.cuda.Stream()):
        with torch.cuda.stream(stream):
            value = torch.zeros(1 << 20, device="cuda")
            torch.cuda._sleep(100_000_000)
            value += 3
            millrace.save(tmp_path / "tree", {"value": value})
        assert np.array_equal(
            millrace.load(tmp_path / "tree", arrays="numpy")["value"], np.full(1 << 20, 3, np.float32)
        )


def test_files_take_and_fill_tensors_and_arrays(tmp_path):
    cupy = pytest.importorskip("cupy")
    wanted = torch.arange(5_000_001, dtype=torch.int32, device="cuda")
    with millrace.File(tmp_path / "file", "w+") as file:
        assert file.write(wanted) == 20_000_004
        back = torch.empty_like(wanted)
        assert file.read_into_at(back, 0) == 20_000_004 and torch.equal(back, wanted)
        other = cupy.zeros(5_000_001, cupy.int32)
        assert file.read_into_at(other, 0) == 20_000_004 and bool((other == cupy.asarray(wanted)).all())
        file.write_at(other * 2, 0)
        assert np.array_equal(np.fromfile(tmp_path / "file", np.int32), np.arange(5_000_001, dtype=np.int32) * 2)
        with pytest.raises(BufferError):
            file.write(wanted[::2])


def test_trees_of_cupy_come_back_as_cupy(tmp_path):
    cupy = pytest.importorskip("cupy")
    tree = {"a": cupy.arange(1_000_003, dtype=cupy.float64), "b": cupy.ones((3, 5, 7), cupy.int8)[:, 1:3]}
    millrace.save(tmp_path / "tree", tree)
    found = millrace.load(tmp_path / "tree", verify=True)
    assert all(isinstance(found[key], cupy.ndarray) and bool((found[key] == tree[key]).all()) for key in tree)


def test_a_tensor_larger_than_all_staging(tmp_path):
    large = torch.arange(100_000_000, dtype=torch.int64, device="cuda")  # 800 MB
    millrace.save(tmp_path / "tree", {"large": large})
    assert torch.equal(millrace.load(tmp_path / "tree", device="cuda")["large"], large)
