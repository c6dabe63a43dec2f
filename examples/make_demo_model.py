"""Write the model that these examples work on, which is that of `polycmp demo`."""

from __future__ import annotations

import argparse
from pathlib import Path

import onnx

from polycmp_onnx.tools.demo_model import make_model

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=Path("demo.onnx"), metavar="FILE.onnx")
    target = parser.parse_args().file
    target.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(make_model(), target)
    print(f"wrote {target} ({target.stat().st_size // 1024} KiB)")
