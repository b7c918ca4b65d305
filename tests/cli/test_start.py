# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""How `millrace run` starts: by bin/millrace, without what other commands load, as the full command line would."""

import os
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, write_script
from millrace import cli
from millrace.run import launcher, plain_options, settings

SAMPLES = {"bytes": "1MiB", "count": "2", "duration": "5s", "paths": "*.out", "names": "eth0"}
PLAIN = [setting for setting in settings.SETTINGS if setting.option and setting.kind != "path"]


@pytest.fixture
def program(world):
    """bin/millrace as it is installed, for the package of this tree and the Python of this test."""
    text = (ROOT / "cmake/millrace.sh.in").read_text().replace("@MILLRACE_PYTHON@", sys.executable)
    return write_script(world / "tools/millrace", text.replace("@MILLRACE_COMMAND_FOLDER@", str(ROOT / "python")))


def ask(*command, **more):
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, timeout=400, **more
    )


def modules(*command):
    """What Python loads in it."""
    done = ask(*command, env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"})
    lines = [line.split("|")[-1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {name.split(".")[0] for name in lines}


@pytest.mark.parametrize("words", [[], ["--strategy", "sort", "--no-merge"]])
def test_a_plain_run_loads_nothing_but_its_own_modules(program, words):
    bare = modules(sys.executable, "-S", "-c", "import __future__, os, stat, struct")
    loaded = modules(program, "run", *words, "--", shutil.which("true"))
    assert {"millrace", "struct"} <= loaded
    assert loaded - bare == {"millrace"}


def test_what_is_not_plain_finds_the_installed_packages(program):
    assert "typer" in modules(program, "run", "--show-settings")
    assert ask(program, "run", "--stats", "--", "sh", "-c", "exit 3").returncode == 3
    assert ask(program, "version").stdout.startswith("millrace ")


def test_the_program_inherits_the_environment_as_it_is(program, world, monkeypatch):
    monkeypatch.setenv("PWD", str(world / "work"))  # a shell corrects one that is wrong
    for name in ("here", "python", "site", "self", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV"):
        monkeypatch.setenv(name, f"the user's {name}")
    show = [sys.executable, "-S", "-c", "import os; print(repr(dict(os.environ)))"]
    before, after = (eval(ask(*start, *show).stdout) for start in ([], [program, "run", "--"]))
    ours = {"LD_PRELOAD", "MILLRACE_JOB", "PNETCDF_HINTS"}
    assert after.keys() - before.keys() == ours and before.keys() - after.keys() == {"MILLRACE_PREFIX"}
    assert {name: after[name] for name in after.keys() - ours} == {
        name: before[name] for name in before.keys() - {"MILLRACE_PREFIX"}
    }


def test_it_is_found_by_a_link_a_relative_path_and_path(program, world, monkeypatch):
    (world / "work/link").symlink_to(program)
    monkeypatch.chdir(world / "tools")
    for command in (["./millrace"], ["sh", "millrace"], ["millrace"], [world / "work/link"]):
        assert ask(*command, "run", "sh", "-c", "exit 7").returncode == 7, command


@pytest.fixture
def by_typer(monkeypatch, world):
    """The request that the full command line makes of words after `run`."""

    def read(words):
        requests = []
        monkeypatch.setattr(cli.running, "run", lambda request: requests.append(request) or 0)
        cli.app(args=cli.settle_stats(["run", *words]), prog_name="millrace", standalone_mode=False)
        given = {name: value for name, value in requests[0].options.items() if value is not None}
        return given, requests[0].command

    return read


def lines():
    """Every option in each of its forms, alone and twice, and ends of the options of all kinds."""
    for setting in PLAIN:
        option = setting.option_name
        value = setting.choices[-1] if setting.kind == "choice" else SAMPLES.get(setting.kind)
        if setting.kind == "switch":
            yield [option, "true"]
            yield [option, "--no-" + option[2:], "--", "true"]
        else:
            yield [option, value, "true", option, "x"]
            yield [f"{option}={value}", option, "a=b", "--", "--odd", "--"]
    yield ["sh", "-c", "exit 3", "--", "--stats"]
    yield ["--", "--", "true"]
    yield ["--strategy=", "--merge", "true", "--strategy", "sort"]


@pytest.mark.parametrize("words", list(lines()), ids=" ".join)
def test_a_plain_line_is_read_as_typer_reads_it(by_typer, words):
    assert plain_options.read(words) == by_typer(words)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--"],
        ["--merge"],
        ["--strategy"],
        ["--strategy", "--", "true"],
        ["--strategy", "--merge", "true"],
        ["--merge=1", "true"],
        ["--unknown", "true"],
        ["-", "true"],
        ["-h"],
        ["--help", "true"],
        ["--strat", "sort", "true"],
        ["--stats", "true"],
        ["--stats=out.json", "true"],
        ["--trace", "t.json", "true"],
        ["--config", "c.toml", "true"],
        ["--force", "true"],
        ["--show-settings"],
        ["--merge", "--force", "true"],
    ],
    ids=" ".join,
)
def test_all_else_is_left_to_typer(words):
    assert plain_options.read(words) is None


@pytest.mark.parametrize("name", ["sh", "no-such-program", "", "/bin/sh", "/bin", "./x", "folder", "plain"])
def test_programs_are_found_as_shutil_finds_them(world, monkeypatch, name):
    write_script(world / "work/x", "#!/bin/sh\n")
    (world / "tools/folder").mkdir()
    (world / "tools/plain").write_text("not executable")
    for path in (None, "", os.environ["PATH"], f"::{world}/tools", "/nowhere"):
        assert launcher.which(name, path) == shutil.which(name, path=path)
    monkeypatch.delenv("PATH")
    assert launcher.which(name) == shutil.which(name)
