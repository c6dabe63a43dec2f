"""The hooks that a plugin may implement, each with a complete example, and the marker for implementing them."""

from __future__ import annotations

from collections.abc import Iterable

import pluggy

from polycmp.spec.descriptors import (
    CommandSpec,
    CompareFuncSpec,
    DataLoaderSpec,
    FormatSpec,
    LoaderSpec,
    ObserverSpec,
    PairingSpec,
    ReportSpec,
    RunnerSpec,
    ServiceSpec,
    ToleranceSpec,
)

ENTRY_POINT_GROUP = "polycmp"
hookspec: pluggy.HookspecMarker = pluggy.HookspecMarker(ENTRY_POINT_GROUP)
hookimpl: pluggy.HookimplMarker = pluggy.HookimplMarker(ENTRY_POINT_GROUP)


class Hooks:
    """The hooks of a plugin. None takes an argument; each returns or yields descriptors and does no work."""

    @hookspec
    def polycmp_runners(self) -> Iterable[RunnerSpec]:
        """Contribute backends.

        Example:
            A complete plugin module, `my_backend/plugin.py`::

                from dataclasses import dataclass
                from polycmp.spec import RunnerSpec, hookimpl, opt

                @dataclass(frozen=True)
                class Options:
                    threads: int = opt(1, help="Number of threads.")

                @hookimpl
                def polycmp_runners():
                    yield RunnerSpec(name="mine", summary="My runtime", factory="my_backend.runner:make_runner",
                                     options=Options, accepts=("onnx",), needs=("my_runtime",))

            and the heavy one, `my_backend/runner.py`::

                from polycmp.runner import Runner
                from polycmp.tensors import TensorMetadata

                class MyRunner(Runner):
                    def __init__(self, load, name=""):
                        super().__init__(name)
                        self._load = load
                    def activate_impl(self):
                        self._model = self._load()
                    def get_input_metadata_impl(self):
                        meta = TensorMetadata()
                        for value in self._model.graph.input:
                            meta.add(value.name, "float32", [d.dim_value or d.dim_param or -1
                                                             for d in value.type.tensor_type.shape.dim])
                        return meta
                    def infer_impl(self, feed_dict):
                        return {self._model.graph.output[0].name: sum(feed_dict.values())}
                    def deactivate_impl(self):
                        del self._model

                def make_runner(model, options, *, name):
                    return MyRunner(model.load("onnx"), name)
        """
        raise NotImplementedError

    @hookspec
    def polycmp_loaders(self) -> Iterable[LoaderSpec]:
        """Contribute ways to load models, or to convert one kind of model into another.

        Example:
            ::

                from polycmp.spec import LoaderSpec, hookimpl

                @hookimpl
                def polycmp_loaders():
                    yield LoaderSpec(name="mynet", summary="My format", factory="my_backend.load:make_loader",
                                     suffixes=(".mynet",), produces="mynet")

            with, in `my_backend/load.py`::

                from polycmp.loader import BytesFromPath

                def make_loader(source, options):
                    return BytesFromPath(source)
        """
        raise NotImplementedError

    @hookspec
    def polycmp_data_loaders(self) -> Iterable[DataLoaderSpec]:
        """Contribute sources of input data.

        Example:
            ::

                from polycmp.spec import DataLoaderSpec, hookimpl

                @hookimpl
                def polycmp_data_loaders():
                    yield DataLoaderSpec(name="zeros", summary="All zeros", factory="my_backend.data:make_zeros")

            with, in `my_backend/data.py`::

                import numpy as np

                def make_zeros(options):
                    def load(inputs):
                        yield {name: np.zeros(entry.static_shape(), entry.dtype) for name, entry in inputs.items()}
                    return load
        """
        raise NotImplementedError

    @hookspec
    def polycmp_compare_funcs(self) -> Iterable[CompareFuncSpec]:
        """Contribute ways to judge an output.

        Example:
            ::

                from polycmp.spec import CompareFuncSpec, hookimpl

                @hookimpl
                def polycmp_compare_funcs():
                    yield CompareFuncSpec(name="same_sign", summary="Signs agree", factory="my_backend.cmp:make")

            with, in `my_backend/cmp.py`::

                import numpy as np
                from polycmp.spec import Verdict

                def make(options):
                    def compare(candidate, reference, *, output):
                        wrong = int((np.sign(candidate) != np.sign(reference)).sum())
                        return Verdict(wrong == 0, f"{wrong} signs differ" if wrong else "", {"signs": wrong})
                    return compare
        """
        raise NotImplementedError

    @hookspec
    def polycmp_commands(self) -> Iterable[CommandSpec]:
        """Contribute commands.

        Example:
            ::

                from polycmp.spec import CommandSpec, hookimpl

                @hookimpl
                def polycmp_commands():
                    yield CommandSpec(("mine", "info"), "Show what my runtime can do.", "my_backend.cli:info")

            with, in `my_backend/cli.py`::

                import click
                from polycmp.terminal import echo  # shows what a name holds instead of obeying it

                @click.command()
                def info():
                    echo("everything")
        """
        raise NotImplementedError

    @hookspec
    def polycmp_reports(self) -> Iterable[ReportSpec]:
        """Contribute forms in which the results of all commands are written.

        Example:
            ::

                from polycmp.spec import ReportSpec, hookimpl

                @hookimpl
                def polycmp_reports():
                    yield ReportSpec(suffix=".csv", summary="A line per failure", factory="my_report.csv:write")

            with, in `my_report/csv.py`::

                import csv
                import io
                from polycmp.files import atomic_write, to_bytes
                from polycmp.report import Table

                def write(result, path):
                    text = io.StringIO()
                    lines = csv.writer(text)
                    lines.writerow([result.command, result.verdict, result.sentence])
                    for table in result.blocks(Table):
                        lines.writerows([table.title, row.name, row.reason] for row in table.failures)
                    with atomic_write(path) as file:
                        file.write(to_bytes(text.getvalue()))
        """
        raise NotImplementedError

    @hookspec
    def polycmp_formats(self) -> Iterable[FormatSpec]:
        """Contribute types of files for inputs and outputs.

        Example:
            ::

                from polycmp.spec import FormatSpec, hookimpl

                @hookimpl
                def polycmp_formats():
                    yield FormatSpec(".arr", "One array of one iteration", reader="my_files.arr:read",
                                     writer="my_files.arr:Writer")

            with, in `my_files/arr.py`::

                import numpy as np
                from polycmp.errors import FileError
                from polycmp.results import ARRAYS, IterationResult, Stored, StoredRun

                def read(path):
                    def iteration():
                        return IterationResult({"x": np.load(path, allow_pickle=False)}, None, path.stem)
                    return Stored(ARRAYS, [StoredRun(path.stem, [iteration])])

                class Writer:
                    def __init__(self, file, kind, path):
                        self.file, self.full = file, False
                    def add(self, label, arrays, runtime):
                        if self.full or len(arrays) != 1:
                            raise FileError("such a file holds one array of one iteration")
                        self.full = True
                        np.save(self.file, *arrays.values())
                    def finish(self):
                        pass
                    def discard(self):
                        pass
        """
        raise NotImplementedError

    @hookspec
    def polycmp_run_observers(self) -> Iterable[ObserverSpec]:
        """Contribute what takes part in runs: it changes outputs, watches them, or keeps what is found.

        Example:
            Watch the largest error of each output over the iterations, of outputs that are rounded to halves before
            they are compared::

                from polycmp.spec import ObserverSpec, hookimpl

                @hookimpl
                def polycmp_run_observers():
                    yield ObserverSpec("drift", "How the error grows", "drift.watch:observe", changes=True)

            with, in `drift/watch.py`::

                import os
                import numpy as np
                from polycmp.spec import RunObserver

                def observe(resolved):
                    return Drift() if os.environ.get("WATCH_DRIFT") and resolved.backends else None

                class Drift(RunObserver):
                    def start(self, outcome):
                        self.errors = {}
                    def transform(self, step):
                        return {label: {name: np.round(array * 2) / 2 for name, array in outputs.items()}
                                for label, outputs in step.outputs.items()}
                    def on_step(self, step):
                        for pair in step.pairs():
                            error = float(np.abs(pair.made - pair.expected).max())
                            self.errors.setdefault((pair.candidate, pair.output), []).append(error)
                    def finish(self, outcome):
                        for (label, output), errors in self.errors.items():
                            outcome.notes.append(f"{label}: error of {output} by iteration: {errors}")
        """
        raise NotImplementedError

    @hookspec
    def polycmp_tolerances(self) -> Iterable[ToleranceSpec]:
        """Contribute ways to find the tolerances of outputs.

        Example:
            A thousandth of the largest value of each output, for `--tolerance share`::

                from polycmp.spec import ToleranceSpec, hookimpl

                @hookimpl
                def polycmp_tolerances():
                    yield ToleranceSpec("share", "A share of the largest value", "share.judge:Share")

            with, in `share/judge.py`::

                import numpy as np
                from polycmp.spec import Verdict

                class Share:
                    def __init__(self, resolved, reference):
                        pass
                    def begin(self, feed, outputs=None):
                        pass
                    def close(self):
                        pass
                    def judge(self, options, candidate, reference, *, detail):
                        def compare(made, expected, *, output):
                            error, most = np.abs(made - expected).max(), 1e-3 * np.abs(expected).max()
                            return Verdict(bool(error <= most), f"{error:.2g} of {most:.2g} allowed")
                        return compare
        """
        raise NotImplementedError

    @hookspec
    def polycmp_pairings(self) -> Iterable[PairingSpec]:
        """Contribute ways to pair the tensors inside models that differ.

        Example:
            Files that have the same tensors by name::

                from polycmp.spec import PairingSpec, hookimpl

                @hookimpl
                def polycmp_pairings():
                    yield PairingSpec("by_name", "Tensors of one name", "names.pair:pair")

            with, in `names/pair.py`::

                from polycmp.layerwise import Paired

                def pair(runs, reference, given, command, moved):
                    if len({frozenset(run.graph.outputs) for run in runs}) > 1:
                        return None
                    return Paired(runs, ["tensors are paired by name"], lambda comparer: comparer)
        """
        raise NotImplementedError

    @hookspec
    def polycmp_services(self) -> Iterable[ServiceSpec]:
        """Contribute how a run does its work: a way through models, or processes of their own.

        Example:
            ::

                from polycmp.spec import ServiceSpec, hookimpl

                @hookimpl
                def polycmp_services():
                    yield ServiceSpec("workers", "Backends on a farm", "farm.workers:make_workers")

            with, in `farm/workers.py`::

                from farm.runner import FarmRunner

                def make_workers(data, timeout):
                    def make(backend, part, same_inputs):
                        return FarmRunner(backend.plan, backend.model, part, timeout)
                    return make
        """
        raise NotImplementedError


HOOKS: dict[str, type] = {
    "polycmp_runners": RunnerSpec,
    "polycmp_loaders": LoaderSpec,
    "polycmp_data_loaders": DataLoaderSpec,
    "polycmp_compare_funcs": CompareFuncSpec,
    "polycmp_commands": CommandSpec,
    "polycmp_reports": ReportSpec,
    "polycmp_formats": FormatSpec,
    "polycmp_run_observers": ObserverSpec,
    "polycmp_tolerances": ToleranceSpec,
    "polycmp_pairings": PairingSpec,
    "polycmp_services": ServiceSpec,
}
