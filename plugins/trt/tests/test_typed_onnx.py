"""Models with other types, for releases of TensorRT without switches for them; judged by ONNX's reference evaluator."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, version_converter
from onnx.reference import ReferenceEvaluator

from polycmp.errors import BackendError, DataError, ModelError
from polycmp.tensors import TensorMetadata
from polycmp_trt.build.calibrator import calibration_feeds
from polycmp_trt.build.typed_onnx import ConvertToBf16, QuantizeToInt8

RNG = np.random.default_rng(3)
FEEDS = [{"x": RNG.standard_normal((2, 3, 8, 8)).astype(np.float32)} for _ in range(4)]


def weight(name, *shape):
    return numpy_helper.from_array(RNG.standard_normal(shape).astype(np.float32), name)


def model(opset=17):
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("Resize", ["r", "", "scales"], ["u"], name="up"),
        helper.make_node("GlobalAveragePool", ["u"], ["p"], name="pool"),
        helper.make_node("Flatten", ["p"], ["f"], name="flat"),
        helper.make_node("Constant", [], ["half"], name="half", value_float=0.5),
        helper.make_node("MatMul", ["f", "m"], ["z"], name="dense"),
        helper.make_node("Mul", ["z", "half"], ["y"], name="scale"),
    ]
    scales = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])],
        [weight("w", 8, 3, 3, 3), weight("b", 8), weight("m", 8, 4), scales],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def run(made, feed=FEEDS[0]):
    """Return what the model means: a runtime's own int8 kernels saturate on processors without VNNI."""
    made = version_converter.convert_version(made, 19)  # the evaluator knows no older DequantizeLinear
    return ReferenceEvaluator(made).run(None, feed)[0]


class TestBfloat16:
    def test_the_inside_is_bfloat16_and_the_outside_stays(self):
        source = model(22)  # the first in which a Conv takes bfloat16
        made = ConvertToBf16(source)()
        onnx.checker.check_model(made)
        types = {tensor.name: tensor.data_type for tensor in made.graph.initializer}
        assert types == {"w": 16, "b": 16, "m": 16, "scales": 1}
        assert made.graph.input[0].type.tensor_type.elem_type == TensorProto.FLOAT
        assert made.graph.output[0].type.tensor_type.elem_type == TensorProto.FLOAT
        assert source.graph.initializer[0].data_type == TensorProto.FLOAT

    def test_it_computes_nearly_the_same(self):
        source = model()
        wanted = run(source)
        got = ReferenceEvaluator(ConvertToBf16(source)()).run(None, FEEDS[0])[0]
        assert got.dtype == np.float32
        error = np.abs(got - wanted).max() / np.abs(wanted).max()
        assert 0 < error < 0.05  # bfloat16 has 8 bits of significand

    def test_subgraphs_and_what_they_read_from_outside(self):
        def branch(name, op):
            node = helper.make_node(op, ["x", "one"], [name], name=name)
            return helper.make_graph([node], name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])])

        node = helper.make_node("If", ["flag"], ["y"], then_branch=branch("a", "Add"), else_branch=branch("s", "Sub"))
        graph = helper.make_graph(
            [node],
            "net",
            [
                helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
                helper.make_tensor_value_info("flag", TensorProto.BOOL, []),
            ],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
            [numpy_helper.from_array(np.ones(2, np.float32), "one")],
        )
        source = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        made = ConvertToBf16(source)()
        onnx.checker.check_model(made, full_check=True)
        x = np.array([1, 2], np.float32)
        for flag, wanted in ((True, x + 1), (False, x - 1)):
            got = ReferenceEvaluator(made).run(None, {"x": x, "flag": np.array(flag)})[0]
            np.testing.assert_array_equal(got, wanted)

    def test_an_old_opset_is_raised(self):
        graph = helper.make_graph(
            [helper.make_node("Relu", ["x"], ["y"])],
            "net",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
        )
        source = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=6)
        made = ConvertToBf16(source)()
        assert made.opset_import[0].version == 13
        onnx.checker.check_model(made, full_check=True)


@pytest.mark.skipif(find_spec("onnxruntime") is None, reason="ONNX Runtime quantises")
class TestInt8:
    def test_the_quantised_model_is_near_and_has_qdq_pairs(self, capfd):
        source = model()
        made = QuantizeToInt8(source, FEEDS)()
        kinds = [node.op_type for node in made.graph.node]
        assert kinds.count("QuantizeLinear") == kinds.count("DequantizeLinear") > 4
        zero_points = [
            numpy_helper.to_array(tensor) for tensor in made.graph.initializer if tensor.name.endswith("zero_point")
        ]
        assert zero_points
        assert all(point.dtype == np.int8 and not point.any() for point in zero_points)
        wanted = run(source)
        assert np.abs(run(made) - wanted).max() / np.abs(wanted).max() < 0.1
        assert capfd.readouterr().out == ""

    def test_convolutions_say_the_shape_of_their_kernels(self):
        source = model()
        (conv,) = [node for node in QuantizeToInt8(source, FEEDS)().graph.node if node.op_type == "Conv"]
        assert [list(item.ints) for item in conv.attribute if item.name == "kernel_shape"] == [[3, 3]]
        assert "kernel_shape" not in {item.name for item in source.graph.node[0].attribute}

    def test_the_cache_makes_data_needless(self, tmp_path):
        cache = str(tmp_path / "int8.cache")
        source = model()
        first = QuantizeToInt8(source, FEEDS, cache)()
        assert QuantizeToInt8(source, [], cache)() == first

    def test_the_cache_of_another_model_is_replaced(self, tmp_path):
        cache = str(tmp_path / "int8.cache")
        QuantizeToInt8(model(), FEEDS, cache)()
        with pytest.raises(DataError, match="no calibration data"):
            QuantizeToInt8(model(opset=16), [], cache)()

    def test_a_cache_of_tensorrts_calibrators_is_recognised(self, tmp_path):
        cache = tmp_path / "calib.cache"
        cache.write_bytes(b"TRT-8600-EntropyCalibration2\nx: 3c010a14\n")
        with pytest.raises(BackendError, match="calibration cache of a TensorRT"):
            QuantizeToInt8(model(), FEEDS, str(cache))()
        cache.write_bytes(b"\x08\x00garbage")
        with pytest.raises(ModelError, match="no quantised model"):
            QuantizeToInt8(model(), FEEDS, str(cache))()

    def test_the_data_loaders_own_error_comes_out(self):
        def feeds():
            yield FEEDS[0]
            raise FileNotFoundError("picture 2 is gone")

        with pytest.raises(FileNotFoundError, match="picture 2"):
            QuantizeToInt8(model(), feeds)()

    def test_a_calibrator_without_a_counterpart(self):
        with pytest.raises(BackendError, match="IInt8LegacyCalibrator") as caught:
            QuantizeToInt8(model(), FEEDS, base_class="IInt8LegacyCalibrator")()
        assert "IInt8MinMaxCalibrator" in caught.value.hint

    def test_the_data_loader_is_told_the_shapes(self):
        seen = []

        def feeds(inputs):
            seen.append(inputs["x"].shape)
            return FEEDS

        QuantizeToInt8(model(), feeds, base_class="IInt8MinMaxCalibrator", input_shapes={"x": (2, 3, 8, 8)})()
        assert seen == [(2, 3, 8, 8)]


class TestDataLoaders:
    INPUTS = TensorMetadata().add("x", "float32", (1, 2))

    @pytest.mark.parametrize(
        "loader",
        [
            [{"x": 1}],
            ({"x": 1},),
            iter([{"x": 1}]),
            lambda: [{"x": 1}],
            lambda inputs: [dict.fromkeys(inputs, 1)],
            lambda inputs=None: ({name: 1} for name in inputs),
            lambda count=1: [{"x": 1}] * count,
        ],
    )
    def test_any_kind_will_do(self, loader):
        assert list(calibration_feeds(loader, self.INPUTS)) == [{"x": 1}]

    def test_a_loader_that_wants_metadata_gets_it_unless_it_has_its_own(self):
        class Loader(list):
            input_metadata = None

        loader = Loader([{"x": 1}])
        calibration_feeds(loader, self.INPUTS)
        assert loader.input_metadata is self.INPUTS
        loader.input_metadata = "mine"
        calibration_feeds(loader, self.INPUTS)
        assert loader.input_metadata == "mine"
