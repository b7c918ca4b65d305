# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The suite as ReFrame's tests, one for each waiting case of the session's plan. ReFrame reads this file."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import time
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import fixture, parameter, run_after, run_before, sanity_function
from reframe.core.launchers import LauncherWrapper

from millrace import prefix
from millrace.tools.evaluate import external, figures, launchers, session, site
from millrace.tools.evaluate.tools import SUFFIX, Tools

SESSION = session.Session.open(Path(os.environ["MILLRACE_EVALUATE_SESSION"]))
LIMITS = os.environ.get("MILLRACE_EVALUATE_LIMITS") == "1"
WAITING = [case.name for case in SESSION.waiting(limits=LIMITS)]
TARGET = Path(SESSION.document["target"])
PREFIX = prefix.find()
TOOLS = Tools.here(PREFIX, TARGET, bool(SESSION.document.get("scheduler")))


class Node(rfm.RunOnlyRegressionTest):
    """The node that jobs run on, once in a session: with a scheduler it is not the one that this file is read on."""

    valid_systems = [f"*:{site.NODE}"]
    valid_prog_environs = ["*"]
    executable = sys.executable
    executable_opts = ["-m", "millrace.tools.evaluate.facts"]
    env_vars = {"PYTHONPATH": str(Path(session.__file__).resolve().parents[3])}

    @sanity_function
    def told(self):
        return sn.assert_found(r'"hostname"', self.stdout)

    @run_after("sanity")
    def keep(self):
        text = (Path(self.stagedir) / str(self.stdout)).read_text(encoding="utf-8")
        with contextlib.suppress(ValueError):
            session.write_atomically(SESSION.folder / "node.json", json.dumps(json.loads(text[text.index("{") :])))


class Measured(rfm.RunOnlyRegressionTest):
    """A program of bench/, or a standard one; its own check of its data is the sanity check."""

    case_name = parameter(WAITING)
    valid_prog_environs = ["*"]

    @run_after("init")
    def prepare(self):
        self.case = SESSION.case(self.case_name)
        self.descr = self.case.about
        self.tags = {"limit" if self.case.limit else "benchmark", self.case.section}
        self.valid_systems = [f"*:{self.case.mpi or site.NODE}"]
        self.num_tasks = self.case.ranks or 1
        if self.case.threads > 1:
            self.num_cpus_per_task = self.case.threads
        self.time_limit = self.case.timeout_s
        program = TOOLS.program(self.case.program, self.case.mpi)
        self.executable = str(program)
        self.place = TARGET / f"millrace-evaluate-{os.getpid()}-{self.case.name}"
        self.names = {"file": str(self.place / "data"), "folder": str(self.place)}
        self.executable_opts = [word.format(**self.names) for word in self.case.arguments]
        self.env_vars = self.environment()

    def standard(self):
        """The module of a standard program. ReFrame copies attributes, and modules cannot be copied."""
        return external.PROGRAMS.get(self.case.program)

    def environment(self):
        found = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PNETCDF_HINTS": "nc_driver=mpiio"}
        shim = PREFIX.shared_object("libmillrace-bench-yield.so")
        if self.case.mpi == "mpich" and os.path.isfile(shim):
            found["LD_PRELOAD"] = shim
        if self.case.millrace:
            found["MILLRACE_PREFIX"] = PREFIX.root
            found["PYTHONPATH"] = str(Path(session.__file__).resolve().parents[3])
        return found

    @run_before("run")
    def launch(self):
        self.begun = time.monotonic()
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir(parents=True)
        if not self.case.ranks and self.current_partition.scheduler.registered_name == "local":
            self.job.launcher = getlauncher("local")()
        if self.case.mapping:
            self.job.launcher.options += self.placement()
        if self.case.section == "ranks" and self.job.launcher.registered_name in launchers.SRUN:
            # Uses the same processors: a larger job asks for more nodes, and waits for ever if there is one.
            self.num_tasks //= 2
            self.job.launcher.options += [f"--ntasks={self.case.ranks}", "--overcommit"]
        if self.case.millrace:
            words = ["-m", "millrace", "run", *self.case.settings, "--"]
            self.job.launcher = LauncherWrapper(self.job.launcher, sys.executable, words)
        if standard := self.standard():
            more = {**self.case.more, **self.names, "ranks": self.case.ranks}
            standard.prepare(Path(self.stagedir), more)

    def placement(self):
        name = self.job.launcher.registered_name
        options = launchers.PLACEMENT.get(name)
        self.skip_if(options is None, f"how ranks are {self.case.mapping} with the launcher {name} is not known")
        return list(options[self.case.mapping])

    def document(self):
        """The program's output, without earlier lines of launchers."""
        text = (Path(self.stagedir) / str(self.stdout)).read_text(encoding="utf-8", errors="replace")
        if standard := self.standard():
            if self.job.exitcode:  # such a program may have written results before it failed
                raise ValueError(f"{self.case.program} failed")
            return standard.read(Path(self.stagedir), text)
        return json.JSONDecoder().raw_decode(text, text.index("{"))[0]

    def why_failed(self):
        said = self.last_words(self.stderr) or (self.last_words(self.stdout) if self.standard() else "")
        return f"exit status {self.job.exitcode}{': ' + said if said else ''}"

    def last_words(self, stream):
        path = Path(self.stagedir) / str(stream)
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
        return " | ".join(line for line in lines if line.strip() and not line.startswith("--"))[-400:]

    @sanity_function
    def verified(self):
        shutil.rmtree(self.place, ignore_errors=True)
        try:
            self.raw = self.document()
        except (OSError, ValueError) as error:
            return sn.assert_true(False, f"no result ({error}); {self.why_failed()}")
        if "problem" in self.raw:
            return sn.assert_true(True)
        return sn.assert_true(self.raw.get("verified"), f"the data is not verified; {self.why_failed()}")

    @run_before("performance")
    def measure(self):
        try:
            self.found = [f.document(SESSION.figures()) for f in figures.read(self.case, self.raw)]
        except figures.NotMeasured as reason:
            self.found = []
            SESSION.store(self.case, session.SKIPPED, str(reason))
        self.perf_variables = {}
        for figure in self.found:
            for name, value, unit in (
                (figure["name"], figure["value"], figure["unit"]),
                (f"{figure['name']}_percent_of_limit", figure["percent_of_limit"], "%"),
            ):
                if value is not None:
                    self.perf_variables[name] = sn.make_performance_function(lambda v=value: v, unit)

    @run_after("performance")
    def keep(self):
        if self.found:
            SESSION.store(
                self.case,
                session.PASSED,
                figures=self.found,
                raw=self.raw,
                seconds=time.monotonic() - self.begun,
                command=" ".join(
                    [*self.job.launcher.run_command(self.job).split(), self.executable, *self.executable_opts]
                ),
                node=str(self.job.nodelist or ""),
                test=self.unique_name,
                mpi_suffix=SUFFIX.get(self.case.mpi, ""),
            )


if LIMITS:

    @rfm.simple_test
    class Limit(Measured):
        node = fixture(Node, scope="session")
        case_name = parameter(WAITING)

else:

    @rfm.simple_test
    class Benchmark(Measured):
        case_name = parameter(WAITING)
