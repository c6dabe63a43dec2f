"""Providers that are chosen among those available."""

from __future__ import annotations

import onnxruntime
import pytest

from polycmp.errors import PluginError, UsageError
from polycmp_onnxrt.choices import KNOWN_PROVIDERS, matching_providers
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
    expected = [("CUDAExecutionProvider", {"device_id": "1"}), ("CPUExecutionProvider", {"x": "2"})]
    assert resolve_providers(wanted, here) == expected
    with pytest.raises(UsageError, match="means any of"):
        resolve_providers(["c"], here)
    with pytest.raises(PluginError, match="no execution provider 'qnn'") as caught:
        resolve_providers(["qnn"], here)
    assert "CUDAExecutionProvider" in caught.value.why
