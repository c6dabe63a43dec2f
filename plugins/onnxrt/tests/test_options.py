"""Options of the backend `onnxrt`, and what its messages look like."""

from __future__ import annotations

import json
import logging
import os
from types import SimpleNamespace

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper
from onnxrt_models import FLOAT, FakeModel, double, model, value

from polycmp.errors import BackendError, PluginError, UsageError
from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx, session_from_onnx
from polycmp_onnxrt.choices import KNOWN_PROVIDERS, matching_providers, parse_provider
from polycmp_onnxrt.optimizers import optimizers
from polycmp_onnxrt.plugin import OnnxrtTools, Options, polycmp_runners
from polycmp_onnxrt.provider_packages import devices_of
from polycmp_onnxrt.providers import resolve_providers
from polycmp_onnxrt.runner import make_runner

# --- options ---------------------------------------------------------------------------------------------------------


def test_the_plugin_describes_one_backend():
    (spec,) = polycmp_runners()
    assert (spec.name, spec.accepts, spec.needs) == ("onnxrt", ("onnx",), ("onnxruntime",))


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("cpu", "cpu", {}),
        ("CUDA[device_id=1]", "CUDA", {"device_id": "1"}),
        ("cuda[a=1;b=x=y]", "cuda", {"a": "1", "b": "x=y"}),
        ("cuda[a=1, b=2]", "cuda", {"a": "1", "b": "2"}),
        ("SomebodysExecutionProvider", "SomebodysExecutionProvider", {}),
    ],
)
def test_providers_as_typed(text, name, options):
    assert parse_provider(text) == (name, options)


@pytest.mark.parametrize(
    "wrong",
    [
        {"providers": ("cud4",)},
        {"providers": ("cuda[device_id]",)},
        {"providers": ("cuda[device_id=1",)},
        {"providers": ()},
        {"optimization": "most"},
        {"threads": 0},
        {"inter_threads": -1},
        {"config": {"": "1"}},
    ],
    ids=str,
)
def test_ill_formed_options_are_refused_before_anything_starts(wrong):
    with pytest.raises(ValueError, match=r".{10}"):
        Options(**wrong)


@pytest.mark.parametrize("level", ["all", "ALL", "ORT_ENABLE_ALL", onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL])
def test_levels_of_optimization(level):
    assert Options(optimization=level).optimization == "all"


def test_a_level_by_onnxruntimes_name_and_position():
    session = session_from_onnx(double(), ["cpu"], onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC)
    assert session.get_session_options().graph_optimization_level.name == "ORT_ENABLE_BASIC"
    with pytest.raises(UsageError, match="sideways"):
        SessionFromOnnx(double(), graph_optimization_level="sideways")


def test_names_of_providers():
    assert matching_providers("tensorrt", KNOWN_PROVIDERS) == ["TensorrtExecutionProvider"]
    assert matching_providers("CPUExecutionProvider", KNOWN_PROVIDERS) == ["CPUExecutionProvider"]
    assert len(matching_providers("rt", KNOWN_PROVIDERS)) > 1
    known = {name.lower() for name in KNOWN_PROVIDERS}
    assert [name for name in onnxruntime.get_all_providers() if name.lower() not in known] == []


def test_providers_are_chosen_among_those_available():
    here = ("TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider")
    wanted = ["cud[device_id=1]", ("CPU", {"x": 2})]
    expected = [("CUDAExecutionProvider", {"device_id": "1"}, ""), ("CPUExecutionProvider", {"x": "2"}, "")]
    assert resolve_providers(wanted, here) == expected
    with pytest.raises(UsageError, match="means any of"):
        resolve_providers(["c"], here)
    with pytest.raises(PluginError, match="no execution provider 'vitisai'") as caught:
        resolve_providers(["vitisai"], here)
    assert "CUDAExecutionProvider" in caught.value.why


def test_providers_come_in_packages_of_their_own(tmp_path, monkeypatch):
    """As ONNX Runtime's guide has them; what else is called like that is not asked, nor imported for another name."""
    package = (
        "def get_library_path():\n    return '/lib/{0}.so'\ndef get_ep_name():\n    return '{0}ExecutionProvider'\n"
    )
    (tmp_path / "onnxruntime_ep_nv_tensorrt_rtx.py").write_text(package.format("NvTensorRTRTX"))
    (tmp_path / "onnxruntime_ep_vitisai.py").write_text(package.format("VitisAI"))
    (tmp_path / "onnxruntime_vitisai_tools.py").write_text("")
    (tmp_path / "onnxruntime_broken.py").write_text("import nothing_of_this_name")
    monkeypatch.syspath_prepend(str(tmp_path))
    here = ("CPUExecutionProvider",)
    assert resolve_providers(["vitisai"], here) == [("VitisAIExecutionProvider", {}, "/lib/VitisAI.so")]
    # Once it is registered, ONNX Runtime lists it among its own.
    both = (*here, "NvTensorRTRTXExecutionProvider")
    chosen = resolve_providers(["NvTensorRTRTX"], both)
    assert chosen == [("NvTensorRTRTXExecutionProvider", {}, "/lib/NvTensorRTRTX.so")]
    with pytest.raises(PluginError, match="onnxruntime_broken cannot be imported"):
        resolve_providers(["brokenExecutionProvider"], here)


@pytest.mark.parametrize(
    ("runtime", "said"),
    [
        (SimpleNamespace(__version__="1.20.1"), "ONNX Runtime 1.20.1 takes no SomeExecutionProvider"),
        (
            SimpleNamespace(register_execution_provider_library=lambda *_: None, get_ep_devices=list),
            "SomeExecutionProvider finds no device",
        ),
    ],
)
def test_a_package_that_cannot_be_used_here_is_told(runtime, said):
    """As with releases that are too old to be installed beside it, and on processors of another vendor."""
    with pytest.raises(PluginError, match=said):
        devices_of(runtime, "SomeExecutionProvider", "/lib/some.so")


@pytest.mark.parametrize(
    ("providers", "kind"),
    [
        (["cpu"], ""),
        (["cuda"], "tf32"),
        (["cuda[use_tf32=0]"], ""),
        (["tensorrt[trt_fp16_enable=1;trt_int8_enable=True]", "cpu"], "int8"),
        (["tensorrt[trt_fp16_enable=false]"], ""),
        (["qnn[backend_type=htp]"], "float16"),
        (["qnn[enable_htp_fp16_precision=0;htp_bf16_enable=1]"], "bfloat16"),
        (["acme_ExecutionProvider"], ""),
    ],
)
def test_types_that_providers_may_calculate_in(providers, kind):
    assert OnnxrtTools().precision(FakeModel(None), Options(providers=tuple(providers))) == kind


def test_threads_do_not_spin_unless_asked_to():
    entry = "session.intra_op.allow_spinning"
    spins = [session_from_onnx(double(), config=config) for config in ({}, {entry: "1"})]
    assert [s.get_session_options().get_session_config_entry(entry) for s in spins] == ["0", "1"]


@pytest.mark.parametrize(("config", "shared"), [({}, "1"), ({"session.use_env_allocators": "0"}, "0")])
def test_sessions_share_an_arena_unless_told_otherwise(config, shared):
    options = session_from_onnx(double(), config=config).get_session_options()
    assert options.get_session_config_entry("session.use_env_allocators") == shared
    assert options.enable_mem_pattern is (shared == "0")


def test_a_session_configuration_entry_and_a_bad_one():
    session = session_from_onnx(double(), config={"session.disable_prepacking": "1"})
    assert session.get_session_options().get_session_config_entry("session.disable_prepacking") == "1"
    with pytest.raises(BackendError, match="refuses the configuration entry"):
        session_from_onnx(double(), config={"k" * 3000: "1"})


def test_profile_and_optimized_model_are_written(tmp_path):
    profile, optimized = tmp_path / "p.json", tmp_path / "o.onnx"
    options = Options(profile=str(profile), save_optimized=str(optimized), deterministic=True, inter_threads=2)
    with make_runner(FakeModel(double()), options, name="") as runner:
        runner.infer({"x": np.ones(1, np.float32)})
    assert any(event.get("args", {}).get("op_name") == "Add" for event in json.loads(profile.read_text()))
    assert list(tmp_path.glob("*.json")) == [profile]
    assert onnx.load(optimized).graph.output[0].name == "y"


def test_optimizers_can_be_left_out(tmp_path):
    """A constant expression stays in the model when its folding is left out."""
    constant = helper.make_tensor("w", FLOAT, [2], [1, 2])
    nodes = [helper.make_node("Add", ["w", "w"], ["v"]), helper.make_node("Add", ["x", "v"], ["y"])]
    made = model(nodes, [value("x", shape=(2,))], [value("y", shape=(2,))], initializer=[constant])
    kept = {}
    for names in ((), ("ConstantFolding",)):
        session_from_onnx(made, disable_optimizers=names, save_optimized=tmp_path / "o.onnx")
        kept[names] = len(onnx.load(tmp_path / "o.onnx").graph.node)
    assert kept == {(): 1, ("ConstantFolding",): 2}


def test_the_optimizers_that_change_a_model_are_read_from_the_log(capfd):
    """A model with nothing to fold has fewer; one that cannot be loaded may have any; nobody sees the log."""
    constant = helper.make_tensor("w", FLOAT, [2], [1, 2])
    folds = model(
        [helper.make_node("Add", ["w", "w"], ["v"]), helper.make_node("Add", ["x", "v"], ["y"])],
        [value("x", shape=(2,))], [value("y", shape=(2,))], initializer=[constant],
    )  # fmt: skip
    unknown = model([helper.make_node("Nothing", ["x"], ["y"])], [value("x", shape=(2,))], [value("y", shape=(2,))])
    found = {}
    for name, made in (("folds", folds), ("plain", double()), ("unknown", unknown)):
        found[name] = optimizers(FakeModel(made), None)
    assert "ConstantFolding" in found["folds"] and len(found["folds"]) < 40
    assert "ConstantFolding" not in found["plain"] and "NchwcTransformer" not in found["plain"]
    assert len(found["unknown"]) > 80
    assert capfd.readouterr() == ("", "")


def test_sessions_that_follow_each_other_reuse_their_memory():
    resource = pytest.importorskip("resource")
    numbers = np.ones(8 << 20, np.float32)

    # Pages that the system hands out while the last of three sessions runs; the first may have to ask for them.
    for _ in range(3):
        with OnnxrtRunner(SessionFromOnnx(double())) as runner:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            runner.infer({"x": numbers})
            faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    assert faults < numbers.nbytes // resource.getpagesize() / 10


# --- messages --------------------------------------------------------------------------------------------------------


def noisy():
    """A model about which ONNX Runtime has a warning: the declared shape is wrong."""
    node = helper.make_node("Concat", ["x", "x"], ["y"], axis=0)
    return model([node], [value("x")], [value("y", shape=(3,))])


def run_noisy():
    with OnnxrtRunner(SessionFromOnnx(noisy())) as runner:
        runner.infer({"x": np.ones(4, np.float32)})


@pytest.mark.parametrize("level", [logging.WARNING, logging.INFO])
def test_silent_by_default(capfd, caplog, level):
    caplog.set_level(level, logger="polycmp.onnxrt")
    run_noisy()
    captured = capfd.readouterr()
    assert (captured.out, captured.err, caplog.records) == ("", "", [])


@pytest.mark.parametrize(("level", "most"), [(logging.DEBUG, logging.DEBUG), (7, 7), (4, 4)])
def test_messages_go_through_logging_when_asked_for(capfd, caplog, level, most):
    caplog.set_level(level, logger="polycmp.onnxrt")
    run_noisy()
    assert any("shape" in record.message for record in caplog.records)
    assert min(record.levelno for record in caplog.records) == most
    assert "onnxruntime" not in capfd.readouterr().err


def test_other_peoples_text_is_passed_on_while_capturing(capfd, caplog):
    from polycmp_onnxrt.logs import captured

    caplog.set_level(logging.DEBUG, logger="polycmp.onnxrt")
    with captured():
        os.write(2, b"hello\n")
    assert "hello" in capfd.readouterr().err
    assert caplog.records == []
