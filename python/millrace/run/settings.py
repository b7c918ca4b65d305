# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Values of the settings: checked, read from a TOML file, the environment and the command line, and overlaid."""

from __future__ import annotations

import os
import stat
import sys

from millrace.run.setting_table import FOR_USERS, OTHER_VARIABLES, SETTINGS, Setting
from millrace.units import format_bytes, format_duration, parse_bytes, parse_duration

TYPE_CHECKING = False  # importing typing takes longer than `run` may take
if TYPE_CHECKING:
    from collections.abc import Mapping


class SettingError(ValueError):
    """An invalid setting; the text has its name, the reason and the allowed values."""


BY_NAME = {setting.name: setting for setting in SETTINGS}


def _parse_count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"'{text}' is not a whole number")
    return int(text)


# How numbers are read and written.
_NUMBERS = {
    "bytes": (parse_bytes, format_bytes),
    "count": (_parse_count, str),
    "duration": (parse_duration, format_duration),
}


def _check_number(setting: Setting, text: str) -> str:
    text = text.strip().lower()
    if setting.automatic and text == "auto":
        return text
    parse, form = _NUMBERS[setting.kind]
    value = parse(text)
    if not setting.low <= value <= setting.high:
        raise ValueError(f"{text} is out of range")
    return form(value)


def _check_names(setting: Setting, text: str) -> str:
    del setting
    return ",".join(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _check_choice(setting: Setting, text: str) -> str:
    value = text.strip().lower()
    if value not in setting.choices:
        raise ValueError(f"'{text}' is not known")
    return value


def _check_switch(setting: Setting, text: str) -> str:
    del setting
    value = text.strip().lower()
    if value in ("1", "true", "yes", "on"):
        return "1"
    if value in ("0", "false", "no", "off"):
        return "0"
    raise ValueError(f"'{text}' is neither 0 nor 1")


def _check_paths(setting: Setting, text: str) -> str:
    del setting
    patterns = [pattern.strip() for pattern in text.split(":")] if text.strip() else []
    if "" in patterns or "!" in patterns:
        raise ValueError(f"'{text}' has an empty pattern")
    return ":".join(patterns)


def _check_key(setting: Setting, text: str) -> str:
    del setting
    if len(text) > 64 or not all("!" <= letter <= "~" for letter in text):
        raise ValueError("the key is too long or has forbidden characters")
    return text


_CHECKS = {
    **dict.fromkeys(_NUMBERS, _check_number),
    "names": _check_names,
    "choice": _check_choice,
    "switch": _check_switch,
    "paths": _check_paths,
    "key": _check_key,
}


def normalise(setting: Setting, value: object, origin: str) -> str:
    """The value in the form of the environment; raises SettingError with `origin`."""
    if isinstance(value, bool):
        value = "1" if value else "0"
    if isinstance(value, list | tuple):
        separator = ":" if setting.kind == "paths" else ","
        value = separator.join(str(item) for item in value)
    check = _CHECKS.get(setting.kind)
    try:
        return check(setting, str(value)) if check else str(value)
    except ValueError as error:
        raise SettingError(f"{origin}: {error}; allowed: {setting.allowed}") from None


class Effective:
    """A value and its origin."""

    def __init__(self, value: str, origin: str) -> None:
        self.value, self.origin = value, origin


class Configuration:
    """The settings of `millrace run`: each setting's effective value, and warnings."""

    def __init__(self, values: dict[str, Effective], warnings: list[str]) -> None:
        self.values, self.warnings = values, warnings

    def changed(self) -> dict[str, str]:
        """The variables for the program's environment: all values that are not built in."""
        return {
            BY_NAME[name].variable: effective.value
            for name, effective in self.values.items()
            if effective.origin != "built in"
        }


def find_config(explicit: str | os.PathLike[str] | None, environment: Mapping[str, str]) -> str | None:
    """The settings file: --config, else ./millrace.toml, else the user's file."""
    if explicit is not None:
        return os.fspath(explicit)
    home = os.path.expanduser(environment.get("HOME", "~"))
    base = environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    for path in ("millrace.toml", os.path.join(base, "millrace", "config.toml")):
        if os.path.isfile(path):
            return path
    return None


def _distrust(about: os.stat_result) -> str:
    """The reason why a settings file is not trusted with paths of programs and outputs; empty if it is trusted."""
    if about.st_uid not in (os.geteuid(), 0):
        return "the file belongs to another user"
    if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "other users can write the file: chmod go-w it"
    return ""


def read_config(path: str) -> dict[str, str]:
    """The [run] table of a TOML file, checked. Only a file of this user or of root may name programs or folders."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:  # pragma: no cover - depends on the interpreter
        import tomli as tomllib
    try:
        with open(path, "rb") as file:
            distrust = _distrust(os.fstat(file.fileno()))
            document = tomllib.load(file)
    except OSError as error:
        raise SettingError(f"{path}: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingError(f"{path}: not valid TOML: {error}") from None
    table = document.get("run", {})
    if not isinstance(table, dict):
        raise SettingError(f"{path}: 'run' must be a table: [run]")
    values = {}
    for name, value in table.items():
        setting = BY_NAME.get(name.replace("-", "_"))
        if setting is None or not setting.toml:
            known = ", ".join(s.name for s in FOR_USERS if s.toml)
            raise SettingError(f"{path}: [run] has an unknown setting '{name}'; allowed: {known}")
        if setting.kind == "path" and distrust:
            raise SettingError(f"{path}: {name} is refused, because {distrust}; or give {setting.variable}")
        values[setting.name] = normalise(setting, value, f"{path}: {name}")
    return values


def resolve(
    options: Mapping[str, object],
    config: str | os.PathLike[str] | None,
    environment: Mapping[str, str] | None = None,
) -> Configuration:
    """Overlays built in < TOML < environment < command line. Bad values of any of them are errors."""
    environment = os.environ if environment is None else environment
    values = {setting.name: Effective(setting.default, "built in") for setting in SETTINGS}
    warnings = []
    path = find_config(config, environment)
    if path is not None:
        for name, value in read_config(path).items():
            values[name] = Effective(value, path)
    known = {setting.variable for setting in SETTINGS} | OTHER_VARIABLES.keys()
    for variable in sorted(environment):
        if variable.startswith("MILLRACE_") and variable not in known:
            warnings.append(f"{variable} is set, but Millrace has no such setting")
    for setting in SETTINGS:
        text = environment.get(setting.variable)
        if text is not None:
            values[setting.name] = Effective(normalise(setting, text, setting.variable), "environment")
    for name, value in options.items():
        if value is not None:
            setting = BY_NAME[name]
            values[name] = Effective(normalise(setting, value, setting.option_name), "command line")
    return Configuration(values, warnings)
