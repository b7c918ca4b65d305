# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Settings, descriptions and Python code are right; every command, option and variable that a page names exists."""

import os
import re
import subprocess
import sys

import pages
import pytest
import typer.main
from millrace import cli
from millrace.run import settings

BLOCKS = [block for page in pages.GUIDE for block in pages.blocks(page)]
LANGUAGES = {"sh", "text", "c", "cpp", "fortran", "python", "toml", "yaml", "json"}
# Options of other programs that pages name.
FOREIGN = {"--allow-run-as-root", "--export", "--mpi", "--oversubscribe", "--ntasks-per-node", "--measure", "--"}
FOREIGN |= {"--millrace", "--cleanenv", "--contain", "--containall", "--net", "--pid"}  # our plugin's, and Apptainer's
# Variables that are no settings: of launchers and tools, of tests and the build.
OTHER = {"MILLRACE_EPILOG_SECONDS"}


def of(*languages):
    chosen = [block for block in BLOCKS if block.language in languages]
    assert chosen
    return pytest.mark.parametrize("block", chosen, ids=lambda block: block.place)


def options_of(declared):
    """Each option of a command, and whether a value follows it."""
    names = {name: not one.is_flag for one in declared.params if hasattr(one, "is_flag") for name in one.opts}
    flags = {name: False for one in declared.params for name in one.secondary_opts}
    return {"--help": False, "-h": False, **names, **flags}


def fault(words):
    """What is wrong with the words of a call of `millrace`; empty if nothing is."""
    declared, path = typer.main.get_command(cli.app), "millrace"
    ahead = cli.settle_stats(words[1:])
    while ahead:
        word, *ahead = ahead
        if word == "--":
            break
        options = options_of(declared)
        if re.match(r"--?[a-z]", word):
            name, _, value = word.partition("=")
            if name not in options:
                return f"{path} has no option {word}"
            if options[name] and not value:
                ahead = ahead[1:]
        elif getattr(declared, "commands", None):
            if word not in declared.commands:
                return f"{path} has no command {word}"
            declared, path = declared.commands[word], f"{path} {word}"
        elif path == "millrace run":
            break  # the user's command
    return ""


def test_every_block_says_its_language():
    assert not [block.place for block in BLOCKS if block.language not in LANGUAGES]


@of("sh")
def test_commands_and_options_exist(block):
    assert not [text for text in map(fault, pages.calls(block.text)) if text]


@pytest.mark.parametrize(
    "text", ["millrace rum", "millrace run --strategie sort -- ./app", "x; millrace recover --all"]
)
def test_an_option_that_does_not_exist_is_found(text):
    assert [one for one in map(fault, pages.calls(text)) if one]


@pytest.mark.parametrize("page", pages.GUIDE, ids=pages.name_of)
def test_names_in_sentences_exist(page):
    every, ahead = set(FOREIGN), [typer.main.get_command(cli.app)]
    while ahead:
        one = ahead.pop()
        every |= options_of(one).keys()
        ahead += getattr(one, "commands", {}).values()
    constants = {"MILLRACE_WRITE", "MILLRACE_CREATE"} | settings.OTHER_VARIABLES.keys() | OTHER
    variables = {setting.variable for setting in settings.SETTINGS} | constants
    codes = pages.inline_code(page)
    if page.name != "statistics.md":  # its names are fields
        options = {word for code in codes for word in re.findall(r"(?<![\w/-])--[a-z][\w-]*", code)}
        assert options <= every
    assert {word for code in codes for word in re.findall(r"\bMILLRACED?_[A-Z_]*[A-Z]\b", code)} <= variables
    commands = [call for code in codes if code.startswith("millrace ") for call in pages.calls(code)]
    assert not [text for text in map(fault, [call for call in commands if "MACHINE" not in call]) if text]


@of("toml")
def test_settings_files_are_read(block, tmp_path):
    file = tmp_path / "millrace.toml"
    file.write_text(block.text)
    assert settings.read_config(str(file))


@of("yaml")
def test_descriptions_are_read(block, tmp_path):
    pytest.importorskip("yaml")
    from millrace.tools.evaluate import application, references
    from millrace.tools.model import machine

    readers = {
        "millrace.application/1": application.load,
        "millrace.machine/1": references.load,
        "millrace.model/1": machine.load,
    }
    file = tmp_path / "description.yaml"
    file.write_text(block.text)
    assert readers[re.search(r"^schema: (\S+)", block.text, re.MULTILINE)[1]](file)


@of("python")
def test_python_runs(block, tmp_path):
    compile(block.text, block.place, "exec")
    if block.needs:
        pytest.skip(block.title)
    from millrace.api import native

    if "numpy" in block.text:
        pytest.importorskip("numpy")
    elif native.find() is None:
        pytest.skip("the C library is not built")
    environment = {**os.environ, "PYTHONPATH": str(pages.ROOT / "python")}
    done = subprocess.run(
        [sys.executable, "-c", block.text],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
