# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Advice on how to use a method: each sentence follows from measurements that are known here."""

import pytest
from millrace.tools.evaluate import advise, application, tuning
from millrace.tools.evaluate.case import Case
from millrace.units import MIB
from test_published import figure, session


def shared(short, method, rate, pattern="4 KiB"):
    case = Case(f"ior.4KiB.{short}.mpich", "shared-file", "ior", (), 4, "mpich",
                "mpi" if "Millrace" in method else "", method=method, pattern=pattern)  # fmt: skip
    return case, {"bytes": 32 * MIB}, [figure("write", rate, 1000)]


def strategy(name, buffer, rate, compared=True):
    more = {"sort_buffer": buffer, "file_bytes": 32 * MIB, "compared": compared}
    case = Case(f"strategy.{name}.{buffer}", "strategy", "ior", (), 4, "mpich", "mpi", method=name, more=more)
    return case, {}, [figure("write", rate, 1000)]


def own_files(small, large):
    case = Case("fpp.c.normal.mpich", "file-per-process", "fpp", (), 4, "mpich", method="normal", pattern="c")
    return case, {}, [figure("write_1m", small), figure("write_32m", large)]


def created(rate):
    case = Case("mdtest.4.mpich", "metadata", "mdtest", (), 4, "mpich")
    return case, {}, [figure("file_create", rate)]


def mapped(mapping, method, rate):
    case = Case(f"mapping.{mapping}.{method}", "mapping", "ior", (), 4, "mpich", mapping=mapping, method=method,
                about="IOR on 8 processors")  # fmt: skip
    return case, {}, [figure("write", rate)]


METHODS = [shared("independent", "ROMIO independent", 100), shared("millrace", "Millrace independent", 500)]


def ask(tmp_path, rows, **words):
    document = {"ranks": 4, "checkpoint": "1GiB", "piece": "4KiB", "interval": "60s", **words}
    asked = application.describe(document, "test")
    made = session(tmp_path / "s", [*METHODS, *rows])
    found = tuning.sentences(made, asked, advise.predict(made, asked))
    return {one.topic: one for one in found}


def test_auto_stays_where_no_strategy_is_better(tmp_path):
    rows = [strategy("immediate", 8 * MIB, 200), strategy("sort", 8 * MIB, 510), strategy("journal", 8 * MIB, 300)]
    found = ask(tmp_path, rows)["strategy"]
    assert found.advice == "leave it at auto"
    assert "immediate 200, sort 510, journal 300 MiB/s" in found.why and "auto 500 MiB/s" in found.why


def test_a_strategy_that_is_better_than_auto_is_named(tmp_path):
    rows = [strategy("immediate", 8 * MIB, 200), strategy("sort", 8 * MIB, 900), strategy("journal", 8 * MIB, 880)]
    found = ask(tmp_path, rows)["strategy"]
    assert found.advice.startswith("`--strategy sort`; journal costs next to nothing here")


@pytest.mark.parametrize(
    ("rates", "checkpoint", "expected"),
    [
        ((500, 510, 500), "1GiB", "leave it at 256MiB"),  # a sixteenth is enough: 64 MiB
        ((200, 490, 500), "1GiB", "leave it at 256MiB"),  # a quarter: 256 MiB
        ((200, 300, 500), "1GiB", "`--sort-buffer 1GiB`"),  # all of it
        ((200, 300, 500), "64GiB", "`--sort-buffer 2GiB`"),  # not more than a quarter of the memory
    ],
)
def test_the_sort_buffer_follows_from_the_smallest_that_was_enough(tmp_path, rates, checkpoint, expected):
    rows = [strategy("sort", size * MIB, rate) for size, rate in zip((2, 8, 32), rates, strict=True)]
    found = ask(tmp_path, rows, checkpoint=checkpoint)["sort buffer"]
    assert found.advice == expected
    assert f"{rates[0]} MiB/s with 2.0 MiB, {rates[1]} MiB/s with 8.0 MiB" in found.why


def test_several_nodes_share_the_checkpoint(tmp_path):
    rows = [strategy("sort", size * MIB, rate) for size, rate in ((2, 200), (8, 300), (32, 500))]
    assert ask(tmp_path, rows, nodes=4)["sort buffer"].advice == "leave it at 256MiB"


def test_a_shared_file_stays_where_files_per_rank_are_no_faster(tmp_path):
    found = ask(tmp_path, [own_files(100, 480), created(1000)])["file size"]
    assert found.advice.startswith("keep one shared file; files of at least 32.0 MiB")
    assert (
        "one shared file 2.05 s; a file per rank 2.14 s" in found.why
        and "1\u202f000 files made per second" in found.why
    )


def test_many_small_files_give_way_to_fewer(tmp_path):
    rows = [own_files(100, 2000), created(1000)]
    found = ask(tmp_path, rows, ranks=512, layout="file-per-rank")["file size"]
    # 2 MiB for each rank reach 100 MiB/s, 32 MiB reach 2000: 32 files; 512 files alone take half a second to make.
    assert found.advice.startswith(
        "32 files of 32.0 MiB, each by one rank for its neighbours, instead of a file per rank"
    )
    assert "a file per rank 10.8 s" in found.why and "for its neighbours, 0.544 s" in found.why


def test_large_files_per_rank_stay(tmp_path):
    found = ask(tmp_path, [own_files(100, 2000), created(1000)], checkpoint="8GiB", layout="file-per-rank")["file size"]
    assert found.advice.startswith("keep a file per rank")


def test_the_better_mapping_is_given_as_the_launchers_options(tmp_path):
    rows = [mapped("packed", "Millrace independent", 300), mapped("spread", "Millrace independent", 400)]
    rows += [mapped("packed", "ROMIO independent", 100), mapped("spread", "ROMIO independent", 90)]
    found = ask(tmp_path, rows)["rank mapping"]
    assert found.advice == "spread: `-bind-to core -map-by socket`"
    assert "packed 300 MiB/s, spread 400 MiB/s by Millrace" in found.why


def test_a_mapping_that_makes_no_difference_is_called_so(tmp_path):
    rows = [mapped("packed", "Millrace independent", 400), mapped("spread", "Millrace independent", 395)]
    assert ask(tmp_path, rows)["rank mapping"].advice == "does not matter here"


def test_what_was_not_measured_is_not_advised(tmp_path):
    found = ask(tmp_path, [])
    assert found["strategy"].advice == "leave it at auto" and "no strategies were measured" in found["strategy"].why
    assert "no sort buffers were measured" in found["sort buffer"].why
    assert "were not measured" in found["file size"].why and "profile full" in found["rank mapping"].why


def test_the_command_prints_advice_with_its_measurements(tmp_path, capsys):
    path = tmp_path / "app.yaml"
    path.write_text(
        "schema: millrace.application/1\nranks: 4\nnodes: 2\ncheckpoint: 1GiB\npiece: 4KiB\ninterval: 1min\n"
    )
    made = session(tmp_path / "s", [*METHODS, strategy("sort", 8 * MIB, 900), strategy("journal", 8 * MIB, 300)])
    assert advise.run(path, made.folder, False) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "strategy: `--strategy sort` sort 900, journal 300 MiB/s" in said
    assert "rank mapping: as the launcher has it mappings are measured by profile full" in said
