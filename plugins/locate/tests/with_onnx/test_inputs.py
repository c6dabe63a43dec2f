"""Inputs that two models call differently."""

from __future__ import annotations

import converted_models as converted
import pytest
from located import locate_files, located


@pytest.mark.parametrize(("factor", "first"), [(1.0, None), (1.1, "/layer1/mm2")], ids=["right", "wrong"])
def test_an_export_with_another_name_of_its_input_is_paired(polycmp, tmp_path, factor, first):
    good, other = converted.network(tmp_path / "good.onnx"), converted.exported(tmp_path / "other.onnx")
    converted.edited(other, other, converted.with_input("hidden_states"))
    converted.edited(other, other, converted.scaled("1.down.weight", factor))
    done = locate_files(polycmp, other, good)
    assert done.status == (0 if first is None else 1), done.out + done.err
    assert located(tmp_path)["first_bad"] == first
    assert "inputs: 'hidden_states' of new is fed what 'x' of old gets" in " ".join(done.out.split())
