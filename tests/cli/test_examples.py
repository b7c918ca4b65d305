# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The committed job scripts: shell syntax, and Millrace's commands, options and variables in them."""

import re
import subprocess

import pytest
from conftest import ROOT
from millrace.run import settings

SCRIPTS = sorted((ROOT / "packaging/examples").glob("job.*"))
# Without those of settings.
RUN_OPTIONS = {"--stats", "--trace", "--config", "--force", "--show-settings"}
OPTIONS = {
    "run": RUN_OPTIONS | {one.option_name for one in settings.SETTINGS if one.option},
    "drain": {"--dir", "--timeout"},
}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_examples_are_shell_scripts(script):
    assert script.read_text().startswith("#!/bin/bash\n")
    done = subprocess.run(["bash", "-n", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_examples_use_commands_options_and_variables_that_exist(script):
    lines = [line for line in script.read_text().splitlines() if not line.startswith("#")]
    commands = [found for line in lines for found in re.findall(r"\bmillrace (run|drain)\b(.*?)(?: -- |$)", line)]
    assert {name for name, _ in commands} == {"run", "drain"}
    for name, words in commands:
        assert set(re.findall(r"--[a-z-]+", words)) <= OPTIONS[name], words
    variables = set(re.findall(r"\bMILLRACE_[A-Z_]+", "\n".join(lines)))
    assert variables <= {one.variable for one in settings.SETTINGS}


def test_there_are_examples():
    assert [path.name for path in SCRIPTS] == ["job.flux", "job.pbs"]
