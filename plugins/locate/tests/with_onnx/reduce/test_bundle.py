"""`polycmp debug bundle`: a case without anything of the user's in it that shows the same fault."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import faulty_models
import ml_dtypes
import numpy as np
import onnx
import pytest
from copied_processes import copy_children
from in_process import plugins_installed
from onnx import helper, numpy_helper

from polycmp.cli.main import run as run_command
from polycmp.messages import restored_logging
from polycmp.results.files import open_inputs

ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
SECRET = "acme_secret"


def secret_model(path):
    """Convolutions whose names and texts tell whose they are."""
    rng = np.random.default_rng(0)
    nodes, weights, source = [], {}, f"{SECRET}/x"
    for number in range(1, 5):
        target, weight = f"{SECRET}/t{number}", f"{SECRET}.w{number}"
        weights[weight] = rng.normal(2, 3, (4, 4, 1, 1)).astype(np.float32)
        nodes.append(helper.make_node("Conv", [source, weight], [target], name=f"{SECRET}.n{number}"))
        source = target
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        SECRET,
        [value(f"{SECRET}/x", 1, ["n", 4, 8, 8])],
        [value(source, 1, None)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
        doc_string=SECRET,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9, doc_string=SECRET)
    model.metadata_props.add(key="author", value=SECRET)
    onnx.save(model, path)
    return path


def unpacked(path):
    with zipfile.ZipFile(path) as archive:
        archive.extractall("unpacked")
        return {Path(name).name: archive.read(name) for name in archive.namelist()}


def shown_by_a_process(folder):
    return subprocess.run(["sh", f"{folder}/run.sh"], env=ENVIRONMENT, check=False, capture_output=True).returncode


@pytest.fixture
def shown(shell):
    """Run the script of a case; return its exit status."""
    return lambda folder: shell(f"sh {folder}/run.sh", Path.cwd()).status


def fed(folder):
    """Return the only input of a case."""
    (feed,) = open_inputs([f"{folder}/inputs.npz"])
    (array,) = feed.values()
    return array


@pytest.fixture(scope="module")
def made_case(tmp_path_factory):
    """A folder with a case of a model full of secrets, made once; tests work in copies."""
    folder = tmp_path_factory.mktemp("secret")
    secret_model(folder / "model.onnx")
    fault = f"faulty:backend=onnxrt,fault=int32,at={SECRET}.n3"
    words = ["-b", fault, "-b", "onnxrt", "--atol", f"{SECRET}/t3:1e-3", "--save-repro", "case"]
    shapes = ["--input-shapes", f"{SECRET}/x:[2,4,8,8]"]
    with pytest.MonkeyPatch.context() as patch, restored_logging():
        patch.chdir(folder)
        copy_children(patch)
        assert run_command(["debug", "reduce", "model.onnx", *shapes, *words], plugins_installed()) == 0
        assert shown_by_a_process("case") == 1
    return folder / "case"


@pytest.fixture
def case(polycmp, made_case):
    """A copy of the case, in the folder where commands run."""
    return shutil.copytree(made_case, Path("case"))


def test_names_weights_and_inputs_are_replaced_and_the_fault_is_still_there(polycmp, shown, case, made_case):
    done = polycmp("debug", "bundle", "case", "-o", "posted/case.zip")
    assert done.status == 0, done.out + done.err
    files = unpacked("posted/case.zip")
    assert [name for name, content in files.items() if SECRET.encode() in content] == []
    assert shown("unpacked/case") == 1
    old, new = onnx.load("case/model.onnx"), onnx.load("unpacked/case/model.onnx")
    onnx.checker.check_model(new)
    assert [node.op_type for node in new.graph.node] == [node.op_type for node in old.graph.node]
    before, after = (numpy_helper.to_array(model.graph.initializer[0]) for model in (old, new))
    assert (before.shape, before.dtype) == (after.shape, after.dtype)
    assert not np.isin(after, before).all()
    assert before.min() <= after.min() <= after.max() <= before.max()
    one, other = (fed(folder) for folder in ("case", "unpacked/case"))
    assert one.shape == other.shape
    assert not np.array_equal(one, other)
    assert "weights: 1 replaced" in done.out
    # Versions are inside, and nothing of this machine.
    known = json.loads(files["environment.json"])
    assert known["packages"]["onnxruntime"]
    assert known["polycmp"]
    for folder in (Path.cwd(), made_case.parent):
        assert [name for name, content in files.items() if str(folder).encode() in content] == []


def test_what_the_fault_needs_is_kept(polycmp, tmp_path):
    """A weight whose fault is one special number among others: drawn anew, it is gone."""
    weight = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)
    weight[3, 3] = 12345.0
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="n")]
    faulty_models.save(tmp_path / "model.onnx", nodes, [2, 8], {"w": weight})
    Path("case").mkdir()
    os.replace("model.onnx", "case/model.onnx")
    script = "import struct, sys\nfile = open('model.onnx', 'rb').read()\n"
    Path("check.py").write_text(f"{script}sys.exit(5 if struct.pack('<f', 12345) in file else 0)\n")
    words = f"{sys.executable} {Path('check.py').absolute()} model.onnx"
    Path("case/run.sh").write_text(
        f'#!/bin/sh\n# Exit status 5: the fault is there.\ncd "$(dirname "$0")"\nexec {words}\n'
    )
    done = polycmp("debug", "bundle", "case")
    assert done.status == 0, done.out + done.err
    assert "weights: kept, since the fault needs them" in done.out
    assert "check.py: a file of yours" in done.out
    files = unpacked("case.zip")
    assert sorted(files) == ["README.md", "check.py", "environment.json", "model.onnx", "run.sh"]
    assert b'"n"' not in files["model.onnx"]
    assert str(tmp_path).encode() not in files["run.sh"]


def test_keeping_names(polycmp, shown, case):
    done = polycmp("debug", "bundle", "case", "--keep-names", "--keep-weights", "--keep-inputs")
    assert done.status == 0, done.out + done.err
    assert "names: kept\nweights: kept\ninputs: kept\n" in done.out
    unpacked("case.zip")
    assert onnx.load("unpacked/case/model.onnx").graph.node[0].name == f"{SECRET}.n3"
    assert shown("unpacked/case") == 1


def test_a_case_of_locate(polycmp, shown, tmp_path):
    secret_model(tmp_path / "model.onnx")
    fault = f"faulty:backend=onnxrt,fault=int32,at={SECRET}.n2"
    done = polycmp("locate", "model.onnx", "-b", fault, "-b", "onnxrt", "--save-repro", "case")
    assert done.status == 1, done.out + done.err
    done = polycmp("debug", "bundle", "case")
    assert done.status == 0, done.out + done.err
    files = unpacked("case.zip")
    assert [name for name, content in files.items() if SECRET.encode() in content] == []
    assert shown("unpacked/case") == 1


@pytest.mark.parametrize(
    ("prepare", "words", "status", "text"),
    [
        (lambda: None, ("nowhere",), 3, "holds no case"),
        (lambda: Path("case", "model.onnx").unlink(), ("case",), 3, "no ONNX model"),
        (lambda: Path("case", "expected.npz").unlink(), ("case",), 3, "does not show its fault here"),
        (lambda: None, ("case", "-o", "case.tar"), 2, "no zip file"),
    ],
)
def test_wrong_usage(polycmp, case, prepare, words, status, text):
    prepare()
    done = polycmp("debug", "bundle", *words)
    assert (done.status, text in done.err) == (status, True), done.out + done.err
    assert not list(Path().glob("*.zip"))


def test_functions_sub_graphs_and_metadata(tmp_path):
    """Every name in a model is replaced, and it computes what it did."""
    from onnx.reference import ReferenceEvaluator

    from polycmp_onnx import scrub_names

    text = f"""
    <ir_version: 10, opset_import: ["" : 18, "{SECRET}" : 1]>
    {SECRET}_main ({SECRET}_x[{SECRET}_n, 3] {SECRET}_x, bool {SECRET}_c) => (float[{SECRET}_n, 3] {SECRET}_y) {{
        {SECRET}_a = {SECRET}.Twice ({SECRET}_x)
        {SECRET}_y = If ({SECRET}_c) <
            then_branch = {SECRET}_g1 () => (float[{SECRET}_n, 3] {SECRET}_r) {{ {SECRET}_r = Neg ({SECRET}_a) }},
            else_branch = {SECRET}_g2 () => (float[{SECRET}_n, 3] {SECRET}_s) {{ {SECRET}_s = Abs ({SECRET}_a) }}
        >
    }}
    <domain: "{SECRET}", opset_import: ["" : 18]>
    Twice ({SECRET}_in) => ({SECRET}_out) {{ {SECRET}_out = Add ({SECRET}_in, {SECRET}_in) }}
    """.replace(f"{SECRET}_x[", "float[", 1)
    model = onnx.parser.parse_model(text)
    values = np.array([[1.0, -2.0, 3.0]], np.float32)
    for chosen in (True, False):
        fed = dict(zip([item.name for item in model.graph.input], [values, np.array(chosen)], strict=True))
        before = ReferenceEvaluator(model).run(None, fed)[0]
        scrubbed = onnx.ModelProto()
        scrubbed.CopyFrom(model)
        names = scrub_names(scrubbed)
        onnx.checker.check_model(scrubbed)
        fed = {names[name]: value for name, value in fed.items()}
        np.testing.assert_array_equal(ReferenceEvaluator(scrubbed).run(None, fed)[0], before)
        assert SECRET not in str(scrubbed)


def told(name):
    return f"{SECRET}_{name}"


def telling_model():
    """Return a model that tells whose it is in every field that can."""
    rng = np.random.default_rng(1)
    value = helper.make_tensor_value_info
    low = helper.make_tensor(told("int4"), onnx.TensorProto.INT4, [4, 16], rng.integers(-8, 7, 64).tolist())
    unsigned = helper.make_tensor(told("uint4"), onnx.TensorProto.UINT4, [4, 16], rng.integers(0, 15, 64).tolist())
    float8 = numpy_helper.from_array(rng.normal(0, 8, (4, 16)).astype(ml_dtypes.float8_e4m3fn), told("float8"))
    real = numpy_helper.from_array(rng.normal(0, 1, (4, 16)).astype(np.float32), told("real"))
    scale = numpy_helper.from_array(np.array(0.5, np.float32), told("scale"))
    sum_of = ["real"]
    nodes = []
    for name in ("int4", "uint4", "float8"):
        wide = told(f"{name}_wide")
        nodes.append(helper.make_node("DequantizeLinear", [told(name), told("scale")], [wide], told(f"dq_{name}")))
        sum_of.append(f"{name}_wide")
    floats = helper.make_node("Constant", [], [told("row")], value_floats=rng.normal(0, 1, 16).tolist())
    texts = helper.make_node("Constant", [], [told("texts")], value_strings=[told("text_a"), told("text_b")])
    text = helper.make_node("Constant", [], [told("text")], value_string=told("text_a"))
    strings = numpy_helper.from_array(np.array([told("text_b"), told("text_c")], object), told("strings"))
    nodes += [floats, texts, text, helper.make_node("Sum", [*map(told, sum_of), told("row")], [told("weight")])]
    nodes.append(helper.make_node("Equal", [told("texts"), told("strings")], [told("same")]))
    nodes.append(helper.make_node("Cast", [told("same")], [told("number")], to=1))
    nodes.append(helper.make_node("ReduceSum", [told("number")], [told("total")], keepdims=0))
    nodes.append(helper.make_node("MatMul", [told("x"), told("weight")], [told("m")], told("matmul")))
    call = helper.make_node("Scale", [told("m")], [told("called")], domain=SECRET, **{told("alpha"): 2.0})
    nodes += [call, helper.make_node("Add", [told("called"), told("total")], [told("y")])]
    graph = helper.make_graph(
        nodes, SECRET, [value(told("x"), 1, [told("n"), 4])], [value(told("y"), 1, [told("n"), 16])],
        [low, unsigned, float8, real, scale, strings],
    )  # fmt: skip
    graph.input[0].type.denotation = SECRET
    graph.input[0].type.tensor_type.shape.dim[0].denotation = SECRET
    body = [helper.make_node("Constant", [], ["k"]), helper.make_node("Mul", ["p", "k"], ["q"])]
    kind = onnx.AttributeProto.FLOAT
    body[0].attribute.append(onnx.AttributeProto(name="value_float", type=kind, ref_attr_name=told("alpha")))
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(SECRET, 1)]
    function = helper.make_function(SECRET, "Scale", ["p"], ["q"], body, opsets[:1], [told("alpha")])
    model = helper.make_model(graph, opset_imports=opsets, functions=[function], ir_version=10)
    model.producer_name, model.producer_version, model.domain = SECRET, f"{SECRET}_2", SECRET
    return model


def secrets_of(model):
    """Yield every name and text of a model, and the bytes of its weights, whole and in pieces of 16."""
    for word in set(re.findall(rf"{SECRET}\w*", str(model))):
        yield word.encode()
    tensors = [item for item in model.graph.initializer if item.data_type != onnx.TensorProto.STRING]
    contents = [item.raw_data or bytes(item.int32_data) for item in tensors if np.prod(item.dims) >= 8]
    contents += [np.array(item.floats, np.float32).tobytes() for node in model.graph.node for item in node.attribute]
    for content in filter(None, contents):
        yield content
        yield from (content[start : start + 16] for start in range(0, len(content) - 15, 16))


def test_nothing_of_the_model_is_in_the_zip(polycmp, shell, shown, tmp_path):
    model = telling_model()
    onnx.checker.check_model(model, full_check=True)
    Path("case").mkdir()
    onnx.save(model, "case/model.onnx")
    x = np.random.default_rng(2).normal(0, 1, (3, 4)).astype(np.float32)
    np.savez("case/inputs.npz", **{told("x"): x})
    spec = f"onnxrt:name={told('reference')}"
    remake = f"polycmp run model.onnx -b {spec} --load-inputs inputs.npz --save-outputs expected.npz"
    words = f"-b faulty:name={told('candidate')},backend=onnxrt,fault=saturate,at={told('y')}"
    words = f"{words} --load-inputs inputs.npz --load-outputs expected.npz --reference {told('reference')}"
    Path("case/run.sh").write_text(
        f"#!/bin/sh\n# Exit status 1: the fault is there.\n# expected.npz is what this makes: {remake}\n"
        f'cd "$(dirname "$0")" || exit 3\nexec polycmp run model.onnx {words}\n'
    )
    made = shell(remake, Path("case"))
    assert made.status == 0, made.out + made.err
    assert shown("case") == 1
    done = polycmp("debug", "bundle", "case")
    assert done.status == 0, done.out + done.err
    assert "names: " in done.out and "kept" not in done.out and "left as it is" not in done.out
    assert "3 texts" in done.out
    files = unpacked("case.zip")
    for name in [name for name in files if name.endswith(".npz")]:
        with zipfile.ZipFile(Path("unpacked/case", name)) as inner:
            files |= {f"{name}/{item}": inner.read(item) for item in inner.namelist()}
    named = b" ".join(f"{name}".encode() for name in files)
    found = [secret for secret in secrets_of(model) if any(secret in content for content in (*files.values(), named))]
    assert found == []
    assert not any(SECRET.encode() in content for content in (*files.values(), named))
    assert not any(x.tobytes()[:16] in content for content in files.values())
    onnx.checker.check_model(onnx.load("unpacked/case/model.onnx"), full_check=True)


def test_what_stays_of_a_model_is_named():
    from polycmp_onnx import left_as_it_is

    positions = numpy_helper.from_array(np.arange(10), "positions")
    node = helper.make_node("Mine", ["positions"], ["y"], domain=SECRET, text="mine")
    graph = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("y", 1, None)], [positions])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(SECRET, 1)])
    weights, operator = left_as_it_is(model)
    assert weights == "1 weight of whole numbers, which may be sizes or positions"
    assert operator == f"the operator {SECRET}.Mine with its texts"
