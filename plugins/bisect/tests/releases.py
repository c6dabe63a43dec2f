"""A runtime with releases, a backend that it drives, and their wheels: made in a folder, installed by pip itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

PLUGIN = """
from polycmp.spec import RunnerSpec, hookimpl

@hookimpl
def polycmp_runners():
    yield RunnerSpec("toy", "A runtime with releases", "polycmp_toyrt.runner:make", needs=("toyrt",))
"""
RUNNER = """
import toyrt
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata

class Toy(Runner):
    def activate_impl(self):
        toyrt.load()
    def get_input_metadata_impl(self):
        return TensorMetadata().add("x", "float32", [4])
    def infer_impl(self, feed_dict):
        return {"y": toyrt.run(feed_dict["x"])}
    def deactivate_impl(self):
        pass

def make(model, options, *, name):
    return Toy(name)
"""
#: What a release does, by word.
KINDS = {
    "good": "def load(): pass\ndef run(x): return x * 2\n",
    "bad": "def load(): pass\ndef run(x): return x * 3\n",
    "unloadable": "def load(): raise ValueError('no such operator: Mul')\n",
    "broken": "raise ImportError('no kernel for this processor')\n",
    "flaky": "import itertools, os, tempfile\n"
    "def load(): pass\n"
    "def run(x):\n"
    "    path = os.path.join(os.environ['POLYCMP_CACHE'], 'flips')\n"
    "    open(path, 'a').write('x')\n"
    "    return x * (2 + os.path.getsize(path) % 2)\n",
}


def write_wheel(folder: Path, version: str, kind: str) -> Path:
    """Write the wheel of a release."""
    path = folder / f"toyrt-{version}-py3-none-any.whl"
    about = f"toyrt-{version}.dist-info"
    files = {
        "toyrt/__init__.py": f"__version__ = {version!r}\n{KINDS[kind]}",
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: toyrt\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
        wheel.writestr(f"{about}/RECORD", "".join(f"{name},,\n" for name in (*files, f"{about}/RECORD")))
    return path


class Place:
    """A folder with everything, and `polycmp` as it is called there."""

    def __init__(self, root: Path):
        self.root, self.wheels, self.cache = root, root / "wheels", root / "cache"
        self.wheels.mkdir(parents=True)
        package = root / "site" / "polycmp_toyrt"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "plugin.py").write_text(PLUGIN)
        (package / "runner.py").write_text(RUNNER)
        about = root / "site" / "polycmp_toyrt-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: polycmp-toyrt\nVersion: 1.0\nRequires-Dist: polycmp\n"
        )
        (about / "entry_points.txt").write_text("[polycmp]\ntoy = polycmp_toyrt.plugin\n")
        graph = helper.make_graph(
            [helper.make_node("Mul", ["x", "two"], ["y"], name="double")],
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
            [onnx.numpy_helper.from_array(np.float32(2), "two")],
        )
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), root / "m.onnx")

    def release(self, **kinds: str) -> None:
        """Publish releases, whose names have _ for dots and v in front."""
        for name, kind in kinds.items():
            write_wheel(self.wheels, name[1:].replace("_", "."), kind)

    def environ(self, **more: str) -> dict[str, str]:
        """Return the environment variables of a command: no index but the folder of wheels."""
        return {
            **os.environ, "PYTHONPATH": str(self.root / "site"), "POLYCMP_CACHE": str(self.cache), "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.wheels), "PIP_CONFIG_FILE": os.devnull, "PIP_EXTRA_INDEX_URL": "", **more,
        }  # fmt: skip

    def words(self, *words: str) -> list[str]:
        """Return the words that start a command."""
        return [sys.executable, "-m", "polycmp", *words]

    def polycmp(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            self.words(*words), cwd=self.root, env=self.environ(**more), capture_output=True, text=True, check=False
        )

    def bisect(self, *words: str, **more: str) -> tuple[subprocess.CompletedProcess[str], dict]:
        """Bisect over the runtime's releases; returns what was said and the JSON report."""
        report = self.root / "r.json"
        report.unlink(missing_ok=True)
        done = self.polycmp(
            "bisect", "m.onnx", "-b", "toy", "-b", "onnx", "--over", "toyrt", "--no-locate", "--report", "r.json",
            *words, **more,
        )  # fmt: skip
        return done, json.loads(report.read_text()) if report.exists() else {}
