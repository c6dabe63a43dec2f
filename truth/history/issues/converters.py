"""What converters made wrongly: of scikit-learn's models, and between versions of the operators."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import TensorProto, helper

from truth.build import Array, Graph
from truth.history.environments import Environment
from truth.history.issue import Answer, Case, Issue, case, onnxruntime, onnxscript

#: What converters of scikit-learn's models need.
_LEARN = ("scipy==1.10.1", "joblib==1.3.2", "threadpoolctl==3.2.0", "onnxconverter-common==1.13.0")
_SKLEARN = """
import numpy, skl2onnx
from sklearn.preprocessing import MinMaxScaler, OrdinalEncoder
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType
{model}
onnx_model = skl2onnx.to_onnx(model, initial_types=[("x", {kind}([None, {width}]))], target_opset=13)
import onnx
onnx.save(onnx_model, target)
"""
_HALF = """
import onnx
from onnxconverter_common import float16
onnx.save(float16.convert_float_to_float16(onnx.load(source), keep_io_types=True), target)
"""
_TRANSFORMERS = """
import onnx
from onnxruntime.transformers import optimizer
onnx.save(optimizer.optimize_model(source, model_type="bert", num_heads=2, hidden_size=8, opt_level=0).model, target)
"""
_PREPARE = """
from onnxruntime.quantization.shape_inference import quant_pre_process
quant_pre_process(source, target)
"""
_VERSION = """
import onnx
from onnx import version_converter
onnx.save(version_converter.convert_version(onnx.load(source), {opset}), target)
"""
_SCRIPT_VERSION = """
import onnx
from onnxscript import ir, version_converter
model = ir.serde.deserialize_model(onnx.load(source))
version_converter.convert_version(model, target_version=20)
onnx.save(ir.serde.serialize_model(model), target)
"""
_MERGE = """
import onnx
from onnx import compose, parser
first = parser.parse_model('''<ir_version: 8, opset_import: ["": 13]>
first (float[2,3] x) => (float[2,3] h) { h = Relu(x) }''')
second = parser.parse_model('''<ir_version: 8, opset_import: ["": 13]>
second (float[2,3] k, bool c) => (float[2,3] y) {
  r = If (c) <
    then_branch = then () => (float[2,3] p) { p = Neg(k) },
    else_branch = else () => (float[2,3] q) { q = Exp(k) }
  >
  two = Constant <value = float[1] {2.0}> ()
  y = Mul(r, two)
}''')
graph = compose.merge_graphs(first.graph, second.graph, io_map=[("h", "k")])
onnx.save(onnx.helper.make_model(graph, opset_imports=first.opset_import, ir_version=8), target)
"""
#: The source has the names that inputs and outputs have to get; it is renamed back first.
_PREFIX = """
import onnx
from onnx import compose
model = onnx.load(source)
for item in (*model.graph.input, *model.graph.output):
    item.name = item.name.removeprefix("a/")
for node in model.graph.node:
    node.name = node.name.removeprefix("a/")
    node.input[:] = [name.removeprefix("a/") for name in node.input]
    node.output[:] = [name.removeprefix("a/") for name in node.output]
onnx.save(compose.add_prefix(model, "a/"), target)
"""
_INLINE = """
import onnx, onnx.inliner
onnx.save(onnx.inliner.inline_local_functions(onnx.load(source)), target)
"""
_FOREST = """
import numpy, onnx, skl2onnx
from sklearn.ensemble import RandomForestClassifier
from skl2onnx.common.data_types import FloatTensorType
x = numpy.array([[0.0]] * 4 + [[1.0]] * 4)
y = numpy.array([[0, 0], [0, 1], [0, 1], [0, 1], [1, 0], [1, 1], [1, 0], [1, 1]])
forest = RandomForestClassifier(n_estimators=1, bootstrap=False, max_depth=1, random_state=0).fit(x, y)
types, options = [("x", FloatTensorType([None, 1]))], {id(forest): {"zipmap": False}}
made = skl2onnx.to_onnx(forest, initial_types=types, target_opset=13, options=options)
del made.graph.output[0]
onnx.save(made, target)
"""
_XGBOOST = """
import numpy, onnx, onnxmltools, xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
x = numpy.array([[0, 1], [0, 2], [1, 3], [1, 4]], numpy.float32)
y = numpy.array([10, 10, 20, 20], numpy.float32)
options = {"n_estimators": 1, "max_depth": 1, "learning_rate": 1, "reg_lambda": 0, "min_child_weight": 0}
model = xgboost.XGBRegressor(**options).fit(x, y)
types = [("x", FloatTensorType([None, 2]))]
onnx.save(onnxmltools.convert_xgboost(model, initial_types=types, target_opset=13), target)
"""


def _skl2onnx(version: str, onnx: str, learn: str) -> Environment:
    return Environment((f"skl2onnx=={version}", f"scikit-learn=={learn}", f"onnx=={onnx}", *_LEARN))


def _clipped_scale() -> Case:
    """What scikit-learn does with minima 0 and 0 and maxima 2 and 4."""
    g = Graph("clipped_scale", opset=13)
    x = g.input("x", np.array([[1, 1], [3, -2], [0.5, 5]], np.float32))
    g.node("Mul", [x, g.const("scale", [0.5, 0.25])], "s")
    g.node("Clip", ["s", g.const("low", 0.0), g.const("high", 1.0)], "variable")
    g.output("variable")
    return case(g, lambda feed: [np.clip(feed["x"] * [0.5, 0.25], 0, 1).astype(np.float32)])


def _unknown_category() -> Case:
    """What scikit-learn does with the categories 1, 3 and 7, and NaN for all others."""
    g = Graph("unknown_category", opset=13)
    x = g.input("x", np.array([[1], [2], [7], [3]], np.int64))
    attributes = {"keys_int64s": [1, 3, 7], "values_floats": [0.0, 1.0, 2.0], "default_float": float("nan")}
    g.node("LabelEncoder", [x], "variable", domain="ai.onnx.ml", **attributes)
    g.domains["ai.onnx.ml"] = 2
    g.output("variable")
    return case(g, lambda feed: [np.array([[0], [np.nan], [2], [1]], np.float32)])


def _onnxmltools(version: str) -> Environment:
    packages = (f"onnxmltools=={version}", "xgboost-cpu==2.1.1", "skl2onnx==1.16.0", "onnx==1.15.0")
    return Environment((*packages, "scikit-learn==1.2.2", *_LEARN))


def _onnx(version: str, numpy: str = "numpy>=2") -> Environment:
    return Environment((f"onnx=={version}",), "3.11", numpy)


def _halves() -> Case:
    g = Graph("halves", opset=13)
    g.node("Split", [g.input("x", g.normal(2, 6))], ["a", "b"], axis=1)
    g.node("Concat", ["b", "a"], "c", axis=1)
    g.node("Relu", ["c"], "y")
    g.output("y")
    return case(g)


def _half(version: str) -> Environment:
    return Environment((f"onnxconverter-common=={version}", "onnx==1.16.2"))


def _cast_through_bool() -> Case:
    g = Graph("cast_through_bool", opset=13)
    g.node("Cast", [g.input("x", np.array([0.5, 0, 2, -1], np.float32))], "i", to=TensorProto.BOOL)
    g.node("Relu", [g.node("Cast", ["i"], "f", to=TensorProto.FLOAT)], "y")
    g.output("y")
    return case(g)


def _branches() -> Case:
    g = Graph("branches", opset=13)
    g.input("x", g.normal(2, 3))
    branches = {
        name: helper.make_graph(
            [helper.make_node(op, ["x"], [made])],
            op,
            [],
            [helper.make_tensor_value_info(made, TensorProto.FLOAT, [2, 3])],
        )
        for name, op, made in (("then_branch", "Neg", "p"), ("else_branch", "Abs", "q"))
    }
    g.node("If", [g.input("c", np.array(False))], "r", **branches)
    g.node("Relu", ["r"], "y")
    g.output("y")
    return case(g)


def _smallest_in_branch() -> Case:
    """Min and Max are kept in float32, so that numbers are cast before and behind them, within the branches."""
    g = Graph("smallest_in_branch", opset=13)
    g.node("Relu", [g.input("x", g.normal(2, 3))], "h")
    branches = {}
    for which, op, made in (("then_branch", "Min", "p"), ("else_branch", "Max", "q")):
        turned = f"minus_{made}"
        nodes = [helper.make_node("Neg", ["h"], [turned], name=turned)]
        nodes += [helper.make_node(op, [turned, "h"], [made], name=made)]
        branches[which] = helper.make_graph(
            nodes, which, [], [helper.make_tensor_value_info(made, TensorProto.FLOAT, [2, 3])]
        )
    g.node("If", [g.input("c", np.array(True))], "r", **branches)
    g.node("Mul", ["r", g.const("two", [2.0])], "y")
    g.output("y")
    return case(g, lambda feed: [-2 * np.maximum(feed["x"], 0)])


def _merged() -> Case:
    """What merging two models has to make: the second has an If whose branches read what the first makes."""
    g = Graph("merged", opset=13)
    x, condition = g.input("x", g.normal(2, 3)), g.input("c", np.array(True))
    g.node("Relu", [x], "h")
    branches = {
        which: helper.make_graph(
            [helper.make_node(op, ["h"], [made])],
            which,
            [],
            [helper.make_tensor_value_info(made, TensorProto.FLOAT, [2, 3])],
        )
        for which, op, made in (("then_branch", "Neg", "p"), ("else_branch", "Exp", "q"))
    }
    g.node("If", [condition], "r", **branches)
    g.node("Mul", ["r", g.const("two", [2.0])], "y")
    g.output("y")
    return case(g, lambda feed: [-2 * np.maximum(feed["x"], 0)])


def _mean_of_columns() -> Case:
    g = Graph("mean_of_columns", opset=18)
    g.node("Sigmoid", [g.input("x", g.normal(2, 3, 4))], "s")
    g.node("Tanh", [g.node("ReduceMean", ["s", g.ints("axes", 1)], "r")], "y")
    g.output("y")
    return case(g)


def _transform() -> Case:
    g = Graph("transform", opset=19)
    g.node("DFT", [g.node("Tanh", [g.input("x", g.normal(2, 6, 4, 1))], "t")], "f", axis=1)
    g.node("Mul", ["f", g.const("half", [0.5])], "y")
    g.output("y")

    def right(feed: Mapping[str, Array]) -> list[Array]:
        made = np.fft.fft(np.tanh(feed["x"][..., 0].astype(np.float64)), axis=1) / 2
        return [np.stack([made.real, made.imag], -1).astype(np.float32)]

    return case(g, right)


def _forest() -> Case:
    """What a forest of one tree says of two targets: shares of the samples in its two leaves."""
    g = Graph("forest", opset=13)
    x = g.input("x", np.array([[0.0], [1.0], [0.2]], np.float32))
    g.node("Unsqueeze", [g.node("Greater", [x, g.const("threshold", [0.5])], "right"), g.ints("axes", 0)], "which")
    leaves = [g.const("one", [[[0.0, 1.0]], [[0.5, 0.5]]]), g.const("other", [[[1.0, 0.0]], [[0.25, 0.75]]])]
    g.node("Where", ["which", *leaves], "probabilities")
    g.output("probabilities")
    return case(g)


def _boosted() -> Case:
    """What a boosted tree says that learnt 10 and 20 from the first column."""
    g = Graph("boosted", opset=13)
    x = g.input("x", np.array([[0, 5], [1, -1], [0.2, 2]], np.float32))
    low = g.node("Less", [g.node("Gather", [x, g.ints("first", 0)], "c", axis=1), g.const("threshold", [1.0])], "low")
    g.node("Where", [low, g.const("ten", [10.0]), g.const("twenty", [20.0])], "variable")
    g.output("variable")
    return case(g)


def _two_turns() -> Case:
    g = Graph("two_turns", opset=13)
    g.node("Transpose", [g.input("x", g.normal(2, 3, 4))], "a", perm=[1, 2, 0])
    g.node("Transpose", ["a"], "b", perm=[1, 2, 0])
    g.node("Relu", ["b"], "y")
    g.output("y")
    return case(g)


def _upsample() -> Case:
    g = Graph("upsample", opset=9)
    g.node("Upsample", [g.input("x", g.normal(1, 2, 3, 3)), g.const("s", [1, 1, 2, 2])], "u", mode="linear")
    g.node("Sigmoid", ["u"], "y")
    g.output("y")

    def right(feed: Mapping[str, Array]) -> list[Array]:
        made = feed["x"].astype(np.float64)
        for axis in (2, 3):  # in between lie means, and behind the last element itself
            following = np.concatenate([np.delete(made, 0, axis), np.take(made, [-1], axis)], axis)
            made = np.stack([made, (made + following) / 2], axis + 1).reshape(
                *made.shape[:axis], -1, *made.shape[axis + 1 :]
            )
        return [np.asarray(1 / (1 + np.exp(-made)), np.float32)]

    return case(g, right)


def _prefixed() -> Case:
    """What a prefix to all names has to make; the branches read what is made outside them."""
    g = Graph("prefixed", opset=13)
    g.node("Relu", [g.input("a/x", g.normal(2, 3))], "h")
    branches = {
        which: helper.make_graph(
            [helper.make_node(op, ["h"], [made], name=made)],
            which,
            [],
            [helper.make_tensor_value_info(made, TensorProto.FLOAT, [2, 3])],
        )
        for which, op, made in (("then_branch", "Neg", "p"), ("else_branch", "Exp", "q"))
    }
    g.node("If", [g.input("a/c", np.array(True))], "a/r", **branches)
    g.node("Mul", ["a/r", g.const("two", [2.0])], "a/y")
    g.output("a/y")
    return case(g, lambda feed: [-2 * np.maximum(feed["a/x"], 0)])


def _called_in_branch() -> Case:
    """A branch calls a function of the model."""
    g = Graph("called_in_branch", opset=14)
    twice = [helper.make_node("Add", ["a", "a"], ["b"], name="b")]
    g.functions.append(helper.make_function("own", "Twice", ["a"], ["b"], twice, [helper.make_opsetid("", 14)]))
    g.domains["own"] = 1
    g.node("Tanh", [g.input("x", g.normal(2, 3))], "h")
    nodes = {
        "then_branch": helper.make_node("Twice", ["h"], ["p"], name="p", domain="own"),
        "else_branch": helper.make_node("Exp", ["h"], ["q"], name="q"),
    }
    branches = {
        which: helper.make_graph(
            [node], which, [], [helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, [2, 3])]
        )
        for which, node in nodes.items()
    }
    g.node("If", [g.input("c", np.array(True))], "r", **branches)
    g.node("Relu", ["r"], "y")
    g.output("y")
    return case(g, lambda feed: [np.maximum(2 * np.tanh(feed["x"]), 0)])


def _rare_categories() -> Case:
    """What scikit-learn does with 1 and 3 that are seen often, and 5 and 7 that are seen once."""
    g = Graph("rare_categories", opset=13)
    x = g.input("x", np.array([[1], [5], [7], [3]], np.int64))
    attributes = {"keys_int64s": [1, 3, 5, 7], "values_floats": [0.0, 1.0, 2.0, 2.0], "default_float": -1.0}
    g.node("LabelEncoder", [x], "variable", domain="ai.onnx.ml", **attributes)
    g.domains["ai.onnx.ml"] = 2
    g.output("variable")
    return case(g, lambda feed: [np.array([[0], [2], [2], [1]], np.float32)])


def _resize_to_sizes() -> Case:
    """What is not given is an empty weight, as converters from TensorFlow write it."""
    g = Graph("resize_to_sizes", opset=13)
    g.node("Relu", [g.input("x", g.normal(1, 2, 3, 3))], "h")
    g.node("Resize", ["h", g.const("roi", []), g.const("none", []), g.ints("sizes", 1, 2, 6, 6)], "r", mode="nearest")
    g.node("Mul", ["r", g.const("half", [0.5])], "y")
    g.output("y")
    return case(g)


_UNPAIRED = "status 3: nothing inside the two files could be paired"

CONVERTERS = (
    Issue(
        "skl2onnx: MinMaxScaler that clips", "skl2onnx", "sklearn-onnx#986", "numbers beyond the range are not clipped",
        _clipped_scale, _skl2onnx("1.14.0", "1.13.1", "1.2.2"), _skl2onnx("1.17.0", "1.16.2", "1.5.2"),
        Answer(("variable", "s"), ("Clip",)),
        tool=_SKLEARN.format(
            model="model = MinMaxScaler(clip=True).fit(numpy.array([[0, 0], [2, 4.0]]))", kind="FloatTensorType",
            width=2,
        ),
    ),
    Issue(
        "skl2onnx: OrdinalEncoder of unknown categories", "skl2onnx", "sklearn-onnx#1198", "-1 in place of NaN",
        _unknown_category, _skl2onnx("1.17.0", "1.16.2", "1.5.2"), _skl2onnx("1.20.0", "1.16.2", "1.5.2"),
        Answer(("variable",), ("NaN|default_float",)),
        tool=_SKLEARN.format(
            model="model = OrdinalEncoder(handle_unknown='use_encoded_value', unknown_value=numpy.nan)"
            ".fit(numpy.array([[1], [3], [7]]))",
            kind="Int64TensorType", width=1,
        ),
        words=("--nan", "equal"), first=_UNPAIRED,
    ),
    Issue(
        "version converter: Split in halves", "onnx: version converter", "onnx 1.17.0",
        "num_outputs, which opset 18 asks for, is not written; the file cannot be loaded",
        _halves, _onnx("1.15.0", "numpy<2"), _onnx("1.17.0"),
        Answer(("a",), ("num_outputs",)), tool=_VERSION.format(opset=18),
        first="status 1 and Split 'a'; 3 was expected, as nothing can be run",
    ),
    Issue(
        "float16 files: Cast to bool and back", "onnxconverter-common", "onnxconverter-common 1.15.0",
        "Cast is told to make float32 where its output is float16; the file cannot be loaded",
        _cast_through_bool, _half("1.16.0"), _half("1.14.0"), Answer(("f",)), tool=_HALF, rounds=True,
    ),
    Issue(
        "float16 files: If", "onnxconverter-common", "onnxconverter-common 1.15.0",
        "the branches read float32 and are said to make float16; the file cannot be loaded",
        _branches, _half("1.16.0"), _half("1.14.0"), Answer(("r",)), tool=_HALF, rounds=True,
    ),
    Issue(
        "transformers' optimiser: two Transposes", "ONNX Runtime: transformers", "onnxruntime 1.21.1",
        "two Transposes are removed that do not undo each other",
        _two_turns, onnxruntime("1.23.2"), onnxruntime("1.19.2"), Answer(("a", "b", "y")), tool=_TRANSFORMERS,
    ),
    Issue(
        "pre-processing: Upsample", "ONNX Runtime: quantiser", "onnxruntime 1.23.2",
        "Upsample becomes a Resize between the middles of pixels",
        _upsample, onnxruntime("1.23.2"), onnxruntime("1.21.1"), Answer(("u",), ("Resize|coordinate",)), tool=_PREPARE,
    ),
    Issue(
        "version converter: ReduceMean of columns to opset 17", "onnx: version converter", "onnx#7910",
        "axes that the file holds as raw bytes are not read: all are reduced",
        _mean_of_columns, _onnx("1.21.0"), _onnx("1.22.0"), Answer(("r",)), tool=_VERSION.format(opset=17),
    ),
    Issue(
        "version converter: DFT to opset 20", "onnxscript: version converter", "onnxscript#2659",
        "the axis is written where the length belongs",
        _transform, onnxscript("0.5.4", "0.1.16"), onnxscript("0.5.6", "0.1.16"), Answer(("f",)), tool=_SCRIPT_VERSION,
    ),
    Issue(
        "merged models: If in the second", "onnx: compose", "onnx#5985",
        "branches read the input that the second had; the file cannot be loaded",
        _merged, _onnx("1.15.0", "numpy<2"), _onnx("1.19.0"), Answer(("r",)), tool=_MERGE,
    ),
    Issue(
        "float16 files: Min in If", "onnxconverter-common", "onnxconverter-common#260",
        "Casts of a branch are written into the outer graph; the file cannot be loaded",
        _smallest_in_branch, _half("1.13.0"), _half("1.14.0"), Answer(("r",)), tool=_HALF, rounds=True,
    ),
    Issue(
        "skl2onnx: forest of two targets", "skl2onnx", "sklearn-onnx#910",
        "each share is divided by itself, so that all that are not 0 become 1",
        _forest, _skl2onnx("1.12", "1.13.1", "1.1.3"), _skl2onnx("1.14.0", "1.13.1", "1.2.2"),
        Answer(("probabilities",)), tool=_FOREST, first=_UNPAIRED,
    ),
    Issue(
        "onnxmltools: boosted tree", "onnxmltools", "onnxmltools#672",
        "0.5 is added in place of the mean from which xgboost 2 starts",
        _boosted, _onnxmltools("1.11.2"), _onnxmltools("1.12.0"), Answer(("variable",), ("TreeEnsemble",)),
        tool=_XGBOOST, first=_UNPAIRED,
    ),
    Issue(
        "prefixed names: If", "onnx: compose", "onnx#4687",
        "what branches read from outside keeps its old name; the file cannot be loaded",
        _prefixed, Environment(("onnx==1.12.0", "protobuf==3.20.3")), _onnx("1.19.0"), Answer(("a/r",)), tool=_PREFIX,
        first="status 3: outputs of other names, since the tool was asked otherwise than meant; written anew",
    ),
    Issue(
        "inlined functions: a call in If", "onnx: inliner", "onnx#5841",
        "calls in branches are left, and the functions are dropped; the file cannot be loaded",
        _called_in_branch, _onnx("1.15.0", "numpy<2"), _onnx("1.19.0"), Answer(("r",), ("Twice",)), tool=_INLINE,
    ),
    Issue(
        "skl2onnx: OrdinalEncoder of rare categories", "skl2onnx", "sklearn-onnx#1215",
        "categories that are too rare are numbered one by one",
        _rare_categories, _skl2onnx("1.19.1", "1.16.2", "1.5.2"), _skl2onnx("1.20.0", "1.16.2", "1.5.2"),
        Answer(("variable",), ("values_",)),
        tool=_SKLEARN.format(
            model="model = OrdinalEncoder(handle_unknown='use_encoded_value', unknown_value=-1, min_frequency=2)"
            ".fit(numpy.array([[1], [1], [3], [3], [5], [7]]))",
            kind="Int64TensorType", width=1,
        ),
        first="the operators of both files were named, and not what LabelEncoder is told otherwise",
    ),
    Issue(
        "float16 files: Resize to a size", "onnxconverter-common", "onnxconverter-common#272",
        "scales that are not given are cast, and count as given; the file cannot be loaded",
        _resize_to_sizes, _half("1.14.0"), _half("1.16.0"), Answer(("r",), ("scales|sizes",)), tool=_HALF, rounds=True,
    ),
)  # fmt: skip
