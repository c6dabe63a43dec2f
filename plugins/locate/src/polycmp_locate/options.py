"""Core options that all commands of this package take."""

from __future__ import annotations

#: The model, its inputs, and where backends run.
MODEL_AND_INPUTS = (
    "model",
    "data.input_shapes",
    "data.data_loader",
    "data.data_loader_script",
    "data.data_loader_func_name",
    "data.load_inputs",
    "data.map_input",
    "run.use_subprocess",
    "run.timeout",
)

#: How outputs are judged: all that `run` knows, but `--tolerance auto`, which these commands measure themselves.
JUDGING = (
    "compare.compare",
    "compare.compare_func_script",
    "compare.reference",
    "compare.map_output",
    "compare.no_shape_check",
    "compare.postprocess",
    "compare.postprocess_func_script",
    "compare.validate",
    "compare.check_average",
    "compare.allow_blind",
)
