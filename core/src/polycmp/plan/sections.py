"""The core's own options of `run`, declared like everybody's: one frozen dataclass per section of the help text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polycmp.plan.defaults import DEFAULT_COMPARE, DEFAULT_DATA_LOADER
from polycmp.spec import opt, parse_above_zero, parse_count, parse_size

REPORT_HELP = "Write a report in the format of the suffix: .json, or one that plugins write (polycmp plugins list)."
FORMAT_HELP = ": .json, a file format of a plugin (polycmp plugins list), or a folder."


@dataclass(frozen=True)
class ModelSection:
    """Model."""

    model_type: str = opt("", help="Kind of the model file, where its suffix does not tell.", metavar="KIND")


@dataclass(frozen=True)
class DataSection:
    """Inputs."""

    input_shapes: tuple[str, ...] = opt(
        (),
        help="Shapes of dynamic inputs, or the values of a shape tensor; several shapes of one input take turns. "
        "DIMENSION=SIZE sets a named dimension of all inputs.",
        metavar="NAME:[D0,D1,…]",
        alias="--inputs",
    )
    data_loader: str = opt(DEFAULT_DATA_LOADER, help="Data loader that makes the inputs.", metavar="NAME")
    data_loader_script: str = opt(
        "", help="Python file whose function NAME (load_data) returns or yields feeds.", metavar="FILE.py[:NAME]"
    )
    data_loader_func_name: str = opt("", help="Function in --data-loader-script.", metavar="NAME", hidden=True)
    load_inputs: tuple[str, ...] = opt(
        (), help="Saved inputs to run on, one file or folder after another.", alias="--load-input-data", metavar="PATH"
    )
    map_input: tuple[str, ...] = opt(
        (),
        help="Two names of one input: the candidate's, or the one in files and scripts, and the reference's.",
        metavar="NAME=REFERENCE",
    )
    save_inputs: str = opt(
        "",
        help=f"Save the inputs{FORMAT_HELP}",
        alias="--save-input-data",
        metavar="PATH",
        writes=True,
    )
    save_input_blob: str | None = opt(
        None,
        help="Dump the raw bytes of each input into this folder, one subfolder per iteration.",
        metavar="[DIR]",
        bare=".",
        writes=True,
    )


@dataclass(frozen=True)
class RunSection:
    """Running."""

    warm_up: int = opt(
        0,
        help="Calls per backend before the first iteration that counts.",
        alias="--warm-up-runs",
        metavar="N",
        parse=parse_count,
    )
    sequential_runners: bool = opt(
        False, help="Run one backend to its end before the next starts: less memory at a time, but more in all."
    )
    use_subprocess: bool = opt(False, help="Run every backend in a process of its own, so that a crash is a result.")
    timeout: float = opt(
        0.0,
        help="Seconds after which a backend in its own process counts as hung.",
        metavar="SECONDS",
        parse=parse_above_zero,
    )
    max_memory: int = opt(
        0,
        help="Memory that the process may take beside the models' weights when tensors inside a model are compared, "
        "for example 500M; by default little, since more is no faster.",
        metavar="BYTES",
        parse=parse_size,
    )


@dataclass(frozen=True)
class CompareSection:
    """Comparing."""

    compare: tuple[str, ...] = opt(
        (DEFAULT_COMPARE,),
        help="Compare functions; an output passes if all of them agree.",
        alias="--compare-func",
        metavar="NAME",
    )
    compare_func_script: str = opt(
        "",
        help="Python file whose function NAME (compare_outputs) compares; replaces --compare.",
        metavar="FILE.py[:NAME]",
    )
    tolerance: str = opt(
        "",
        help="auto: judge by the measured rounding error of the outputs instead of by --atol and --rtol.",
        metavar="NAME",
    )
    reference: str = opt(
        "", help="Label of the run that the others are compared with; by default the last one.", metavar="LABEL"
    )
    map_output: tuple[str, ...] = opt(
        (),
        help="Compare a candidate's output with one of another name in the reference.",
        metavar="CANDIDATE=REFERENCE",
    )
    no_shape_check: bool = opt(False, help="Compare outputs of different shapes where reshaping loses nothing.")
    postprocess: Mapping[str, str] = opt(
        {},
        help="Replace outputs by the indices of their K largest values before comparing.",
        alias="--postprocess-func",
        metavar="[NAME:]top-K[,axis=N]",
    )
    postprocess_func_script: str = opt(
        "",
        help="Python file whose function NAME (postprocess_outputs) changes the outputs before comparing.",
        metavar="FILE.py[:NAME]",
    )
    validate: bool = opt(False, help="Fail on NaN or infinity in any output.")
    fail_fast: bool = opt(False, help="Stop at the first failure.")
    check_average: bool = opt(
        False, help="Judge the mean of each metric over the iterations instead of each iteration."
    )
    allow_blind: tuple[str, ...] = opt(
        (),
        help="Let these outputs pass although nothing could have differed (BLIND), by name or pattern; all if none is "
        "named.",
        metavar="[OUTPUT]",
        bare="*",
    )


@dataclass(frozen=True)
class ResultSection:
    """Results."""

    report: tuple[str, ...] = opt((), help=REPORT_HELP, metavar="FILE", writes=True)
    save_outputs: str = opt(
        "",
        help=f"Save the outputs{FORMAT_HELP}",
        alias="--save-results",
        metavar="PATH",
        writes=True,
    )
    load_outputs: tuple[str, ...] = opt(
        (), help="Saved outputs to compare, after the backends.", alias="--load-results", metavar="PATH"
    )
    config: str = opt("", help="Read options from a run file; the command line wins.", metavar="FILE.toml")
    write_config: str = opt("", help="Write the run file that repeats this run.", metavar="FILE.toml", writes=True)


@dataclass(frozen=True)
class LogSection:
    """Logging."""

    verbosity: tuple[str, ...] = opt(
        (), help="Level of messages, for all or for one module.", metavar="LEVEL|MODULE:LEVEL"
    )
    silent: bool = opt(False, help="Show no messages and no progress.")
    log_format: tuple[str, ...] = opt(
        (), help="Content of each message.", choices=("timestamp", "line-info", "no-colors")
    )
    log_file: str = opt("", help="Write messages and printed output to this file, too.", metavar="FILE", writes=True)


SECTIONS: dict[str, type] = {
    "model": ModelSection,
    "data": DataSection,
    "run": RunSection,
    "compare": CompareSection,
    "result": ResultSection,
    "log": LogSection,
}
