"""Options of the backend `trt`: the spellings people type, and what is refused before anything starts."""

from __future__ import annotations

import pytest

from polycmp.errors import UsageError
from polycmp.options import find_field, make_options, option_fields
from polycmp.plugins import Registry
from polycmp_trt.plugin import Options


def options(**texts: list[list[str]]) -> Options:
    """Options as the command line makes them: for each field, the texts of each use of its flag."""
    values = {}
    for key, occurrences in texts.items():
        field = find_field(Options, key)
        assert field is not None, key
        values[field.name] = field.convert(occurrences)
    made: Options = make_options(Options, values, "-b trt")
    return made


@pytest.mark.parametrize(
    "flag",
    [
        "--tf32",
        "--fp16",
        "--bf16",
        "--fp8",
        "--int8",
        "--fp32",
        "--precision-constraints",
        "--sparse-weights",
        "--version-compatible",
        "--exclude-lean-runtime",
        "--calibration-cache",
        "--calib-base-cls",
        "--calibration-base-class",
        "--quantile",
        "--regression-cutoff",
        "--load-timing-cache",
        "--save-timing-cache",
        "--timing-cache",
        "--error-on-timing-cache-miss",
        "--disable-compilation-cache",
        "--save-tactics",
        "--save-tactic-replay",
        "--load-tactics",
        "--load-tactic-replay",
        "--tactic-sources",
        "--trt-cpps",
        "--refittable",
        "--strip-plan",
        "--use-dla",
        "--allow-gpu-fallback",
        "--pool-limit",
        "--memory-pool-limit",
        "--workspace",
        "--preview-features",
        "--builder-optimization-level",
        "--hardware-compatibility-level",
        "--max-aux-streams",
        "--quantization-flags",
        "--profiling-verbosity",
        "--weight-streaming",
        "--runtime-platform",
        "--engine-capability",
        "--direct-io",
        "--tiling-optimization-level",
        "--plugins",
        "--onnx-flags",
        "--plugin-instancenorm",
        "--enable-uint8-asymmetric-quantization-dla",
        "--layer-precisions",
        "--decomposable-attentions",
        "--tensor-dtypes",
        "--tensor-datatypes",
        "--all-tensor-dtypes",
        "--all-tensor-datatypes",
        "--tensor-formats",
        "--all-tensor-formats",
        "--trt-npps",
        "--strongly-typed",
        "--mark-debug",
        "--mark-unfused-tensors-as-debug-tensors",
        "--save-engine",
        "--load-runtime",
        "--dla-workspace-allocation-strategy",
        "--optimization-profile",
        "--allocation-strategy",
        "--weight-streaming-budget",
    ],
)
def test_a_known_spelling_is_an_alias_of_one_field(flag: str) -> None:
    owners = [field.name for field in option_fields(Options) if flag in field.aliases]
    assert len(owners) == 1


@pytest.mark.parametrize(
    "field",
    [
        "min_shapes",
        "opt_shapes",
        "max_shapes",
        "outputs",
        "exclude_outputs",
        "outputs_by_type",
        "config_script",
        "config_postprocess_script",
        "network_postprocess_script",
        "safety_restricted",
    ],
)
def test_known_flags_with_trt_in_front_are_the_fields_themselves(field: str) -> None:
    assert find_field(Options, field) is not None


def test_every_option_has_help_that_ends_as_a_sentence() -> None:
    for field in option_fields(Options):
        assert field.help.endswith((".", ">.")) or field.hidden, field.name


def test_repeating_a_shape_option_starts_the_next_profile() -> None:
    made = options(
        min_shapes=[["X:[1,3,28,28]"], ["X:[1,3,28,28]"], ["X:[128,3,28,28]"]],
        max_shapes=[["X:[1,3,28,28]"], ["X:[32,3,28,28]"], ["X:[128,3,28,28]"]],
    )
    assert made.min_shapes == (("X:[1,3,28,28]",), ("X:[1,3,28,28]",), ("X:[128,3,28,28]",))


def test_sizes_have_units() -> None:
    made = options(pool_limit=[["workspace:4G", "dla_local_dram:1G"]])
    assert made.pool_limit == {"workspace": 4 << 30, "dla_local_dram": 1 << 30}
    assert options(workspace=[["1G"]]).workspace == 1 << 30


def test_no_tactic_sources_is_not_the_same_as_nothing_said() -> None:
    assert options().tactic_sources is None
    assert options(tactic_sources=[[]]).tactic_sources == ()
    assert options(tactic_sources=[["cublas", "cudnn"]]).tactic_sources == ("cublas", "cudnn")


@pytest.mark.parametrize("text", ["50%", "0%", "100%", "-1", "-2", "512M", "1048576"])
def test_weight_streaming_budgets(text: str) -> None:
    assert options(weight_streaming_budget=[[text]]).weight_streaming_budget == text


def test_formats_and_precisions_by_name() -> None:
    made = options(tensor_formats=[["x:[hwc,chw4]"]], layer_precisions=[["conv:1:float16"]])
    assert made.tensor_formats == {"x": "hwc,chw4"}
    assert made.layer_precisions == {"conv:1": "float16"}


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ({"weight_streaming_budget": [["150%"]]}, "0% to 100%"),
        ({"weight_streaming_budget": [["much"]]}, "not a size"),
        ({"min_shapes": [["[1,3]"]]}, "not NAME:SHAPE"),
        ({"min_shapes": [["x:[1,three]"]]}, "not a shape"),
        ({"pool_limit": [["4G"]]}, "POOL:SIZE"),
        ({"pool_limit": [["workspace:lots"]]}, "not a size"),
        ({"pool_limit": [["Workspace:1G"]], "workspace": [["1G"]]}, "twice"),
        ({"exclude_lean_runtime": [[]]}, "version_compatible"),
        ({"weight_streaming": [[]]}, "strongly_typed"),
        ({"save_tactics": [["a"]], "load_tactics": [["b"]]}, "exclude each other"),
        ({"precision_constraints": [["please"]]}, "prefer"),
        ({"allocation_strategy": [["dynamic"]]}, "static"),
        ({"optimization_profile": [["-1"]]}, "from 0"),
        ({"device": [["-1"]]}, "from 0"),
        ({"build_only": [["true"]], "cuda_graph": [["true"]]}, "nothing runs"),
        ({"mark_debug": [["t"]], "cuda_graph": [["true"]]}, "debug tensors exclude"),
        ({"quantile": [["2"]]}, "between 0 and 1"),
        ({"regression_cutoff": [["-1"]]}, "between 0 and 1"),
        ({"layer_precisions": [["float16"]]}, "LAYER:TYPE"),
        ({"tensor_dtypes": [["float16"]]}, "TENSOR:TYPE"),
        ({"tensor_formats": [["x:[]"]]}, "no format"),
        ({"builder_optimization_level": [["high"]]}, "whole number"),
    ],
)
def test_what_cannot_be_right_is_refused_before_anything_starts(texts: dict[str, list[list[str]]], reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        options(**texts)
    assert reason in str(caught.value)
    assert caught.value.exit_code == 2


def test_the_plugin_is_whole() -> None:
    registry = Registry.discover({"POLYCMP_PLUGINS": "trt"})
    (record,) = [item for item in registry.records if item.name == "trt"]
    assert record.state == "ok", record.reason
    assert {(item.kind, item.name) for item in record.contributions} == {
        ("runner", "trt"),
        ("loader", "engine"),
        ("loader", "trt_network"),
        ("loader", "onnx_like_trt_network"),
        ("command", "build"),
        ("command", "debug build"),
        ("command", "inspect tactics"),
        ("command", "inspect diff-tactics"),
        ("command", "inspect capability"),
        ("command", "template trt-config"),
        ("command", "template trt-network"),
    }
    assert not record.notes
