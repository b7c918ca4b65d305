# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The report in a real browser, headless: wide, on a phone, dark. MILLRACE_SCREENSHOTS=FOLDER keeps the pictures."""

import os
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
from millrace.tools.evaluate import references
from millrace.tools.evaluate.report import page
from millrace.tools.evaluate.session import Session

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars"
).split()
DARK = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"]

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here")


def browse(tmp_path, *words):
    command = [BROWSER, *QUIET, f"--user-data-dir={tmp_path}/profile", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=400, check=True).stdout


def first_pixel(path: Path) -> tuple[int, ...]:
    """Of a PNG: enough to tell light from dark without a library for pictures."""
    data, at, packed, depth = path.read_bytes(), 8, b"", 0
    while at < len(data):
        (length,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            depth = {2: 3, 6: 4}[body[9]]
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    return tuple(zlib.decompressobj().decompress(packed, 1 + depth)[1:4])


@pytest.mark.parametrize(
    ("name", "width", "height", "more"),
    [("desktop", 1200, 1500, []), ("phone", 500, 1700, []), ("dark", 1200, 1500, DARK)],
)
def test_the_page_is_shown(finished, tmp_path, name, width, height, more):
    kept = os.environ.get("MILLRACE_SCREENSHOTS")
    session = Session.open(Path(os.environ.get("MILLRACE_SCREENSHOT_SESSION", finished.session)))
    source, picture = tmp_path / "report.html", tmp_path / f"evaluate-{name}.png"
    page.write(source, session, references.load_all())
    browse(tmp_path, *more, f"--window-size={width},{height}", f"--screenshot={picture}", f"file://{source}")
    dark = sum(first_pixel(picture)) < 200
    assert dark == bool(more)
    assert picture.stat().st_size > 20_000
    if kept:
        shutil.copy(picture, kept)


def test_nothing_is_wider_than_a_phone(finished, tmp_path):
    text = (finished.session / "report.html").read_text()
    probe = "<script>document.title='width '+document.documentElement.scrollWidth+' of '+innerWidth</script></body>"
    source = tmp_path / "probe.html"
    source.write_text(text.replace("</body>", probe))
    shown = browse(tmp_path, "--window-size=500,900", "--dump-dom", f"file://{source}")
    found = re.search(r"<title>width (\d+) of (\d+)</title>", shown)
    assert found and int(found[1]) <= int(found[2])
