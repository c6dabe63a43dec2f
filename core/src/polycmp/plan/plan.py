"""The declarative description of one run: what to run, on what data, how to compare, what to write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from polycmp.plan.defaults import DEFAULT_COMPARE, DEFAULT_DATA_LOADER


@dataclass(frozen=True)
class BackendPlan:
    """One backend instance.

    Attributes:
        label: Label of the instance in reports.
        backend: The backend's name.
        options: An instance of its options dataclass, or None if it has none.
        model: Model file of this instance; empty means the plan's.
        python: The interpreter of the environment it runs in, `ssh://USER@HOST[/INTERPRETER]` on another machine; empty
            means this one.
        version: The release of its runtime, in an environment that has it; empty for the one that is installed.
        texts: Options as typed, for a backend that only that other environment has.
    """

    label: str
    backend: str
    options: Any = None
    model: str = ""
    python: str = ""
    version: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_remote(self) -> bool:
        """Whether it runs on another machine."""
        return "://" in self.python

    @property
    def elsewhere(self) -> str:
        """The key and value that put it into another environment; empty where it runs in this one."""
        return f"python={self.python}" if self.python else f"version={self.version}" if self.version else ""


@dataclass(frozen=True)
class Choice:
    """A data loader or compare function chosen by name, with its options.

    Attributes:
        name: The contribution's name.
        options: An instance of its options dataclass, or None if it has none.
    """

    name: str
    options: Any = None


@dataclass(frozen=True)
class DataPlan:
    """Source of the inputs: files if there are any, else a script, else a data loader.

    Attributes:
        loader: The data loader.
        script: `FILE.py[:NAME]` of a data loader script.
        files: Files or folders of saved inputs, one after another.
        map_input: Names in files, from a script or of a candidate to the reference's names, where they differ.
        input_shapes: Shapes for dynamic inputs, by name or pattern; for a shape tensor its values.
        further_shapes: More of these; iterations take them in turn, beginning with `input_shapes`.
        dimensions: Sizes by name of dimension, for all inputs that declare it.
        followers: An options instance per data loader that goes on from these inputs and was given any options.
    """

    loader: Choice = Choice(DEFAULT_DATA_LOADER)
    script: str = ""
    files: tuple[str, ...] = ()
    map_input: Mapping[str, str] = field(default_factory=dict)
    input_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    further_shapes: tuple[Mapping[str, tuple[int, ...]], ...] = ()
    dimensions: Mapping[str, int] = field(default_factory=dict)
    followers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def iterations(self) -> int:
        """The number of the data loader's iterations; 0 where it is not known."""
        from_loader = not (self.files or self.script or self.followers)
        return int(getattr(self.loader.options, "iterations", 0)) if from_loader else 0


@dataclass(frozen=True)
class ComparePlan:
    """Choices for comparing outputs.

    Attributes:
        functions: The compare functions; an output passes if all of them do.
        script: `FILE.py[:NAME]` of a compare function; replaces `functions`.
        tolerance: Method that finds the tolerances of `simple`: `auto` by a measured noise floor, or a file with
            them; empty for its own.
        reference: Label of the reference, or a backend that runs once; empty means the last run.
        map_output: Candidate's output name to reference's.
        shape_check: Whether another shape is a failure (else shapes are made to fit where that loses nothing).
        postprocess: `--postprocess` values by output name, "" for all.
        postprocess_script: `FILE.py[:NAME]` of a function that changes outputs before they are compared.
        validate: Whether NaN and infinity in any output are failures of their own.
        fail_fast: Whether to stop at the first failure.
        check_average: Whether to judge the mean of each metric over the iterations.
        detail: Whether a report needs distributions.
        allow_blind: Names or patterns of outputs that may pass although nothing could have differed.
    """

    functions: tuple[Choice, ...] = (Choice(DEFAULT_COMPARE),)
    script: str = ""
    tolerance: str = ""
    reference: str = ""
    map_output: Mapping[str, str] = field(default_factory=dict)
    shape_check: bool = True
    postprocess: Mapping[str, str] = field(default_factory=dict)
    postprocess_script: str = ""
    validate: bool = False
    fail_fast: bool = False
    check_average: bool = False
    detail: bool = False
    allow_blind: tuple[str, ...] = ()


@dataclass(frozen=True)
class FilesPlan:
    """Files that are read and written besides the model.

    Attributes:
        save_inputs: File or folder that inputs are saved to; empty for none.
        save_outputs: File or folder that outputs are saved to; empty for none.
        save_input_blob: Folder for raw dumps of inputs; None means none.
        load_outputs: Saved runs to compare with.
        reports: Report files.
    """

    save_inputs: str = ""
    save_outputs: str = ""
    save_input_blob: str | None = None
    load_outputs: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """One run, from model to report. Immutable; equal plans mean equal runs.

    Attributes:
        model: The model file; may be empty if only saved runs are compared.
        model_kind: The model's kind, where its suffix does not tell.
        loader_options: An options instance per model loader.
        backends: The backends in the order given.
        data: The inputs.
        compare: The comparison.
        files: Files read and written.
        report_options: An options instance per report that was given any.
        observer_options: An options instance per observer that was given any.
        sequential: Whether one backend runs all iterations before the next is activated.
        warm_up: Calls before measuring, per backend.
        subprocess: Whether every backend runs in a worker process.
        timeout: Seconds after which a worker counts as hung; 0 means never.
        max_memory: Bytes that the process may take beside the models' weights while tensors inside a model are
            compared; 0 means a sane share of what is free.
        command: The command line as typed, for reports; no part of what makes plans equal.
    """

    model: str = ""
    model_kind: str = ""
    loader_options: Mapping[str, Any] = field(default_factory=dict)
    backends: tuple[BackendPlan, ...] = ()
    data: DataPlan = DataPlan()
    compare: ComparePlan = ComparePlan()
    files: FilesPlan = FilesPlan()
    report_options: Mapping[str, Any] = field(default_factory=dict)
    observer_options: Mapping[str, Any] = field(default_factory=dict)
    sequential: bool = False
    warm_up: int = 0
    subprocess: bool = False
    timeout: float = 0.0
    max_memory: int = 0
    command: str = field(default="", compare=False)
