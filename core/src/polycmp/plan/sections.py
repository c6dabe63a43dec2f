"""The core's own options of `run`, declared like everybody's: one frozen dataclass per section of the help text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polycmp.plan.defaults import DEFAULT_COMPARE, DEFAULT_DATA_LOADER
from polycmp.spec import opt, parse_above_zero, parse_count, parse_size

REPORT_HELP = (
    "Write a report; the suffix chooses the format: .json, or one that a plugin writes (see polycmp plugins list)."
)
FORMAT_HELP = " to a .json file, a file in a format of a plugin (see polycmp plugins list), or a folder."


@dataclass(frozen=True)
class ModelSection:
    """Model."""

    model_type: str = opt("", help="Kind of model file, if its suffix does not say.", metavar="KIND")


@dataclass(frozen=True)
class DataSection:
    """Inputs."""

    input_shapes: tuple[str, ...] = opt(
        (),
        help="Shapes of dynamic inputs, or the values of a shape tensor; several shapes for one input are used in "
        "turn. DIMENSION=SIZE sets a named dimension in all inputs.",
        metavar="NAME:[D0,D1,…]",
        alias="--inputs",
    )
    data_loader: str = opt(DEFAULT_DATA_LOADER, help="Data loader that provides the inputs.", metavar="NAME")
    data_loader_script: str = opt(
        "",
        help="Python file with a function NAME (by default load_data) that returns or yields input feeds.",
        metavar="FILE.py[:NAME]",
    )
    data_loader_func_name: str = opt("", help="Function in --data-loader-script.", metavar="NAME", hidden=True)
    load_inputs: tuple[str, ...] = opt(
        (),
        help="Saved inputs to run on; several files or folders are used one after another.",
        alias="--load-input-data",
        metavar="PATH",
    )
    map_input: tuple[str, ...] = opt(
        (),
        help="Map an input name of the candidate, or of your files and scripts, to an input of the reference.",
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
        help="Warm-up calls per backend before the first iteration.",
        alias="--warm-up-runs",
        metavar="N",
        parse=parse_count,
    )
    sequential_runners: bool = opt(
        False,
        help="Finish one backend before starting the next: fewer models in memory at once, but outputs are "
        "kept until the end.",
    )
    use_subprocess: bool = opt(
        False, help="Run each backend in its own process, so that a crash is reported as a result."
    )
    timeout: float = opt(
        0.0,
        help="Seconds after which a backend in its own process is considered hung.",
        metavar="SECONDS",
        parse=parse_above_zero,
    )
    max_memory: int = opt(
        0,
        help="Memory to use, besides the models' weights, for comparing tensors inside a model, for example 500M. "
        "The default is small, because more is not faster.",
        metavar="BYTES",
        parse=parse_size,
    )


@dataclass(frozen=True)
class CompareSection:
    """Comparing."""

    compare: tuple[str, ...] = opt(
        (DEFAULT_COMPARE,),
        help="Compare functions; an output passes if it passes all of them.",
        alias="--compare-func",
        metavar="NAME",
    )
    compare_func_script: str = opt(
        "",
        help="Python file with a function NAME (by default compare_outputs) that compares; replaces --compare.",
        metavar="FILE.py[:NAME]",
    )
    tolerance: str = opt(
        "",
        help="auto: judge by the measured rounding error of each output, as where no tolerance is given. A file: by "
        "the tolerances that polycmp calibrate wrote into it.",
        metavar="NAME|FILE",
    )
    reference: str = opt(
        "",
        help="Label of the run to compare the others with, or its backend if that runs once; by default the last run.",
        metavar="LABEL",
    )
    map_output: tuple[str, ...] = opt(
        (),
        help="Compare a candidate's output with a differently named output of the reference.",
        metavar="CANDIDATE=REFERENCE",
    )
    no_shape_check: bool = opt(
        False, help="Compare outputs of different shapes if one can be reshaped to the other without loss."
    )
    postprocess: Mapping[str, str] = opt(
        {},
        help="Replace outputs with the indices of their K largest values before comparing.",
        alias="--postprocess-func",
        metavar="[NAME:]top-K[,axis=N]",
    )
    postprocess_func_script: str = opt(
        "",
        help="Python file with a function NAME (by default postprocess_outputs) that changes the outputs before "
        "they are compared.",
        metavar="FILE.py[:NAME]",
    )
    validate: bool = opt(False, help="Fail on NaN or infinity in any output.")
    fail_fast: bool = opt(False, help="Stop at the first failure.")
    check_average: bool = opt(
        False, help="Judge the mean of each metric over all iterations instead of every single iteration."
    )
    allow_blind: tuple[str, ...] = opt(
        (),
        help="Outputs, by name or pattern, that pass even if nothing could have differed (BLIND); all of them if "
        "none is named.",
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
        (),
        help="Saved outputs to compare as well; they come after the backends, so the last one is the reference.",
        alias="--load-results",
        metavar="PATH",
    )
    config: str = opt(
        "",
        help="Read options from a run file; options on the command line take precedence.",
        metavar="FILE.toml",
        executes=True,
    )
    write_config: str = opt("", help="Write the run file that repeats this run.", metavar="FILE.toml", writes=True)


@dataclass(frozen=True)
class LogSection:
    """Logging."""

    verbosity: tuple[str, ...] = opt(
        (), help="Log level, for everything or for one module.", metavar="LEVEL|MODULE:LEVEL"
    )
    silent: bool = opt(False, help="Show no messages and no progress.")
    log_format: tuple[str, ...] = opt(
        (), help="Details to show with each message.", choices=("timestamp", "line-info", "no-colors")
    )
    log_file: str = opt("", help="Also write messages and printed output to this file.", metavar="FILE", writes=True)


SECTIONS: dict[str, type] = {
    "model": ModelSection,
    "data": DataSection,
    "run": RunSection,
    "compare": CompareSection,
    "result": ResultSection,
    "log": LogSection,
}
