# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Theoretical bandwidth of memory, from tables as firmware writes them."""

import os
import struct

import pytest
from millrace.tools.evaluate import modules
from millrace.tools.evaluate.report import page
from millrace.tools.evaluate.session import Session
from test_report import ior, make


def module(bank, device, speed=3200, configured=None, size=16384, width=64, kind=0x1A, length=0x5C):
    body = bytearray(length)
    body[0], body[1] = 17, length
    struct.pack_into("<HHH", body, 0x08, width + 8, width, size)
    body[0x10], body[0x11], body[0x12] = 1, 2 if bank else 0, kind
    struct.pack_into("<H", body, 0x15, speed)
    if length > 0x21:
        struct.pack_into("<H", body, 0x20, speed if configured is None else configured)
    return bytes(body) + b"".join(name.encode() + b"\0" for name in (device, bank) if name) + b"\0"


def table(tmp_path, *parts):
    path = tmp_path / "DMI"
    system = bytes([1, 4, 0, 0]) + b"a vendor\0\0"
    path.write_bytes(system + b"".join(parts) + bytes([127, 4, 0, 0, 0, 0]))
    return path


@pytest.mark.parametrize(
    "names",
    [
        [(f"P{p} CHANNEL {c}", f"DIMM {s}") for p in (0, 1) for c in "ABCD" for s in (0, 1)],
        [(f"NODE {p + 1}", f"CPU{p + 1}_DIMM_{c}{s}") for p in (0, 1) for c in "ABCD" for s in (1, 2)],
        [("", f"_Node{p}_Channel{c}_Dimm{s}") for p in (0, 1) for c in range(4) for s in (0, 1)],
    ],
)
def test_two_modules_on_a_channel_are_no_faster_than_one(tmp_path, names):
    found = modules.bandwidth(table(tmp_path, *(module(bank, device) for bank, device in names)))
    assert found["gb_s"] == pytest.approx(8 * 25.6)
    assert found["words"] == "16 modules of DDR4-3200 on 8 channels"


def test_empty_slots_do_not_count_and_the_configured_speed_does(tmp_path):
    rows = [module("CHANNEL A", "1", 4800, 4400, kind=0x22), module("CHANNEL B", "1", 4800, 4400, size=0, kind=0x22)]
    found = modules.bandwidth(table(tmp_path, *rows))
    assert found["gb_s"] == pytest.approx(35.2) and found["words"] == "1 module of DDR5-4400 on 1 channel"


def test_tables_of_older_firmware_have_only_the_possible_speed(tmp_path):
    assert modules.bandwidth(table(tmp_path, module("CHANNEL A", "1", 1600, length=0x1B)))["gb_s"] == pytest.approx(
        12.8
    )


def test_slots_whose_names_say_nothing_are_channels_with_a_word_of_doubt(tmp_path):
    found = modules.bandwidth(table(tmp_path, module("", "A1"), module("", "A2")))
    assert found["gb_s"] == pytest.approx(51.2) and found["words"].endswith("if each module has its own")


def test_what_a_virtual_machine_does_not_tell_is_not_invented(tmp_path):
    for parts, expected in (([module("", "DIMM 0", 0, 0)], "does not tell the speed"), ([], "names no memory modules")):
        found = modules.bandwidth(table(tmp_path, *parts))
        assert found["gb_s"] is None and expected in found["words"]
    assert "there is no" in modules.bandwidth(tmp_path / "absent")["words"]


def test_a_table_that_is_cut_off_anywhere_is_no_harm(tmp_path):
    path = table(tmp_path, module("CHANNEL A", "1"), module("CHANNEL B", "1"))
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert modules.bandwidth(path)["gb_s"] in (None, pytest.approx(25.6), pytest.approx(51.2))


def test_a_table_for_root_alone_says_so(tmp_path):
    path = table(tmp_path, module("CHANNEL A", "1"))
    path.chmod(0)
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    assert "for root alone" in modules.bandwidth(path)["words"]


def test_the_page_says_what_it_is_or_that_it_cannot_be_read(tmp_path):
    made = make(tmp_path, ior(100, 800, 10))
    for found, expected in (
        ({"gb_s": 204.8, "words": "8 modules"}, "205 GB/s: 8 modules"),
        ({"gb_s": None, "words": "cannot be read: no table"}, "cannot be read: no table"),
    ):
        made.document["machine"] = {**made.document["machine"], "memory_bandwidth": found}
        assert ("Memory bandwidth, theoretical", expected) in page.environment(made)


@pytest.mark.parametrize(
    ("found", "expected", "absent"),
    [
        (
            {"gb_s": 200.0, "words": "8 modules"},
            '<p class="key">Theoretical bandwidth: 8 modules',
            "cannot",
        ),
        ({"gb_s": None, "words": "cannot be read: no table"}, "Theoretical bandwidth: cannot be read", "theoretical:"),
    ],
)
def test_what_loops_reach_is_held_against_it(tmp_path, found, expected, absent):
    made = make(tmp_path, {"limit.memory": ("memory", "", "", [("triad", 150, None, [150])])})
    made.document["machine"] = {**made.document["machine"], "memory_bandwidth": found}
    page.write(tmp_path / "page.html", made, [])
    text = (tmp_path / "page.html").read_text().partition('<section id="memory">')[2].partition("</section>")[0]
    assert expected in text and absent not in text
    assert ("75&#8201;%" in text) == (found["gb_s"] is not None)


def test_under_a_scheduler_the_node_that_was_measured_is_shown(tmp_path):
    made = make(tmp_path, ior(100, 800, 10))
    (tmp_path / "node.json").write_text('{"hostname": "compute17"}')
    assert Session.open(tmp_path).machine["hostname"] == "n1"
    made.document["scheduler"] = "-p batch"
    assert made.machine["hostname"] == "compute17" and made.machine["software"]["kernel"] == "6.1"
