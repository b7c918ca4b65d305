# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of programs from Darshan's logs: from counters that are known, and from real logs by pydarshan."""

import sys
from pathlib import Path

import pytest
from millrace.tools.evaluate import darshan_log
from millrace.tools.evaluate.darshan_log import Record
from millrace.tools.evaluate.errors import EvaluationError

MIB = 1 << 20


def record(file, rank, calls="independent", writes=256, size=4096, io_s=0.0, sizes=None):
    amount = writes * size
    return Record(file, rank, calls, writes, amount, amount, sizes or ((size, writes),), io_s)


def describe(records, ranks=4, run_s=100.0):
    return darshan_log.describe("app", ranks, run_s, records, "log")


def test_one_shared_file_is_one_checkpoint_of_its_commonest_piece():
    found = describe([record(1, -1, io_s=40.0)])
    assert (found.layout, found.calls, found.ranks) == ("shared", "independent", 4)
    assert (found.checkpoint_bytes, found.piece_bytes) == (MIB, 4096)
    assert found.interval_s == pytest.approx(90)  # 40 s of all four ranks are ten of the run
    assert "1.0 MiB in 1 shared file, 1 checkpoint" in found.source


def test_a_file_that_several_ranks_wrote_is_shared_though_darshan_has_a_record_of_each():
    found = describe([record(1, rank) for rank in range(4)])
    assert (found.layout, found.checkpoint_bytes) == ("shared", 4 * MIB)


def test_files_of_one_rank_each_are_checkpoints_by_the_number_of_ranks():
    found = describe([record(file, file % 4, "posix") for file in range(12)])
    assert (found.layout, found.calls) == ("file-per-rank", "posix")
    assert found.checkpoint_bytes == 4 * MIB and found.interval_s == pytest.approx(100 / 3)


def test_what_mpi_io_wrote_is_not_counted_again_by_the_calls_below_it():
    found = describe([record(1, -1, "collective"), record(1, -1, "posix", writes=1, size=MIB)])
    assert (found.calls, found.checkpoint_bytes, found.piece_bytes) == ("collective", MIB, 4096)


def test_small_files_beside_are_no_checkpoints():
    found = describe([record(1, -1), record(2, -1), record(3, -1, writes=2, size=10)])
    assert found.checkpoint_bytes == MIB and found.interval_s == pytest.approx(50)


def test_headers_do_not_make_the_piece():
    sizes = ((32, 500), (65536, 16))
    found = describe([Record(1, -1, "independent", 516, MIB + 16000, MIB + 16000, sizes, 0.0)])
    assert found.piece_bytes == 65536
    many = tuple((size, 1) for size in (100_000, 200_000, 300_000, 400_000))
    found = describe([Record(1, -1, "independent", 10, 4 * MIB, 4 * MIB, many, 0.0)])
    assert found.piece_bytes == round(4 * MIB / 10)  # none has most: the mean


def test_a_run_without_writes_gives_no_advice():
    with pytest.raises(EvaluationError, match="Darshan recorded no writes"):
        describe([record(1, -1, writes=0)])


def test_counters_are_read_by_darshans_names():
    counters = {"id": 7, "rank": -1, "MPIIO_INDEP_WRITES": 1, "MPIIO_COLL_WRITES": 8, "MPIIO_COLL_READS": 2}
    counters |= {"MPIIO_BYTES_WRITTEN": 900, "MPIIO_BYTES_READ": 100}
    counters |= {"MPIIO_ACCESS1_ACCESS": 100, "MPIIO_ACCESS1_COUNT": 9, "MPIIO_ACCESS2_COUNT": -1}
    times = {"MPIIO_F_WRITE_TIME": 2.0, "MPIIO_F_META_TIME": 1.0}
    found = darshan_log.records_of("MPI-IO", counters, times)
    assert (found.calls, found.writes, found.bytes, found.moved, found.io_s) == ("collective", 9, 900, 1000, 3.0)
    assert found.sizes[0] == (100, 9) and found.sizes[1] == (0, 0)


def test_what_libc_gathers_is_written_in_its_buffers():
    counters = {"id": 7, "rank": 0, "STDIO_WRITES": 10_000, "STDIO_BYTES_WRITTEN": 40_960}
    assert darshan_log.records_of("STDIO", counters, {}).writes == 10


def test_without_pydarshan_it_is_said_how_to_get_it(monkeypatch, tmp_path):
    path = tmp_path / "run.darshan"
    path.touch()
    monkeypatch.setitem(sys.modules, "darshan", None)
    with pytest.raises(EvaluationError, match=r"pip install 'millrace-io\[darshan\]'"):
        darshan_log.load(path)


def test_a_log_that_is_not_there_or_is_none_is_named(tmp_path):
    with pytest.raises(EvaluationError, match="the file does not exist"):
        darshan_log.load(tmp_path / "absent.darshan")
    pytest.importorskip("darshan")
    path = tmp_path / "junk.darshan"
    path.write_bytes(b"no log of anything" * 100)
    with pytest.raises(EvaluationError, match="pydarshan cannot read it"):
        darshan_log.load(path)


def test_a_real_log_of_ior_is_understood():
    """That of pydarshan's own examples: IOR by HDF5, 4 ranks, 4 MiB in transfers of 256 KiB, one file."""
    darshan = pytest.importorskip("darshan")
    path = Path(darshan.__file__).parent / "examples" / "example_logs" / "ior_hdf5_example.darshan"
    if not path.exists():
        pytest.skip("this pydarshan comes without examples")
    found = darshan_log.load(path)
    assert (found.name, found.ranks, found.layout, found.calls) == ("ior", 4, "shared", "independent")
    assert found.piece_bytes == 256 << 10 and 4 * MIB <= found.checkpoint_bytes < 4.01 * MIB
    assert 0 < found.interval_s < 1
