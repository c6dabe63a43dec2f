"""A runtime and a converter with releases, and a backend on the runtime: wheels in a folder, installed by pip itself.

Commands run in the tests' own process. They see one Python and no package index but that folder, so that nothing
depends on the machine, and keep their environments in one cache, which is made as tests need it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from fakes import FakeSite
from in_process import plugins_installed
from onnx import TensorProto, helper

from polycmp.cli.main import run as run_command
from polycmp_bisect.environments.tools import interpreters, pip_settings

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
#: What a release of the runtime does, by word. `TOY_FOLDER` is a folder of the test.
RUNTIMES = {
    "good": "def load(): pass\ndef run(x): return x * 2\n",
    "bad": "def load(): pass\ndef run(x): return x * 3\n",
    "unloadable": "def load(): raise ValueError('no such operator: Mul')\n",
    "broken": "raise ImportError('no kernel for this processor')\n",
    "unfinished": "def load(): raise ValueError('no kernel for Mul of float32: not implemented')\n",
    # Wrong in the first process of each two.
    "flaky": "import os\n"
    "flips = os.path.join(os.environ['TOY_FOLDER'], 'flips')\n"
    "def load(): open(flips, 'a').write('x')\n"
    "def run(x): return x * (2 + os.path.getsize(flips) % 2)\n",
    # Good; is not imported before its time has come.
    "stuck": "import os, time\n"
    "held = os.path.join(os.environ['TOY_FOLDER'], 'held')\n"
    "while os.path.exists(held): open(held + '-here', 'w').close(); time.sleep(0.02)\n"
    "def load(): pass\ndef run(x): return x * 2\n",
}
#: What a release of the converter does with the bytes of a model.
CONVERTERS = {
    "good": "made = data",
    "bad": "import struct; made = data.replace(struct.pack('<f', 2), struct.pack('<f', 3))",
    "broken": "sys.exit('toyconv: cannot read Mul')",
    # Bad; when it has run, there is no package index any more.
    "last": "import struct; made = data.replace(struct.pack('<f', 2), struct.pack('<f', 3))\n"
    "    index = os.environ['PIP_FIND_LINKS']\n"
    "    if os.path.isdir(index): os.rename(index, index + '-away')",
}
RELEASES = {
    "toyrt": {
        "0.8.1": "good", "0.9": "stuck", "1.0": "good", "1.1": "good", "1.2": "unloadable", "1.3": "broken",
        "1.4": "bad", "1.5": "bad", "1.6": "good", "1.7": "unfinished", "2.0": "flaky",
        "2.1rc1": "broken",
    },
    "toyconv": {
        "1.0": "good", "1.1": "broken", "1.2": "bad", "1.3": "broken", "2.0": "good", "2.0.1": "good", "2.1": "last",
    },
}  # fmt: skip


def write_wheel(folder: Path, package: str, version: str, text: str, entry_points: str = "") -> None:
    """Write the wheel of a release that is one module."""
    about = f"{package}-{version}.dist-info"
    files = {
        f"{package}/__init__.py": text,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        **({f"{about}/entry_points.txt": entry_points} if entry_points else {}),
    }
    with zipfile.ZipFile(folder / f"{package}-{version}-py3-none-any.whl", "w") as wheel:
        for name, content in files.items():
            wheel.writestr(name, content)
        wheel.writestr(f"{about}/RECORD", "".join(f"{name},,\n" for name in (*files, f"{about}/RECORD")))


def write_model(path: Path, factor: float = 2) -> None:
    """Write a model that multiplies four numbers."""
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "two"], ["y"], name="double")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
        [onnx.numpy_helper.from_array(np.float32(factor), "two")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


class Shelf:
    """What all tests share: wheels, an installed plugin, and the cache of environments."""

    def __init__(self, root: Path) -> None:
        self._settings: dict[str, str] | None = None
        self.wheels, self.site, self.cache = root / "wheels", root / "site", root / "cache"
        self.wheels.mkdir(parents=True)
        for version, kind in RELEASES["toyrt"].items():
            write_wheel(self.wheels, "toyrt", version, f"__version__ = {version!r}\n{RUNTIMES[kind]}")
        for version, kind in RELEASES["toyconv"].items():
            text = (
                "import os, sys\ndef main():\n    data = open(sys.argv[1], 'rb').read()\n"
                f"    {CONVERTERS[kind]}\n    open(sys.argv[2], 'wb').write(made)\n"
            )
            write_wheel(self.wheels, "toyconv", version, text, "[console_scripts]\ntoyconv = toyconv:main\n")
        texts = {"__init__": "", "plugin": PLUGIN, "runner": RUNNER}
        files = {f"polycmp_toyrt/{name}.py": text for name, text in texts.items()}
        FakeSite(self.site).install("polycmp-toyrt", {"toy": "polycmp_toyrt.plugin"}, files, requires=("polycmp",))

    def forget_other_settings(self) -> None:
        """Have pip asked for its configuration again where its variables have changed, as a new process would."""
        settings = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_"))}
        if settings != self._settings:
            pip_settings.cache_clear()
            self._settings = settings


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


@dataclass
class Place:
    """A folder of one test with `m.onnx`, and `polycmp` as it is called there."""

    root: Path
    shelf: Shelf
    capture: pytest.CaptureFixture[str]
    environ: dict[str, str]

    @property
    def environments(self) -> Path:
        """The folder of the environments."""
        return Path(os.environ["POLYCMP_CACHE"]) / "environments"

    def made(self) -> set[str]:
        """Return the releases of which there is an environment, whole or not."""
        return {"-".join(path.name.split("-")[:2]) for path in self.environments.glob("*") if path.is_dir()}

    def polycmp(self, *words: str) -> Done:
        """Run a command as a process of its own would, in this one."""
        self.capture.readouterr()
        self.shelf.forget_other_settings()
        status = run_command([*words], plugins_installed())
        done = Done(status, *self.capture.readouterr())
        assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
        return done

    def bisect(self, *words: str, step: tuple[str, ...] = ()) -> tuple[Done, dict[str, Any]]:
        """Bisect without `locate`; returns what was said and the JSON report."""
        report = self.root / "r.json"
        report.unlink(missing_ok=True)
        done = self.polycmp("bisect", *words, "--no-locate", "--report", "r.json", *(("--", *step) if step else ()))
        return done, json.loads(report.read_text()) if report.exists() else {}

    def over_toyrt(self, *words: str) -> tuple[Done, dict[str, Any]]:
        """Bisect over the releases of the runtime."""
        return self.bisect("m.onnx", "-b", "toy", "-b", "onnx", "--over", "toyrt", *words)

    def over_toyconv(self, *words: str) -> tuple[Done, dict[str, Any]]:
        """Bisect over the releases of the converter, whose command writes `out.onnx`."""
        backends = ("-b", "onnxrt", "-b", "onnxrt:model=m.onnx")
        return self.bisect("out.onnx", *backends, "--over", "toyconv", *words, step=("toyconv", "m.onnx", "out.onnx"))

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start a command as a process with a group of its own, as a shell does."""
        return subprocess.Popen(
            [sys.executable, "-m", "polycmp", *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip


def make_place(root: Path, shelf: Shelf, capture: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> Place:
    """Make the folder of a test and set what commands find around them."""
    write_model(root / "m.onnx")
    environ = {
        "PYTHONPATH": str(shelf.site), "POLYCMP_CACHE": str(shelf.cache), "TOY_FOLDER": str(root),
        "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(shelf.wheels), "PIP_CONFIG_FILE": os.devnull,
        "PIP_EXTRA_INDEX_URL": "", "PATH": str(Path(sys.executable).parent), "HOME": str(root), "COLUMNS": "160",
    }  # fmt: skip
    for name, value in environ.items():
        patch.setenv(name, value)
    patch.syspath_prepend(str(shelf.site))
    patch.chdir(root)
    interpreters.cache_clear()
    return Place(root, shelf, capture, environ)


def until(there: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 120.0) -> None:
    """Wait for something that a process does."""
    end = time.monotonic() + seconds
    while not there():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)
