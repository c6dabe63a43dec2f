"""A plugin that lies: a backend and a data loader that misbehave as their option `mode` says."""

from __future__ import annotations

from dataclasses import dataclass

from polycmp.spec import DataLoaderSpec, RunnerSpec, hookimpl, opt


@dataclass(frozen=True)
class Options:
    mode: str = opt("honest", help="How to misbehave.")
    when: str = opt("infer", help="At which stage, for modes that end a call.")
    seed: int = opt(0, help="Added to all outputs.")


@dataclass(frozen=True)
class DataOptions:
    mode: str = opt("honest", help="How to misbehave.")


@hookimpl
def polycmp_runners():
    yield RunnerSpec(
        name="hostile",
        summary="Misbehaves",
        factory="hostile_polycmp.runner:make_runner",
        options=Options,
        accepts=("onnx",),
    )
    yield RunnerSpec(
        name="hostile_parts",
        summary="Misbehaves with parts of models",
        factory="hostile_polycmp.parts:make_runner",
        options=Options,
        accepts=("onnx",),
    )


@hookimpl
def polycmp_data_loaders():
    yield DataLoaderSpec("hostile_data", "Misbehaves", "hostile_polycmp.data:make_data", DataOptions)
