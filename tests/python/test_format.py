# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Files are as docs/reference/checkpoint-format.md says, others' files are read, and damage is found."""

import json
import os
import re
import zlib

import millrace
import plain_safetensors
import pytest
from conftest import ROOT
from millrace.checkpoint import show

np = pytest.importorskip("numpy")

TREE = {
    "layer": {"w": np.arange(12, dtype=np.float32).reshape(3, 4), "b": np.arange(5, dtype=np.int8)},
    "z": np.array([1 + 2j, 3 - 4j]),
    "big": np.arange(3, dtype=">i2"),
    "step": 7,
}


@pytest.fixture
def saved(tmp_path):
    millrace.save(tmp_path / "tree", TREE)
    return tmp_path / "tree"


def test_a_plain_reader_finds_the_tensors(saved):
    tensors, metadata = plain_safetensors.read(saved)
    assert set(tensors) == {"layer.w", "layer.b", "z", "big"}
    assert np.array_equal(tensors["layer.w"], TREE["layer"]["w"])
    assert np.array_equal(tensors["z"], [[1, 2], [3, -4]])
    assert np.array_equal(tensors["big"], [0, 1, 2])
    assert metadata["millrace"] == "1"
    assert json.loads(metadata["millrace.tree"])["dict"]["step"] == 7


def test_the_header_is_as_documented(saved):
    data = saved.read_bytes()
    length = int.from_bytes(data[:8], "little")
    assert (8 + length) % 4096 == 0
    header = bytearray(data[8 : 8 + length])
    metadata = json.loads(header)["__metadata__"]
    at = header.index(metadata["millrace.crc32"].encode())
    header[at : at + 8] = b"00000000"
    assert zlib.crc32(header) == int(metadata["millrace.crc32"], 16)
    assert metadata["millrace.chunk"] == "4194304"


def test_crc32_of_chunks_is_as_documented(tmp_path, monkeypatch):
    from millrace.checkpoint import checksums

    monkeypatch.setattr(checksums, "_xxh3", lambda: None)
    value = np.arange(1_500_000, dtype=np.int64)
    millrace.save(tmp_path / "tree", {"a": value, "b": np.int8(3)}, fsync=False)
    _, metadata = plain_safetensors.read(tmp_path / "tree")
    assert metadata["millrace.checksum"] == "crc32"
    raw = value.tobytes()
    pieces = [raw[i : i + (4 << 20)] for i in range(0, len(raw), 4 << 20)] + [b"\x03"]
    assert metadata["millrace.checksums"] == "".join(f"{zlib.crc32(piece):08x}" for piece in pieces)


def test_the_real_safetensors_reads_it(saved):
    library = pytest.importorskip("safetensors.numpy")
    tensors = library.load_file(saved)
    assert np.array_equal(tensors["layer.w"], TREE["layer"]["w"])
    assert np.array_equal(tensors["z"], [[1, 2], [3, -4]])


def test_files_of_the_real_safetensors_are_read(tmp_path):
    library = pytest.importorskip("safetensors.numpy")
    tensors = {"a.b": np.arange(6.0).reshape(2, 3), "": np.zeros(0, np.int32), "ü": np.array(True)}
    library.save_file(tensors, tmp_path / "theirs", {"who": "they"})
    found = millrace.load(tmp_path / "theirs")
    assert set(found) == set(tensors)
    assert all(np.array_equal(found[name], tensors[name]) for name in tensors)


def test_files_of_a_plain_writer_are_read(tmp_path):
    tensors = {"odd": np.arange(3, dtype=np.uint8), "unaligned": np.arange(4.0), "empty": np.zeros((2, 0), np.float16)}
    plain_safetensors.write(tmp_path / "theirs", tensors, {"format": "pt"})
    for how in ({}, {"mmap": True}):
        found = millrace.load(tmp_path / "theirs", **how)
        assert list(found) == list(tensors)
        assert all(np.array_equal(found[name], tensors[name]) for name in tensors)
    with pytest.raises(millrace.CheckpointError, match="no checksums"):
        millrace.load(tmp_path / "theirs", verify=True)


def test_every_cut_is_found(saved):
    data = saved.read_bytes()
    places = [*range(0, 120), *range(120, len(data) - 100, 97), *range(len(data) - 100, len(data))]
    for place in places:
        saved.write_bytes(data[:place])
        with pytest.raises(millrace.CheckpointError):
            millrace.load(saved)
    saved.write_bytes(data + b"x")
    with pytest.raises(millrace.CheckpointError, match="damaged"):
        millrace.load(saved)


def test_every_changed_byte_is_found(saved, dice):
    data = bytearray(saved.read_bytes())
    text_end = data.rindex(b"}") + 1
    places = [*range(8, text_end, 5), *range(text_end, 4096, 301), *range(4096, len(data))]
    for place in [*range(8), *places]:
        changed = bytearray(data)
        changed[place] ^= 1 << dice.randrange(8)
        saved.write_bytes(changed)
        with pytest.raises(millrace.CheckpointError):
            millrace.load(saved)


def test_the_wrong_tensor_is_named(tmp_path):
    tree = {name: np.full(1000, i, np.int32) for i, name in enumerate("abcdefgh")}
    millrace.save(tmp_path / "tree", tree)
    data = bytearray((tmp_path / "tree").read_bytes())
    for name in "cf":
        data[data.index(tree[name].tobytes()) + 77] ^= 4
    (tmp_path / "tree").write_bytes(data)
    with pytest.raises(millrace.ChecksumError, match=r"wrong bytes in 'c' \(1 of 1 chunks\), 'f' \(1") as caught:
        millrace.load(tmp_path / "tree")
    assert caught.value.tensors == ["c", "f"]
    with pytest.raises(millrace.ChecksumError):
        millrace.load(tmp_path / "tree", mmap=True, verify=True)
    assert np.array_equal(millrace.load(tmp_path / "tree", mmap=True)["a"], tree["a"])
    assert np.array_equal(millrace.load(tmp_path / "tree", verify=False)["d"], tree["d"])


def test_the_command_lists_and_verifies(saved, program, tmp_path):
    pytest.importorskip("typer")
    code = "import sys; from millrace.cli import app; app(['checkpoint', *sys.argv[1:]])"
    text = show.show(saved, True, False)
    assert re.search(r"\b48  F32 +\[3, 4\] +layer\.w\n", text) and text.endswith(
        "saved by Millrace; every byte verified"
    )
    document = json.loads(show.show(saved, False, True))
    assert document["tensors"][0] == {"name": "z", "dtype": "F64", "shape": [2, 2], "bytes": 32}
    assert document["verified"] is False
    data = bytearray(saved.read_bytes())
    data[-1] ^= 1
    saved.write_bytes(data)
    runner = program(code, saved)
    assert runner.communicate(timeout=400) == (
        "",
        f"millrace: {saved} is damaged: wrong bytes in 'layer.b' (1 of 1 chunks)\n",
    )
    assert runner.returncode == 1
    plain_safetensors.write(tmp_path / "theirs", {"a": np.arange(3)})
    assert show.show(tmp_path / "theirs", True, False).endswith("a safetensors file; it has no checksums")


def test_without_checksums_nothing_is_verified(tmp_path):
    millrace.save(tmp_path / "tree", TREE, checksum=False)
    assert millrace.load(tmp_path / "tree")["step"] == 7
    with pytest.raises(millrace.CheckpointError, match="no checksums"):
        millrace.load(tmp_path / "tree", verify=True)


def test_checksums_that_nobody_computes(saved, monkeypatch):
    from millrace.checkpoint import checksums

    monkeypatch.setattr(checksums, "find", lambda name: None)
    with pytest.warns(UserWarning, match="without checks"):
        assert millrace.load(saved)["step"] == 7
    with pytest.raises(millrace.CheckpointError, match="cannot be computed here"):
        millrace.load(saved, verify=True)


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def file_of(header, body=b"\0" * 8):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def ours(tree, **more):
    metadata = {"millrace": "1", "millrace.crc32": "0" * 8, "millrace.tree": tree, **more}
    text = json.dumps({"__metadata__": metadata, "a": entry()}, separators=(",", ":")).encode()
    return file_of(text.replace(b"0" * 8, f"{zlib.crc32(text):08x}".encode(), 1))


STRANGE = {
    "empty": b"",
    "text": b"# a text file that is long enough\n",
    "zeros": b"\0" * 64,
    "huge header": (1 << 62).to_bytes(8, "little") + b"{}" * 20,
    "no JSON": file_of(b"{nonsense}"),
    "deep JSON": file_of(b'{"a":' + b"[" * 100_000),
    "no object": file_of(b"{}", b""),
    "NaN": file_of(b'{"__metadata__":{"a":NaN}}', b""),
    "entry is no object": file_of({"a": 1}),
    "name twice": file_of(b'{"a":%b,"a":%b}' % ((json.dumps(entry()).encode(),) * 2)),
    "unknown type": file_of({"a": entry("F33")}),
    "negative offset": file_of({"a": entry(offsets=(-8, 0))}),
    "negative length": file_of({"a": entry(shape=(-1, -2))}),
    "reals for numbers": file_of({"a": entry(shape=(2.0,))}),
    "true for one": file_of({"a": entry(shape=(2, True))}),
    "wrong size": file_of({"a": entry(shape=(3,))}),
    "overflowing size": file_of({"a": entry(shape=(1 << 40, 1 << 40, 0))}),
    "gap": file_of({"a": entry(offsets=(8, 16))}, b"\0" * 16),
    "overlap": file_of({"a": entry(), "b": entry(offsets=(4, 12))}, b"\0" * 12),
    "beyond": file_of({"a": entry(offsets=(0, 8))}, b""),
    "metadata of numbers": file_of({"__metadata__": {"a": 1}}, b""),
    "smaller than a byte": file_of({"a": entry("F4", (16,))}),
    "other version": ours("1", **{"millrace": "2"}),
    "no tree": ours("{"),
    "tensor that is not there": ours('{"tensor":"b","as":"numpy"}'),
    "unknown library": ours('{"tensor":"a","as":"abacus"}'),
    "unknown node": ours('{"set":[1]}'),
    "bad pairs": ours('{"dict":[[1]]}'),
    "list as key": ours('{"dict":[[[1],2]]}'),
    "bad float": ours('{"float":"one"}'),
    "deep tree": ours("[" * 400 + "]" * 400),
    "deeper tree": ours("[" * 100_000),
    "objects": ours('{"tensor":"a","as":"numpy","dtype":"|O"}'),
    "no type": ours('{"tensor":"a","as":"numpy","dtype":"&&"}'),
    "type of another size": ours('{"tensor":"a","as":"numpy","dtype":"<f8"}'),
    "type that is a number": ours('{"tensor":"a","as":"numpy","dtype":5}'),
    "checksums missing": ours("1", **{"millrace.checksum": "crc32", "millrace.checksums": ""}),
}
FINE = {"no object"}  # a file without tensors


@pytest.mark.parametrize("name", STRANGE)
def test_strange_files_are_refused(tmp_path, name, descriptors):
    (tmp_path / "strange").write_bytes(STRANGE[name])
    if name in FINE:
        assert millrace.load(tmp_path / "strange") == {}
        return
    with pytest.raises(millrace.CheckpointError, match="strange"):
        millrace.load(tmp_path / "strange")


def test_what_the_file_system_says_is_passed_on(tmp_path):
    with pytest.raises(FileNotFoundError):
        millrace.load(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match="folder"):
        millrace.save(tmp_path / "no" / "folder", 1)
    with pytest.raises(IsADirectoryError):
        millrace.save(tmp_path, 1)
    with pytest.raises(OSError, match="plain file"):
        millrace.save("/dev/null", 1)
    os.mkfifo(tmp_path / "pipe")
    for strange in (tmp_path, tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(millrace.CheckpointError, match="plain file"):
            millrace.load(strange)


def test_random_headers_are_refused_or_read(tmp_path, saved, dice):
    data = saved.read_bytes()
    for _ in range(200):
        changed = bytearray(data)
        for _ in range(dice.randrange(1, 6)):
            begin = dice.randrange(8, 900)
            changed[begin : begin + dice.randrange(4)] = dice.randbytes(dice.randrange(4))
        # With a right checksum of the header, so that what comes behind it is tried.
        text = changed[8 : 8 + int.from_bytes(changed[:8], "little")]
        at = text.find(b'"millrace.crc32":"') + 18
        text[at : at + 8] = b"0" * 8
        text[at : at + 8] = f"{zlib.crc32(text):08x}".encode()
        changed[8 : 8 + len(text)] = text
        saved.write_bytes(changed)
        try:
            millrace.load(saved, verify=False)
        except millrace.CheckpointError as error:
            assert str(saved) in str(error)


def test_the_format_is_documented_as_it_is():
    text = (ROOT / "docs/reference/checkpoint-format.md").read_text()
    from millrace.checkpoint import header

    assert "Version " + header.VERSION in text and f"{header.HEADER_MAX_BYTES:,}" in text
    assert f"multiple of {header.DATA_ALIGNMENT}" in text and str(header.CHUNK_BYTES) in text
