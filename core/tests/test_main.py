"""`python -m polycmp` in the folder of a model that somebody else made."""

from __future__ import annotations

import subprocess
import sys


def test_a_module_beside_a_model_is_not_imported(toybox, model, tmp_path):
    for name in ("numpy", "click", "json"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('a stranger ran')\n")
    command = [sys.executable, "-m", "polycmp", "run", "m.toy", "-b", "toy", "-b", "plain"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, "stranger" in done.stderr) == (0, False), done.stderr
