"""Commands in the tests' process: fixtures of all tests here."""

import sys
from pathlib import Path

from onnx_commands import (  # noqa: F401 - fixtures
    polycmp,
    signals_as_a_terminal_has_them,
)

sys.path.insert(0, str(Path(__file__).parent))
