"""Sessions: whose they are, how they print, and options that they take."""

from __future__ import annotations

import json
import os

import numpy as np
import onnx
import pytest
from onnxrt_models import FakeModel, double

from polycmp.errors import BackendError
from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx, session_from_onnx
from polycmp_onnxrt.plugin import Options
from polycmp_onnxrt.runner import make_runner


def test_default_threads_are_the_cores_of_the_affinity_mask():
    options = session_from_onnx(double()).get_session_options()
    assert options.intra_op_num_threads == len(os.sched_getaffinity(0))


def test_a_session_may_be_given_and_stays_the_callers():
    session = session_from_onnx(double())
    for _ in range(2):
        with OnnxrtRunner(session) as runner:
            assert runner.infer({"x": np.ones(1, np.float32)})["y"].tolist() == [2]
    assert session.run(None, {"x": np.ones(1, np.float32)})[0].tolist() == [2]


def test_loader_prints_as_the_code_that_makes_it():
    loader = SessionFromOnnx("m.onnx", providers=("cpu",), optimization="basic", threads=None)
    assert repr(loader) == "SessionFromOnnx('m.onnx', optimization='basic')"


def test_a_missing_operator_library():
    with pytest.raises(BackendError, match=r"cannot load the operator library nowhere\.so"):
        session_from_onnx(double(), op_libs=["nowhere.so"])


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
