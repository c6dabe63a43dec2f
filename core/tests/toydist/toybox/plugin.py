"""What the toy box contributes. Light: not even NumPy is imported here."""

from __future__ import annotations

from dataclasses import dataclass

from polycmp.spec import (
    CommandSpec,
    CompareFuncSpec,
    CompareFuncTools,
    DataLoaderSpec,
    DataLoaderTools,
    FormatSpec,
    LoaderSpec,
    LoaderTools,
    RunnerSpec,
    RunnerTools,
    hookimpl,
    opt,
)

FAULTS = {
    "": "none",
    "add": "AMOUNT more",
    "scale": "AMOUNT times as much more",
    "constant": "AMOUNT everywhere",
    "nan": "NaN in the first element",
    "inf": "infinity in the first element",
    "noise": "something random more, at most AMOUNT",
    "restart": "AMOUNT more after the second activation",
    "session": "something random more, the same in all calls of a session",
    "race": "something random more with several threads, at most AMOUNT",
    "memory": "AMOUNT more after inputs of another size",
    "place": "AMOUNT more in each row than in the one before",
    "neighbours": "AMOUNT times the mean over the rows less",
    "threads": "AMOUNT more with several threads",
    "fixed": "AMOUNT more where the shapes of all inputs are known",
    "raise": "an error in words",
    "open": "an error in words where the shape of an input is not known",
    "overwrite": "an exception that is no error of polycmp",
    "die": "the end of the process by a signal",
    "leave": "the end of the process without a signal",
    "hang": "no answer",
}


@dataclass(frozen=True)
class LoaderOptions:
    """How to load a toy."""

    outputs: tuple[str, ...] = opt((), help="Tensors to make the outputs.", metavar="NAME")
    mark_all: bool = opt(False, help="Make every tensor an output.")


@dataclass(frozen=True)
class RunnerOptions:
    """How to calculate, and what to do wrong."""

    dtype: str = opt("", help="Calculate in this type.", choices=("", "float64", "float16", "bfloat16"))
    fast: bool = opt(False, help="Permit bfloat16.")
    threads: int = opt(1, help="Number of threads.", alias="--toy-workers")
    fault: str = opt("", help="What goes wrong.", choices=tuple(FAULTS))
    amount: float = opt(1.0, help="How wrong.")
    at: str = opt("", help="The tensor where it goes wrong.", metavar="NAME")
    fused: tuple[str, ...] = opt(
        (), help="Only while these tensors are computed in the same session and are no outputs.", metavar="NAME"
    )
    shown: tuple[str, ...] = opt((), help="Only while these tensors are outputs.", metavar="NAME")
    beside: tuple[str, ...] = opt((), help="Only while these tensors are computed in the same session.", metavar="NAME")
    hides: tuple[str, ...] = opt((), help="Tensors refused as outputs.", metavar="NAME")
    refuses: tuple[str, ...] = opt((), help="Types of operators that it cannot run.", metavar="OP")
    after: int = opt(0, help="Calls that go well before anything goes wrong.")
    seconds: float = opt(0.0, help="What one call claims to take.")


@dataclass(frozen=True)
class ShutOptions:
    """How a toy that nobody can look into goes wrong."""

    noise: str = opt("", help="The tensor with something random more.", metavar="NAME")


@dataclass(frozen=True)
class RampOptions:
    """How to make ramps."""

    count: int = opt(2, help="How many feeds.")
    step: float = opt(0.25, help="Distance of neighbours.")

    def __post_init__(self):
        if self.count < 0:
            raise ValueError("count must not be negative")


@dataclass(frozen=True)
class EdgesOptions:
    """How to make edges."""

    values: tuple[float, ...] = opt((1.0, 2.0), help="The numbers.")


@dataclass(frozen=True)
class GapOptions:
    """How to compare by the largest difference."""

    allowed: float = opt(0.0, help="The largest difference that passes.")
    sort: str = opt("largest", help="Which difference counts.", choices=("largest", "last"))


@dataclass(frozen=True)
class SignsOptions:
    """How to compare signs."""

    allowed: int = opt(0, help="How many signs may differ.")


@hookimpl
def polycmp_loaders():
    yield LoaderSpec(
        name="toy",
        summary="Models as JSON",
        factory="toybox.loader:make_loader",
        options=LoaderOptions,
        suffixes=(".toy",),
        consumes=("packed",),
        tools="toybox.plugin:ToyTools",
    )
    yield LoaderSpec(
        name="pack",
        summary="Models as compressed JSON",
        factory="toybox.loader:make_packed",
        suffixes=(".packed",),
        consumes=("toy",),
        produces="packed",
        tools="toybox.plugin:PackTools",
    )


class ToyTools(LoaderTools):
    """All that toys can."""

    graph_modules = ("toybox.graph",)

    def describe(self, source, options):
        from toybox.loader import describe

        return describe(source, options)

    def inspect(self, loader, show):
        from toybox.loader import inspect

        return inspect(loader, show)

    def save(self, loader, path):
        from toybox.loader import save

        save(loader, path)

    def graph(self, loader):
        from toybox.graph import open_graph

        return open_graph(loader)


class PackTools(LoaderTools):
    """Writing."""

    def save(self, loader, path):
        from toybox.loader import save_packed

        save_packed(loader, path)


@hookimpl
def polycmp_runners():
    yield RunnerSpec(
        name="toy",
        summary="Toys on NumPy, with faults on demand",
        factory="toybox.runner:make_runner",
        options=RunnerOptions,
        accepts=("toy",),
        needs=("numpy",),
        tools="toybox.plugin:NumpyTools",
    )
    yield RunnerSpec(
        name="plain", summary="Toys on NumPy", factory="toybox.runner:make_plain", accepts=("toy",), needs=("numpy",)
    )
    yield RunnerSpec(
        name="shut",
        summary="Toys that nobody can look into",
        factory="toybox.runner:make_shut",
        options=ShutOptions,
        accepts=("toy",),
        tools="toybox.plugin:ShutTools",
    )
    yield RunnerSpec(
        name="packs", summary="Packed toys", factory="toybox.runner:make_packed", accepts=("packed",), needs=("numpy",)
    )
    yield RunnerSpec(
        name="needy",
        summary="Toys on a library that nobody has",
        factory="toybox.runner:make_plain",
        accepts=("toy",),
        needs=("a_library_that_nobody_has",),
    )


class NumpyTools(RunnerTools):
    """Several types and threads."""

    precise = (("dtype", "float64"),)
    narrows = (("dtype", ""), ("fast", "bfloat16"))
    threads = "threads"


class ShutTools(RunnerTools):
    """Whole models only."""

    runs_parts = False


@hookimpl
def polycmp_data_loaders():
    yield DataLoaderSpec("ramp", "Numbers that rise evenly", "toybox.data:make_ramp", RampOptions)
    yield DataLoaderSpec(
        "edges",
        "One number everywhere, in sizes of its own",
        "toybox.data:make_edges",
        EdgesOptions,
        tools="toybox.plugin:EdgesTools",
    )


class EdgesTools(DataLoaderTools):
    """Sizes and tolerances of their own."""

    synthetic = True
    sweeps_shapes = True
    compare_defaults = {"gap": {"allowed": 2.0}}
    compare_notes = {"gap": {"allowed": "gaps up to 2 are equal (--gap-allowed X changes that)"}}


@hookimpl
def polycmp_compare_funcs():
    yield CompareFuncSpec("signs", "Signs agree", "toybox.compare:make_signs", SignsOptions)
    yield CompareFuncSpec(
        "gap",
        "Largest difference",
        "toybox.compare:make_gap",
        GapOptions,
        tools="toybox.plugin:GapTools",
    )
    yield CompareFuncSpec("same", "Equal to the bit", "toybox.compare:Same", tools="toybox.plugin:SameTools")


class GapTools(CompareFuncTools):
    """All that compare functions can."""

    detail = True
    rejudges = True
    no_mean = (("sort", "last", "--gap-sort largest"),)
    groups = ("distance_metrics",)
    python = "toybox.compare:Gap"


class SameTools(CompareFuncTools):
    """A class for programs."""

    python = "toybox.compare:Same"


@hookimpl
def polycmp_commands():
    yield CommandSpec(("toy", "ops"), "Count the operators of a toy.", "toybox.cli:ops")


@hookimpl
def polycmp_formats():
    yield FormatSpec(".box", "Arrays in a box", reader="toybox.files:read", writer="toybox.files:BoxWriter")
