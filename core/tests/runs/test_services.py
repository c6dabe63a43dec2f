"""What runs leave to plugins: found by its name, made use of where it is there, and done without where it is not."""

from __future__ import annotations

import pytest
from fakes import FakeSite
from toymodels import node, write

HEAVY = """
    def make_workers(data, timeout):
        raise RuntimeError("no more processes")
"""


@pytest.fixture
def install(tmp_path_factory, monkeypatch, tmp_path):
    """Install a plugin with services; the model has a dimension that is open."""
    site = FakeSite(tmp_path_factory.mktemp("site"))
    monkeypatch.syspath_prepend(str(site.folder))
    write(tmp_path / "m.toy", [node("Relu", "x", "y")], inputs={"x": ["float32", ["batch", "m"]]})

    def go(name, service):
        light = (
            f"from polycmp.spec import ServiceSpec, hookimpl\n@hookimpl\ndef polycmp_services():\n    yield {service}\n"
        )
        files = {f"{name}_light.py": light, f"{name}_heavy.py": HEAVY}
        site.install(f"fake-{name}", {name: f"{name}_light"}, files)

    return go


RUN = ("run", "m.toy", "-b", "toy", "-b", "plain", "--report", "r.json")


def test_a_service_that_nothing_asks_for_is_the_fault_of_its_plugin(polycmp, install):
    install("odd", "ServiceSpec('worker', '', 'odd_heavy:make_workers')")
    listed = polycmp("plugins", "list")
    assert "there is no use for a service 'worker'; did you mean 'workers'" in listed.words


def test_tolerances_by_rounding_come_with_the_core(polycmp, install):
    assert polycmp(*RUN, "--tolerance", "auto").status == 0
