"""Loaders that take a backend's options take those of each of its instances."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes import FakeSite

from polycmp.plan import Plan, plan_backends
from polycmp.plugins import Registry
from polycmp.runs import resolve

LIGHT = """
from dataclasses import dataclass
from polycmp.spec import LoaderSpec, LoaderTools, RunnerSpec, hookimpl, opt

@dataclass(frozen=True)
class Heat:
    heat: float = opt(1.0, help="How hot.")

class OfKiln(LoaderTools):
    options_of = "kiln"

@hookimpl
def polycmp_runners():
    yield RunnerSpec("kiln", "A fake.", "kiln_heavy:make_runner", options=Heat, accepts=("fired", "clay"))

@hookimpl
def polycmp_loaders():
    yield LoaderSpec("clay", "A fake.", "kiln_heavy:make_clay", suffixes=(".clay",), produces="clay")
    yield LoaderSpec("fired", "A fake.", "kiln_heavy:make_fired", suffixes=(".fired",), consumes=("clay",),
                     produces="fired", tools="kiln_light:OfKiln")
"""
HEAVY = """
from functools import lru_cache
from pathlib import Path

import numpy as np
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata

class Clay:
    def __init__(self, path):
        self.path, self.readings = path, 0

    @lru_cache(maxsize=1)
    def __call__(self):
        self.readings += 1
        return float(Path(self.path).read_text())

def make_clay(source, options):
    return Clay(source)

def make_fired(source, options):
    heat = 1.0 if options is None else options.heat
    return lambda: heat * (source() if callable(source) else float(Path(source).read_text()))

class Kiln(Runner):
    def __init__(self, load, name):
        super().__init__(name)
        self.load = load

    def activate_impl(self):
        self.value = self.load()

    def get_input_metadata_impl(self):
        return TensorMetadata().add("x", "float32", (2,))

    def infer_impl(self, feed_dict):
        return {"y": feed_dict["x"] * np.float32(self.value)}

def make_runner(model, options, *, name):
    return Kiln(model.load("fired"), name)
"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    site = FakeSite(tmp_path / "site")
    site.install("fake-kiln", {"kiln": "kiln_light"}, {"kiln_light.py": LIGHT, "kiln_heavy.py": HEAVY})
    for name in ("m.fired", "m.clay"):
        (tmp_path / name).write_text("3")
    monkeypatch.chdir(tmp_path)
    return site


@pytest.mark.parametrize("model", ["m.fired", "m.clay"])
def test_two_instances_of_a_backend_have_a_model_each(site, model):
    assert site.polycmp("run", model, "-b", "kiln:heat=2", "-b", "kiln").returncode == 1
    assert site.polycmp("run", model, "-b", "kiln:heat=2", "-b", "kiln:heat=2,name=again").returncode == 0


def test_what_reads_the_file_reads_it_once_where_the_options_are_those_of_a_converter(site):
    with site.installed_here():
        registry = Registry.discover()
        backends = plan_backends(["kiln:heat=2", "kiln:heat=3", "kiln"], {}, registry)
        resolved = resolve(Plan(model="m.clay", backends=backends), registry)
        values = [item.model.load("fired")() for item in resolved.backends]
        clays = {item.model.load("clay") for item in resolved.backends}
        assert (values, [clay.readings for clay in clays]) == ([6, 9, 3], [1])


def test_another_option_of_a_backend_is_another_model(site):
    with site.installed_here():
        registry = Registry.discover()
        backends = plan_backends(["kiln:heat=2"], {}, registry)
        backend = resolve(Plan(model="m.fired", backends=backends), registry).backends[0]
        hotter = backend.with_option("heat", 5.0)
        plain = replace(hotter, plan=replace(hotter.plan, options=None))
        assert [item.model.load("fired")() for item in (backend, hotter, plain)] == [6, 15, 3]
