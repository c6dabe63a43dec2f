"""The light module: one backend, and nothing heavy."""

from __future__ import annotations

import subprocess
import sys

from polycmp_onnxrt.plugin import polycmp_runners


def test_the_plugin_describes_one_backend():
    (spec,) = polycmp_runners()
    assert (spec.name, spec.accepts, spec.needs) == ("onnxrt", ("onnx",), ("onnxruntime",))


def test_importing_the_package_and_the_plugin_stays_light():
    code = (
        "import sys, polycmp_onnxrt, polycmp_onnxrt.plugin as plugin\n"
        "list(plugin.polycmp_runners()); plugin.Options()\n"
        "print([name for name in ('numpy', 'onnx', 'onnxruntime') if name in sys.modules])\n"
        "from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx\n"
        "SessionFromOnnx('m.onnx'); OnnxrtRunner(None)\n"
        "print('onnxruntime' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "False"]
