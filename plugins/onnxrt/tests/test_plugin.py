"""The light module: one backend, and nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest
from onnxrt_models import FakeModel

from polycmp_onnxrt.plugin import OnnxrtTools, Options, polycmp_runners


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


@pytest.mark.parametrize(
    ("providers", "kind"),
    [
        (["cpu"], ""),
        (["cuda"], "tf32"),
        (["cuda[use_tf32=0]"], ""),
        (["tensorrt[trt_fp16_enable=1;trt_int8_enable=True]", "cpu"], "int8"),
        (["tensorrt[trt_fp16_enable=false]"], ""),
        (["qnn[backend_type=htp]"], "float16"),
        (["qnn[enable_htp_fp16_precision=0;htp_bf16_enable=1]"], "bfloat16"),
        (["acme_ExecutionProvider"], ""),
    ],
)
def test_types_that_providers_may_calculate_in(providers, kind):
    assert OnnxrtTools().precision(FakeModel(None), Options(providers=tuple(providers))) == kind
