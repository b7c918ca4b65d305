#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""spdx.py TREE: writes TREE/dist/millrace-VERSION.spdx.json, an SPDX 2.3 document of the files in TREE/dist: their
checksums, and versions and licences of other people's code in them. TREE is where `make release` has built them."""

from __future__ import annotations

import datetime
import email.parser
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

# Licences; each was looked up. Linked statically (headers too), and copied.
LINKED = {
    "cli11": "BSD-3-Clause",
    "gcc-runtime": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "liburing": "LGPL-2.1-or-later OR MIT",
    "libsodium": "ISC",
    "llvm-runtime": "Apache-2.0 WITH LLVM-exception",
    "nlohmann-json": "MIT",
    "xxhash": "BSD-2-Clause",
}
COPIED = {
    "click": "BSD-3-Clause",
    "markdown-it-py": "MIT",
    "mdurl": "MIT",
    "mkdocs-material": "MIT",
    "pygments": "BSD-2-Clause",
    "rich": "MIT",
    "shellingham": "ISC",
    "tomli": "MIT",
    "typer": "MIT",
    "typing-extensions": "PSF-2.0",
}
Part = tuple[str, str]  # name, version


def said(*command: str, **more: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **more})
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else ""


def module(name: str, folder: Path | None = None) -> str:
    """The version of a library of the system, or of one in a folder."""
    where = {"PKG_CONFIG_LIBDIR": str(folder)} if folder else {}
    return said("pkg-config", "--modversion", name, **where)


def python_packages(folder: Path, names: Iterable[str] = ()) -> Iterator[Part]:
    for metadata in sorted(folder.glob("*.dist-info/METADATA")):
        message = email.parser.HeaderParser().parsestr(metadata.read_text(encoding="utf-8"))
        name = re.sub(r"[-_.]+", "-", message["Name"]).lower()
        if not names or name in names:
            yield name, message["Version"]


def headers() -> list[Part]:
    return [("xxhash", module("libxxhash")), ("nlohmann-json", module("nlohmann_json"))]


def site_packages(environment: Path) -> Path:
    return next(environment.glob("lib/python3*/site-packages"), environment)


def in_prefix(vendored: Path) -> list[Part]:
    """Of the tarball and the Debian package: both have what `make shipped` has built."""
    linked = [("gcc-runtime", said("c++", "-dumpfullversion")), ("libsodium", module("libsodium"))]
    linked += [("liburing", module("liburing")), ("cli11", module("CLI11"))]
    return [*python_packages(vendored), *linked, *headers()]


def contents(tree: Path, name: str) -> list[Part]:
    """Other people's code in a file of the release, copied or linked statically."""
    if name.endswith(".whl"):
        processor = re.search(r"(x86_64|aarch64)\.whl", name)[1]
        found = tree / f"build/wheel-{processor}/deps/lib/pkgconfig"
        ((_, zig),) = python_packages(site_packages(tree / "build/wheel-tools"), {"ziglang"})
        linked = [("llvm-runtime", f"of Zig {zig}"), ("libsodium", module("libsodium", found))]
        uring = [("liburing", module("liburing"))] if (found / "liburing.pc").exists() else []
        return [*linked, *uring, *headers()]
    if name.endswith(".deb"):
        return in_prefix(next(tree.glob("build/package/debian/*/vendored")))
    if "-linux-" in name:
        return in_prefix(next(tree.glob("build/package/tar/*/share/millrace/python")))
    if name.endswith("-site.tar.gz"):
        return list(python_packages(site_packages(tree / "build/docs-venv"), {"mkdocs-material"}))
    return []


def package(identity: str, name: str, version: str, licence: str, **more: object) -> dict[str, object]:
    described = {"SPDXID": identity, "name": name, "versionInfo": version, "filesAnalyzed": False, **more}
    described |= {"downloadLocation": "NOASSERTION", "licenseDeclared": licence, "licenseConcluded": licence}
    return {key: value for key, value in described.items() if value != ""} | {"copyrightText": "NOASSERTION"}


def relation(element: str, kind: str, other: str) -> dict[str, str]:
    return {"spdxElementId": element, "relationshipType": kind, "relatedSpdxElement": other}


def identity_of(*words: str) -> str:
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", "-".join(words))


def document(tree: Path, version: str) -> dict[str, object]:
    packages, relations = {}, []
    for path in sorted((tree / "dist").iterdir()):
        checksum = {"algorithm": "SHA256", "checksumValue": hashlib.sha256(path.read_bytes()).hexdigest()}
        own = identity_of(path.name)
        packages[own] = package(own, "millrace", version, "Apache-2.0", packageFileName=path.name, checksums=[checksum])
        relations.append(relation("SPDXRef-DOCUMENT", "DESCRIBES", own))
        for name, its_version in contents(tree, path.name):
            if name not in LINKED | COPIED:
                raise SystemExit(f"spdx: {path.name} has {name}: look up its licence, and add it to scripts/spdx.py")
            part = identity_of(name, its_version)
            packages[part] = package(part, name, its_version, (LINKED | COPIED)[name])
            relations.append(relation(own, "STATIC_LINK" if name in LINKED else "CONTAINS", part))
    made = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    number = hashlib.sha256(json.dumps([*packages.values()]).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"millrace-{version}",
        "documentNamespace": f"https://millrace.example/spdx/{version}/{number}",
        "creationInfo": {"created": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: scripts/spdx.py"]},
        "packages": [*packages.values()],
        "relationships": relations,
    }


def main() -> int:
    tree = Path(sys.argv[1])
    version = re.search(r'^__version__ = "(.*?)"', (tree / "python/millrace/__init__.py").read_text(), re.MULTILINE)[1]
    text = json.dumps(document(tree, version), indent=1) + "\n"
    (tree / f"dist/millrace-{version}.spdx.json").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
