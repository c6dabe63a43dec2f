"""The light module of what is built in."""

from __future__ import annotations

import subprocess
import sys


def test_the_light_module_imports_nothing_heavy():
    code = "import sys, polycmp.builtin.plugin as b; list(b.polycmp_compare_funcs()); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
