# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What a command says about its containers."""

import pytest
from millrace.run import container


@pytest.mark.parametrize(
    ("command", "contained", "apart"),
    [
        ("apptainer exec image ./app -c --pid", False, []),
        ("/opt/bin/apptainer --debug run --nv image", False, []),
        ("apptainer -c /etc/other.conf exec image ./app", False, []),
        ("apptainer exec -c image ./app", True, []),
        ("apptainer exec --bind /a:/b --contain image ./app", True, []),
        ("singularity exec --bind=/a -C image ./app", True, ["-C"]),
        ("singularity shell -B --pid -p image", False, ["-p"]),
    ],
)
def test_options_that_matter_are_found_before_the_image(command, contained, apart):
    found = container.read(command.split())
    assert found is not None and (found.contained, found.apart) == (contained, apart)


@pytest.mark.parametrize("command", ["apptainer build image recipe", "apptainer --version", "apptainer pull exec"])
def test_commands_that_start_no_program_are_left_alone(command):
    assert container.is_container(command.split()) and container.read(command.split()) is None


def test_other_programs_are_no_containers():
    assert not container.is_container(["./apptainer-like", "exec"]) and not container.is_container([])
    assert container.find([["./app"], ["env", "apptainer"]]) is None


def test_options_of_all_programs_count():
    parts = [["apptainer", "exec", "image", "a"], ["apptainer", "exec", "-C", "image", "b"]]
    found = container.find(parts)
    assert found.contained and found.apart == ["-C"]


def test_without_a_container_for_all_programs_the_preload_stays_outside_too():
    found = container.read(["apptainer", "exec", "image", "./app"])
    variables = {"LD_PRELOAD": "/opt/m/lib/libmillrace.so:/their/own.so", "MILLRACE_JOB": "1"}
    outside, _ = container.enter(found, "/opt/m", variables, {}, alone=False)
    assert outside["LD_PRELOAD"] == variables["LD_PRELOAD"]
    assert outside["APPTAINERENV_LD_PRELOAD"] == "/opt/m/lib/libmillrace.so"
    alone, line = container.enter(found, "/opt/m", variables, {"APPTAINERENV_LD_PRELOAD": "mine.so"}, alone=True)
    assert "LD_PRELOAD" not in alone and alone["APPTAINERENV_LD_PRELOAD"] == "/opt/m/lib/libmillrace.so:mine.so"
    assert alone["APPTAINER_BIND"] == "/opt/m:/opt/m:ro" and "/opt/m (read-only)" in line
