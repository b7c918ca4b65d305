# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`python -m millrace`, and the `millrace` program: a plain `run` starts without what other commands need."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Entry point of the `millrace` program."""
    if sys.argv[1:2] == ["run"] and "_MILLRACE_COMPLETE" not in os.environ:  # not for completions in a shell
        from millrace.run import plain_options

        plain = plain_options.read(sys.argv[2:])
        if plain is not None:
            from millrace.run.command import Request, run

            options, command = plain
            sys.exit(run(Request(command, options)))
    if sys.flags.no_site:  # bin/millrace starts Python without site for `run`; typer is in the folders that site adds
        import site

        site.main()
    try:
        from millrace.cli import main as with_typer
    except ModuleNotFoundError as error:
        sys.exit(f"millrace: the Python module '{error.name}' is missing: {sys.executable} -m pip install typer rich")
    with_typer()


if __name__ == "__main__":
    main()
