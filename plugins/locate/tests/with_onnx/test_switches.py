"""Settings of a backend that a search may change."""

from __future__ import annotations

import faulty_models

from polycmp.plugins import Registry


def test_switches_of_a_backend_are_checked(tmp_path):
    """Every switch of our own backends names an option, and values that it takes."""
    from polycmp.model import Model
    from polycmp.plan import BackendPlan
    from polycmp.runs.resolved_backend import ResolvedBackend

    registry = Registry.discover()
    model = Model(str(faulty_models.relu_clip(tmp_path / "m.onnx")), registry)
    known = {item.name: item for item, tools in registry.equipped(registry.runners.values()) if tools.switches}
    assert "onnxrt" in known
    for name, item in known.items():
        given = {"compile": True} if name == "torch" else {}  # what is not compiled leaves nothing out
        backend = ResolvedBackend(BackendPlan(name, name, item.spec.options(**given)), model, item)
        for switch in backend.tools.switches:
            values = backend.switch_values(switch)
            several = isinstance(getattr(backend.plan.options, switch.option), tuple)
            assert values
            assert len(set(values)) == len(values)
            assert all(backend.with_option(switch.option, (value,) if several else value) for value in values)
