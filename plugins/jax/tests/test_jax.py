"""What users see of the backend `jax`: files, scripts, options and errors."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from engine_models import operator, polycmp, printed
from onnx import TensorProto

jax = pytest.importorskip("jax", reason="needs JAX: make test-jax")
from jax import export  # noqa: E402
from jax import numpy as jnp  # noqa: E402

from polycmp.errors import BackendError, ModelError  # noqa: E402
from polycmp_jax import JaxFromFile, JaxRunner  # noqa: E402
from polycmp_jax.plugin import Options  # noqa: E402

SCRIPT = """
import jax.numpy as jnp
import numpy as np
from jax.nn import gelu, softmax

W = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)
SCALE = {scale}

def net(x):
    return softmax(gelu(x @ W)) * SCALE

def load_model():
    return net, [np.ones((2, 8), np.float32)]

def two(x, y):
    return {{"sum": x + y, "parts": (x, y)}}

def broken():
    raise RuntimeError("no weights today")

NUMBER = 3
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a script, its function as a program and one with another scale."""
    monkeypatch.chdir(tmp_path)
    example = jax.ShapeDtypeStruct((2, 8), jnp.float32)
    for name, scale in (("net", 1.0), ("other", 1.01)):
        (tmp_path / f"{name}.py").write_text(SCRIPT.format(scale=scale))
        space = {}
        exec(SCRIPT.format(scale=scale), space)
        write(tmp_path / f"{name}.jax", space["net"], example)
    return tmp_path


def write(path, function, *examples, **keywords):
    path.write_bytes(export.export(jax.jit(function))(*examples, **keywords).serialize())


def test_a_program_and_its_script_agree_and_another_scale_is_found(folder, capsys):
    script = ("--model-type", "jax")
    assert polycmp("run", "net.jax", "-b", "jax", "-b", "jax:name=again") == 0
    assert polycmp("run", "net.jax", "-b", "jax", "-b", "jax:model=other.jax") == 1
    assert polycmp("run", "net.py:load_model", *script, "-b", "jax", "-b", "jax:jit=false") == 0
    assert "PASSED" in printed(capsys)


def test_an_onnx_model_is_compared_with_the_function_that_it_was_exported_from(folder, capsys):
    jax2onnx = pytest.importorskip("jax2onnx")
    space = {}
    exec(SCRIPT.format(scale=1.0), space)
    onnx.save(jax2onnx.to_onnx(space["net"], [(2, 8)]), "net.onnx")
    assert polycmp("run", "net.onnx", "-b", "onnxrt", "-b", "jax:script=net.py:net") == 0
    assert polycmp("run", "net.onnx", "-b", "onnxrt", "-b", "jax:script=net.jax") == 0
    assert polycmp("run", "net.onnx", "-b", "onnxrt", "-b", "jax:script=other.py") == 1
    capsys.readouterr()
    assert polycmp("run", "net.onnx", "-b", "onnxrt", "-b", "jax:script=net.py:two") == 3
    assert "takes 2 arrays, the model has 1 inputs" in printed(capsys)


def test_an_onnx_model_alone_says_what_is_missing(folder, capsys):
    onnx.save(operator("Neg", TensorProto.FLOAT), "m.onnx")
    assert polycmp("run", "m.onnx", "-b", "jax", "--input-shapes", "x:[2,3]") == 3
    assert "-b jax:script=FILE.py:NAME" in printed(capsys)


def test_names_are_the_places_of_arrays(folder):
    weights = {"w": jax.ShapeDtypeStruct((3,), jnp.float32)}
    example = jax.ShapeDtypeStruct((2, 3), jnp.int32)
    write(folder / "t.jax", lambda p, x, *, shift: {"a": p["w"] * x, "b": (x, shift)}, weights, example, shift=example)
    with JaxRunner(JaxFromFile("t.jax")) as runner:
        entries = runner.get_input_metadata()
        assert {name: (entry.dtype.name, entry.shape) for name, entry in entries.items()} == {
            "input_0.w": ("float32", (3,)), "input_1": ("int32", (2, 3)), "shift": ("int32", (2, 3))
        }  # fmt: skip
        feed = {
            "input_0.w": np.float32([1, 2, 3]),
            "input_1": np.ones((2, 3), np.int32),
            "shift": np.zeros((2, 3), np.int32),
        }
        outputs = runner.infer(feed)
    assert list(outputs) == ["a", "b.0", "b.1"] and outputs["a"].tolist() == [[1, 2, 3]] * 2


def test_programs_of_64_bits_stay_so_and_functions_where_asked(folder):
    jax.config.update("jax_enable_x64", True)
    try:
        write(folder / "wide.jax", lambda x: x / 3, jax.ShapeDtypeStruct((2,), jnp.float64))
    finally:
        jax.config.update("jax_enable_x64", False)
    with JaxRunner(JaxFromFile("wide.jax")) as runner:
        assert runner.infer({"input_0": np.ones(2)})["output"].tolist() == [1 / 3] * 2
    (folder / "third.py").write_text("def third(x):\n    return x / 3\n")
    types = []
    for x64 in (False, True):
        from polycmp_jax import JaxFromScript

        with JaxRunner(JaxFromScript("third.py:third"), options=Options(x64=x64)) as runner:
            types.append((runner.infer({"x": np.ones(2)})["output"].dtype.name, runner.notes))
    assert types == [("float32", ["JAX takes inputs of 64 bits as ones of 32 unless x64 is given"]), ("float64", [])]


def test_bfloat16_goes_in_and_comes_out(folder):
    write(folder / "half.jax", lambda x: x * 2, jax.ShapeDtypeStruct((2,), jnp.bfloat16))
    with JaxRunner(JaxFromFile("half.jax")) as runner:
        result = runner.infer({"input_0": np.ones(2, jnp.bfloat16)})["output"]
    assert result.dtype == jnp.bfloat16 and result.tolist() == [2, 2]


def test_options_of_xla_reach_the_compiler(folder, capsys):
    chosen = "jax:compiler_options=[xla_cpu_enable_fast_math:true]"
    assert polycmp("run", "net.jax", "-b", chosen, "-b", "jax") == 0
    assert polycmp("run", "net.jax", "-b", "jax:compiler_options=[nonsense:true]") == 3
    assert "No such compile option: 'nonsense'" in printed(capsys)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["net.jax", "-b", "jax:device=gpu"], "JAX has no device 'gpu' here"),
        (["net.jax", "-b", "jax:jit=false"], "an exported program runs as it was compiled"),
        (["net.py:NUMBER", "--model-type", "jax", "-b", "jax"], "NUMBER in net.py gives int, not a function"),
        (["net.py:broken", "--model-type", "jax", "-b", "jax"], "no weights today"),
        (["bare.stablehlo", "-b", "jax"], "is StableHLO alone"),
        (["text.stablehlo", "-b", "jax"], "is StableHLO alone"),
        (["none.jax", "-b", "jax"], "is no program of jax.export"),
        (["tpu.jax", "-b", "jax"], "exported for platforms '('tpu',)'"),
    ],
)
def test_what_cannot_run_is_an_error_in_words(folder, capsys, words, what):
    example = jax.ShapeDtypeStruct((2, 8), jnp.float32)
    program = export.export(jax.jit(jnp.sin))(example)
    (folder / "bare.stablehlo").write_bytes(program.mlir_module_serialized)
    (folder / "text.stablehlo").write_text("module @jit_f {}")
    (folder / "none.jax").write_bytes(b"no program at all, whatever its suffix says of it")
    (folder / "tpu.jax").write_bytes(export.export(jax.jit(jnp.sin), platforms=["tpu"])(example).serialize())
    assert polycmp("run", *words) == 3
    text = printed(capsys)
    assert what in text and "Traceback" not in text


def test_sizes_that_do_not_fit_are_an_error_in_words(folder):
    with JaxRunner(JaxFromFile("net.jax")) as runner, pytest.raises(BackendError, match="the function failed"):
        runner.infer({"input_0": np.ones((2, 7), np.float32)}, check_inputs=False)


def test_a_missing_file_is_an_error_with_the_next_command():
    with pytest.raises(ModelError) as caught:
        JaxFromFile("nowhere/net.jax")()
    assert "ls -l nowhere" in caught.value.hint


def test_a_program_is_shown_as_text(folder, capsys):
    assert polycmp("inspect", "model", "net.jax") == 0
    text = printed(capsys)
    assert "input_0" in text and "stablehlo.dot_general" in text


def logarithm_of_exponential(x):
    return jnp.log(jnp.exp(x))


@pytest.mark.parametrize(
    ("function", "x", "options", "is_told"),
    [
        (logarithm_of_exponential, [1, 89, 100], {"jit": False}, True),
        (logarithm_of_exponential, [1, 89, 100], {}, False),
        (lambda x: jnp.sqrt(x * x) / 3, [1e30, 2], {"jit": False}, True),
        (jnp.log, [0, 1], {"jit": False}, False),
        (lambda x: jnp.exp(x * jnp.nan), [0, 1], {"jit": False}, False),
        (logarithm_of_exponential, [1, np.inf], {"jit": False}, False),
        (logarithm_of_exponential, [1, 89], {"jit": False, "x64": True}, False),
    ],
)
def test_numbers_beyond_float32_inside_are_told(function, x, options, is_told):
    """jax#38099: log of exp of 89 is infinite, and 89 where XLA leaves both out; what float64 makes tells which."""
    from polycmp.tensors import TensorMetadata
    from polycmp_jax.model import JaxModel

    model = JaxModel(function, TensorMetadata().add("x", np.float32, (len(x),)))
    with JaxRunner(lambda: model, options=Options(**options)) as runner:
        runner.infer({"x": np.array(x, np.float32)})
        told = [note for note in runner.notes if "float64" in note]
    assert bool(told) == is_told
    assert all("a number inside is beyond float32" in note for note in told)
