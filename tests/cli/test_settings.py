# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Settings: values, precedence, and agreement with the C++ side."""

import os
import re

import pytest
from millrace import __version__, units
from millrace.run import settings


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("64", 64),
        ("64KiB", 65536),
        ("1MiB", 1 << 20),
        ("2g", 2 << 30),
        ("1k", 1024),
        ("3 MB", 3 << 20),
        ("1tib", 1 << 40),
        ("7b", 7),
    ],
)
def test_sizes(text, value):
    assert units.parse_bytes(text) == value


@pytest.mark.parametrize("text", ["", "k", "-1", "1.5MiB", "1 zib", "1ib", "0x10", "1MiBs"])
def test_not_sizes(text):
    with pytest.raises(ValueError):
        units.parse_bytes(text)


@pytest.mark.parametrize(("text", "value"), [("60", 60_000), ("1.5s", 1500), ("500ms", 500), ("2min", 120_000)])
def test_durations(text, value):
    assert units.parse_duration(text) == value


def test_formatting_is_the_inverse_of_parsing():
    for value in (0, 1, 1023, 1024, 1536, 1 << 20, 3 << 30, (1 << 40) + 1):
        assert units.parse_bytes(units.format_bytes(value)) == value


def toml(folder, text):
    path = folder / "millrace.toml"
    path.write_text(text)
    return path


def test_precedence(world, monkeypatch):
    environment = {"HOME": str(world / "home")}
    value = lambda **options: settings.resolve(options, None, environment).values["sort_buffer"]  # noqa: E731
    assert (value().value, value().origin) == ("256MiB", "built in")
    user = world / "home/.config/millrace"
    user.mkdir(parents=True)
    (user / "config.toml").write_text('[run]\nsort_buffer = "2MiB"\n')
    assert value().value == "2MiB"
    toml(world / "work", '[run]\nsort-buffer = "3MiB"\n')
    assert (value().value, value().origin) == ("3MiB", "millrace.toml")
    environment["MILLRACE_SORT_BUFFER"] = "4m"
    assert (value().value, value().origin) == ("4MiB", "environment")
    assert (value(sort_buffer="5m").value, value(sort_buffer="5m").origin) == ("5MiB", "command line")


def test_toml_types(world):
    path = toml(
        world / "work",
        "[run]\nmerge = false\nsort_buffer = 1048576\ntimeout = 5\n"
        'paths = ["a*", "!b*"]\ninterfaces = ["ib0", "eth0"]\n',
    )
    values = settings.resolve({}, path, {}).changed()
    assert values == {
        "MILLRACE_MERGE": "0",
        "MILLRACE_SORT_BUFFER": "1MiB",
        "MILLRACE_TIMEOUT": "5s",
        "MILLRACE_PATHS": "a*:!b*",
        "MILLRACE_INTERFACES": "ib0,eth0",
    }


@pytest.mark.parametrize(
    "text",
    [
        "[run]\nsort_bufer = 1\n",
        "[run]\nchannel = '1MiB'\n",
        "[run]\ntopology = 'ring'\n",
        "[run]\nagent = '/bin/false'\n",
        "[run]\nstrategy = 'x'\n",
        "run = 3\n",
        "[run\n",
        "[run]\njob = 'shared by all'\n",
    ],
)
def test_bad_toml_is_an_error_that_names_the_file(world, text):
    path = toml(world / "work", text)
    with pytest.raises(settings.SettingError, match="millrace.toml"):
        settings.resolve({}, path, {})


PLACES = ["journal_directory"]


def given_away(path):
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(path, 12345, -1)


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (given_away, "belongs to another user"),
        (lambda path: path.chmod(0o664), "other users can write"),
        (lambda path: path.chmod(0o606), "other users can write"),
    ],
)
def test_no_program_or_folder_from_a_file_that_others_can_write(world, name, change, why):
    path = toml(world / "work", f'[run]\nstrategy = "sort"\n{name} = "/tmp/theirs"\n')
    path.chmod(0o644)
    assert settings.resolve({}, path, {}).values[name].value == "/tmp/theirs"
    change(path)
    with pytest.raises(settings.SettingError, match=f"millrace.toml: {name} is refused.*{why}"):
        settings.resolve({}, path, {})


def test_a_file_that_others_can_write_may_still_choose_a_strategy(world):
    path = toml(world / "work", '[run]\nstrategy = "sort"\n')
    path.chmod(0o666)
    assert settings.resolve({}, path, {}).values["strategy"].value == "sort"


def test_users_have_at_most_twenty_settings_each_with_one_sentence():
    assert len(settings.FOR_USERS) <= 20
    for setting in settings.SETTINGS:
        assert re.fullmatch(r"[A-Z].*\.", setting.help) and ". " not in setting.help, setting.name


def test_every_setting_that_names_a_place_is_guarded():
    assert sorted(setting.name for setting in settings.SETTINGS if setting.kind == "path" and setting.toml) == PLACES


def test_bad_environment_names_the_variable():
    with pytest.raises(settings.SettingError, match="MILLRACE_SORT_BUFFER"):
        settings.resolve({}, None, {"MILLRACE_SORT_BUFFER": "3KiB", "HOME": "/nonexistent"})


@pytest.mark.parametrize(
    ("name", "value", "normal"),
    [
        ("file_servers", "00", "0"),
        ("topology", " Ring ", "ring"),
        ("file_servers", "AUTO", "auto"),
        ("file_servers", 4, "4"),
        ("file_servers", "064", "64"),
        ("direct_above", "auto", "auto"),
        ("direct_above", "1024MiB", "1GiB"),
        ("interfaces", " ib0, ,eth0,ib0", "ib0,eth0"),
        ("interfaces", ["ib0", "eth0"], "ib0,eth0"),
    ],
)
def test_settings_across_nodes(name, value, normal):
    assert settings.normalise(settings.BY_NAME[name], value, name) == normal


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("topology", "star", "auto, ring, tree, direct"),
        ("file_servers", "-1", "auto, or a number from 0 to 64"),
        ("file_servers", "65", "auto, or a number from 0 to 64"),
        ("file_servers", "+4", "auto, or a number from 0 to 64"),
    ],
)
def test_bad_settings_across_nodes_say_what_is_allowed(name, value, allowed):
    with pytest.raises(settings.SettingError, match=f"{name}: .*allowed: {allowed}"):
        settings.normalise(settings.BY_NAME[name], value, name)


def test_options_across_nodes(millrace):
    done = millrace(
        "run",
        *("--target", "first", "--file-servers", "2"),
        *("--interfaces", "ib0,eth0", "--stats", "env"),
    )
    for line in (
        "MILLRACE_TARGET=first",
        "MILLRACE_FILE_SERVERS=2",
        "MILLRACE_INTERFACES=ib0,eth0",
    ):
        assert line in done.stdout.splitlines()


def test_unknown_variables_are_told():
    given = {"MILLRACE_SORTBUFFER": "3MiB", "MILLRACE_CHANNEL": "1MiB", "MILLRACE_TOPOLOGY": "ring"}
    found = settings.resolve({}, None, {**given, "HOME": "/nonexistent"})
    assert [line.split()[0] for line in found.warnings] == ["MILLRACE_CHANNEL", "MILLRACE_SORTBUFFER"]


def test_show_settings(millrace, monkeypatch):
    monkeypatch.setenv("MILLRACE_SINK", "direct")
    done = millrace("run", "--show-settings", "--sort-buffer", "2m")
    assert done.returncode == 0
    assert re.search(r"sink\W+direct\W+environment", done.stdout)
    assert re.search(r"sort_buffer\W+2MiB\W+command line", done.stdout)
    assert "topology" not in done.stdout


def test_the_version(millrace):
    done = millrace("--version")
    assert (done.returncode, done.stdout) == (0, f"millrace {__version__}\n")
