"""Providers that are chosen among those available."""

from __future__ import annotations

from types import SimpleNamespace

import onnxruntime
import pytest

from polycmp.errors import PluginError, UsageError
from polycmp_onnxrt.choices import KNOWN_PROVIDERS, matching_providers
from polycmp_onnxrt.provider_packages import devices_of
from polycmp_onnxrt.providers import resolve_providers


def test_names_of_providers():
    assert matching_providers("tensorrt", KNOWN_PROVIDERS) == ["TensorrtExecutionProvider"]
    assert matching_providers("CPUExecutionProvider", KNOWN_PROVIDERS) == ["CPUExecutionProvider"]
    assert len(matching_providers("rt", KNOWN_PROVIDERS)) > 1
    known = {name.lower() for name in KNOWN_PROVIDERS}
    assert [name for name in onnxruntime.get_all_providers() if name.lower() not in known] == []


def test_providers_are_chosen_among_those_available():
    here = ("TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider")
    wanted = ["cud[device_id=1]", ("CPU", {"x": 2})]
    expected = [("CUDAExecutionProvider", {"device_id": "1"}, ""), ("CPUExecutionProvider", {"x": "2"}, "")]
    assert resolve_providers(wanted, here) == expected
    with pytest.raises(UsageError, match="means any of"):
        resolve_providers(["c"], here)
    with pytest.raises(PluginError, match="no execution provider 'vitisai'") as caught:
        resolve_providers(["vitisai"], here)
    assert "CUDAExecutionProvider" in caught.value.why


def test_providers_come_in_packages_of_their_own(tmp_path, monkeypatch):
    """As ONNX Runtime's guide has them; what else is called like that is not asked, nor imported for another name."""
    package = (
        "def get_library_path():\n    return '/lib/{0}.so'\ndef get_ep_name():\n    return '{0}ExecutionProvider'\n"
    )
    (tmp_path / "onnxruntime_ep_nv_tensorrt_rtx.py").write_text(package.format("NvTensorRTRTX"))
    (tmp_path / "onnxruntime_ep_vitisai.py").write_text(package.format("VitisAI"))
    (tmp_path / "onnxruntime_vitisai_tools.py").write_text("")
    (tmp_path / "onnxruntime_broken.py").write_text("import nothing_of_this_name")
    monkeypatch.syspath_prepend(str(tmp_path))
    here = ("CPUExecutionProvider",)
    assert resolve_providers(["vitisai"], here) == [("VitisAIExecutionProvider", {}, "/lib/VitisAI.so")]
    # Once it is registered, ONNX Runtime lists it among its own.
    both = (*here, "NvTensorRTRTXExecutionProvider")
    chosen = resolve_providers(["NvTensorRTRTX"], both)
    assert chosen == [("NvTensorRTRTXExecutionProvider", {}, "/lib/NvTensorRTRTX.so")]
    with pytest.raises(PluginError, match="onnxruntime_broken cannot be imported"):
        resolve_providers(["brokenExecutionProvider"], here)


@pytest.mark.parametrize(
    ("runtime", "said"),
    [
        (SimpleNamespace(__version__="1.20.1"), "ONNX Runtime 1.20.1 takes no SomeExecutionProvider"),
        (
            SimpleNamespace(register_execution_provider_library=lambda *_: None, get_ep_devices=list),
            "SomeExecutionProvider finds no device",
        ),
    ],
)
def test_a_package_that_cannot_be_used_here_is_told(runtime, said):
    """As with releases that are too old to be installed beside it, and on processors of another vendor."""
    with pytest.raises(PluginError, match=said):
        devices_of(runtime, "SomeExecutionProvider", "/lib/some.so")
