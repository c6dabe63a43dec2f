"""Pages as headless Chromium has them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NONE = "no chromium and no google-chrome on PATH"

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason=NONE)


def opened(path: Path, *switches: str, timeout: float = 50) -> subprocess.CompletedProcess[str]:
    """Open a page, and return what Chromium writes; without one the test is skipped.

    Args:
        path: The page; Chromium's files go into its folder.
        switches: What to do: `--dump-dom`, `--window-size=400,900`.
        timeout: Seconds that it may take.
    """
    if CHROMIUM is None:
        pytest.skip(NONE)
    usual = ("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0")
    words = [CHROMIUM, *usual, f"--user-data-dir={path.parent / 'profile'}", *switches, path.as_uri()]
    return subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=True)


def asked(page: str, script: str, folder: Path, width: int) -> subprocess.CompletedProcess[str]:
    """Return what Chromium writes of a page once it has loaded and a script, which its policy then allows, has run."""
    page = re.sub(r"script-src &#x27;[^ ]*&#x27;", "script-src 'unsafe-inline'", page)
    added = f"<script>addEventListener('load', () => {{{script}}});</script></body>"
    path = folder / "asked.html"
    path.write_text(page.replace("</body>", added))
    return opened(path, "--dump-dom", f"--window-size={width},900")
