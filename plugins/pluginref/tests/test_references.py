"""Each reference against a computation that shares nothing with it, ONNX Runtime's kernels where there are some."""

from __future__ import annotations

import math

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from polycmp.errors import BackendError
from polycmp_pluginref import PluginRefRunner

onnxruntime = pytest.importorskip("onnxruntime")


def value_infos(names, arrays=None):
    if arrays is None:
        return [helper.make_empty_tensor_value_info(name) for name in names]
    return [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), [None] * array.ndim)
        for name, array in zip(names, arrays, strict=True)
    ]


def plugin(op, inputs, outputs=1, domain="", **attributes):
    """Run one plugin node in the backend and return its outputs."""
    names, results = [f"x{i}" for i in range(len(inputs))], [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, domain=domain)
    for name, value in attributes.items():
        proto = numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
        node.attribute.append(helper.make_attribute(name, proto))
    graph = helper.make_graph([node], "g", value_infos(names, inputs), value_infos(results))
    imports = [helper.make_opsetid("", 18), *([helper.make_opsetid(domain, 1)] if domain else [])]
    with PluginRefRunner(helper.make_model(graph, opset_imports=imports)) as runner:
        feed = dict(zip(names, inputs, strict=True))
        before = {name: array.copy() for name, array in feed.items()}
        found = runner.infer(feed)
    assert all((feed[name] == before[name]).all() for name in feed), "the reference wrote to its inputs"
    return [found[name] for name in results]


def standard(nodes, inputs, outputs, opset=21):
    """Run standard ONNX nodes in ONNX Runtime; weights are given as arrays among the inputs."""
    results = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()]
    graph = helper.make_graph(nodes, "g", value_infos(list(inputs), list(inputs.values())), results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def normal(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).normal(1.0, 2.0, shape).astype(dtype)


def close(found, wanted, tolerance=2e-6):
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


FLOAT = TensorProto.FLOAT


def test_identity_copies():
    x = normal(2, 3)
    (y,) = plugin("Identity", [x])
    assert (y == x).all()
    assert not np.shares_memory(x, y)


@pytest.mark.parametrize("shape", [(2, 3, 7), (2, 3, 5, 7), (1, 3, 4, 5, 6)])
def test_instance_normalization(shape):
    x, scale, bias = normal(*shape), normal(3, seed=1), normal(3, seed=2)
    node = helper.make_node("InstanceNormalization", ["x", "s", "b"], ["y"], epsilon=1e-3)
    (wanted,) = standard([node], {"x": x, "s": scale, "b": bias}, {"y": FLOAT})
    close(plugin("InstanceNormalization", [x, scale, bias], epsilon=1e-3)[0], wanted)
    trt = plugin("InstanceNormalization_TRT", [x], epsilon=1e-3, scales=scale.tolist(), bias=bias.tolist())
    close(trt[0], wanted)
    close(plugin("InstanceNormalization_TRT", [x, scale, bias], epsilon=1e-3, plugin_version="1")[0], wanted)


def test_instance_normalization_trt_with_relu():
    x, scale, bias = normal(2, 3, 4, 4), normal(3, seed=1), normal(3, seed=2)
    nodes = [
        helper.make_node("InstanceNormalization", ["x", "s", "b"], ["n"], epsilon=1e-5),
        helper.make_node("LeakyRelu", ["n"], ["y"], alpha=0.25),
    ]
    (wanted,) = standard(nodes, {"x": x, "s": scale, "b": bias}, {"y": FLOAT})
    assert (wanted < 0).any()
    attributes = {"epsilon": 1e-5, "scales": scale, "bias": bias, "relu": 1, "alpha": 0.25}
    close(plugin("InstanceNormalization_TRT", [x], **attributes)[0], wanted)


@pytest.mark.parametrize("axes", [(0, 2, 3), (1,), (0, 1, 2, 3)])
def test_mean_variance_normalization(axes):
    x = normal(2, 3, 4, 5)
    node = helper.make_node("MeanVarianceNormalization", ["x"], ["y"], axes=axes)
    (wanted,) = standard([node], {"x": x}, {"y": FLOAT}, opset=13)
    close(plugin("MeanVarianceNormalization", [x], axes=axes)[0], wanted)


def test_mean_variance_normalization_has_default_axes():
    x = normal(2, 3, 4, 5)
    (wanted,) = standard([helper.make_node("MeanVarianceNormalization", ["x"], ["y"])], {"x": x}, {"y": FLOAT}, 13)
    close(plugin("MeanVarianceNormalization", [x])[0], wanted)


@pytest.mark.parametrize("groups", [1, 2, 6])
def test_group_normalization(groups):
    x, scale, bias = normal(2, 6, 4, 5), normal(6, seed=1), normal(6, seed=2)
    node = helper.make_node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=groups, epsilon=1e-4)
    (wanted,) = standard([node], {"x": x, "s": scale, "b": bias}, {"y": FLOAT})
    close(plugin("GroupNormalizationPlugin", [x, scale, bias], eps=1e-4, num_groups=groups)[0], wanted)


@pytest.mark.parametrize("shape", [(5, 2, 8), (5, 2, 8, 1, 1)])
@pytest.mark.parametrize("with_bias", [False, True])
def test_gelu(shape, with_bias):
    x, bias = normal(*shape), normal(8, seed=1)
    nodes = [
        helper.make_node("Add", ["x", "b"], ["v"]),
        helper.make_node("Gelu", ["v"], ["y"], approximate="tanh"),
    ]
    added = bias.reshape(8, 1, 1) if len(shape) == 5 else bias
    (wanted,) = standard(nodes, {"x": x, "b": added * np.float32(with_bias)}, {"y": FLOAT})
    attributes = {"type_id": 0, **({"bias": bias.reshape(1, 1, 8)} if with_bias else {})}
    close(plugin("CustomGeluPluginDynamic", [x], **attributes)[0], wanted)


@pytest.mark.parametrize("shape", [(5, 2, 16), (5, 2, 16, 1, 1)])
@pytest.mark.parametrize("with_bias", [False, True])
def test_skip_layer_normalization(shape, with_bias):
    x, skip, beta, gamma, bias = normal(*shape), normal(*shape, seed=1), *(normal(16, seed=i) for i in (2, 3, 4))
    nodes = [
        helper.make_node("Add", ["x", "skip"], ["sum"]),
        helper.make_node("Add", ["sum", "bias"], ["v"]),
        helper.make_node("LayerNormalization", ["v", "gamma", "beta"], ["y"], axis=-1, epsilon=float(2**-23)),
    ]
    flat = {"x": x.reshape(5, 2, 16), "skip": skip.reshape(5, 2, 16), "bias": bias * np.float32(with_bias)}
    (wanted,) = standard(nodes, {**flat, "gamma": gamma, "beta": beta}, {"y": FLOAT})
    attributes = {"ld": 16, "type_id": 0, "beta": beta, "gamma": gamma, **({"bias": bias} if with_bias else {})}
    found = plugin("CustomSkipLayerNormPluginDynamic", [x, skip], **attributes)
    close(found[0], wanted.reshape(shape))


def test_skip_layer_normalization_of_another_layout_is_refused():
    x, weights = normal(1, 16, 3, 1), normal(16)
    with pytest.raises(BackendError, match="version 3"):
        plugin("CustomSkipLayerNormPluginDynamic", [x, x], beta=weights, gamma=weights, plugin_version="3")


def test_leaky_relu():
    x = normal(3, 4, 5)
    (wanted,) = standard([helper.make_node("LeakyRelu", ["x"], ["y"], alpha=0.1)], {"x": x}, {"y": FLOAT})
    close(plugin("LReLU_TRT", [x], negSlope=0.1)[0], wanted, 0)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_clip(dtype):
    x = (normal(3, 4, 5) * 3).astype(dtype)
    low, high = np.array(-1.5).astype(dtype), np.array(2.5).astype(dtype)
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    (wanted,) = standard([helper.make_node("Clip", ["x", "a", "b"], ["y"])], {"x": x, "a": low, "b": high}, {"y": kind})
    close(plugin("Clip_TRT", [x], clipMin=-1.5, clipMax=2.5)[0], wanted, 0)


@pytest.mark.parametrize("shared", [0, 1])
@pytest.mark.parametrize("across", [0, 1])
def test_l2_normalize(across, shared):
    x, weights = normal(2, 3, 4, 5), normal(1 if shared else 3, seed=1)
    shape = np.array([2, -1, 1, 1] if across else [2, 3, 4, 5])
    nodes = [
        helper.make_node("Reshape", ["x", "flat"], ["f"]),
        helper.make_node("LpNormalization", ["f"], ["n"], axis=1, p=2),
        helper.make_node("Reshape", ["n", "back"], ["r"]),
        helper.make_node("Mul", ["r", "w"], ["y"]),
    ]
    inputs = {"x": x, "flat": shape, "back": np.array(x.shape), "w": weights.reshape(-1, 1, 1)}
    (wanted,) = standard(nodes, inputs, {"y": FLOAT})
    attributes = {"weights": weights, "acrossSpatial": across, "channelShared": shared, "eps": 1e-10}
    close(plugin("Normalize_TRT", [x], **attributes)[0], wanted)


def test_l2_normalize_adds_eps_under_the_root():
    x = np.full((1, 2, 1, 1), 3.0, np.float32)
    attributes = {"weights": [2.0], "acrossSpatial": 0, "channelShared": 1, "eps": 7.0, "nbWeights": 1}
    close(plugin("Normalize_TRT", [x], **attributes)[0], np.full((1, 2, 1, 1), 2 * 3 / 5, np.float32))


@pytest.mark.parametrize(("shape", "stride"), [((2, 4, 6, 6), 2), ((1, 18, 6, 9), 3)])
def test_reorg(shape, stride):
    n, c, h, w = shape
    x = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    nodes = [
        helper.make_node("Reshape", ["x", "wide"], ["v"]),
        helper.make_node("SpaceToDepth", ["v"], ["d"], blocksize=stride),
        helper.make_node("Reshape", ["d", "deep"], ["y"]),
    ]
    wide = np.array([n, c // stride**2, h * stride, w * stride])
    deep = np.array([n, c * stride**2, h // stride, w // stride])
    (wanted,) = standard(nodes, {"x": x, "wide": wide, "deep": deep}, {"y": FLOAT})
    close(plugin("Reorg_TRT", [x], stride=stride)[0], wanted, 0)


def test_reorg_gives_the_planes_that_tensorrt_documents():
    x = np.arange(2 * 4 * 6 * 6, dtype=np.float32).reshape(2, 4, 6, 6)
    (y,) = plugin("Reorg_TRT", [x], stride=2)
    assert y[0, 0].tolist() == [[0, 2, 4], [6, 8, 10], [24, 26, 28]]
    assert y[0, 4, 0].tolist() == [1, 3, 5]
    assert y[1, 15, 2].tolist() == [283, 285, 287]


def test_reorg_refuses_what_does_not_divide():
    with pytest.raises(BackendError, match="does not divide by stride 2"):
        plugin("Reorg_TRT", [normal(1, 4, 5, 6)], stride=2)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("ratio", [0, 1, 3])
@pytest.mark.parametrize("shifted", [0, 1])
def test_roi_align(mode, ratio, shifted):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2, 3, 12, 15)).astype(np.float32)
    corner = rng.uniform(-6, 26, (9, 2))
    size = np.concatenate([rng.uniform(0.1, 1.9, (3, 2)), rng.uniform(2, 20, (6, 2))])
    rois = np.concatenate([corner, corner + size], 1).astype(np.float32)
    batch = rng.integers(0, 2, 9)
    common = {"output_height": 3, "output_width": 4, "sampling_ratio": ratio, "spatial_scale": 0.5}
    transformation = "half_pixel" if shifted else "output_half_pixel"
    node = helper.make_node(
        "RoiAlign", ["x", "r", "b"], ["y"], mode=mode, coordinate_transformation_mode=transformation, **common
    )
    (wanted,) = standard([node], {"x": x, "r": rois, "b": batch}, {"y": FLOAT})
    attributes = {**common, "mode": int(mode == "avg"), "coordinate_transformation_mode": shifted}
    close(plugin("ROIAlign_TRT", [x, rois, batch.astype(np.int32)], **attributes)[0], wanted, 1e-5)


def test_roi_align_of_an_empty_region_is_zero():
    x, rois = normal(1, 2, 5, 5), np.array([[3, 3, 3, 3]], np.float32)
    (y,) = plugin("ROIAlign_TRT", [x, rois, np.zeros(1, np.int32)], output_height=2, output_width=2)
    assert y.shape == (1, 2, 2, 2)
    assert not y.any()


def detections(seed=0, images=2, boxes=60, classes=4, per_class=False, centre=False):
    rng = np.random.default_rng(seed)
    shape = (images, boxes, classes) if per_class else (images, boxes)
    first, size = rng.uniform(0, 40, (*shape, 2)), rng.uniform(4, 25, (*shape, 2))
    found = np.concatenate([first, size if centre else first + size], -1).astype(np.float32)
    return found, rng.uniform(0, 1, (images, boxes, classes)).astype(np.float32)


def nms_by_onnxruntime(boxes, scores, *, iou, threshold, limit, agnostic=False, centre=False, background=-1):
    """NonMaxSuppression per image on candidates of one box and one class, then the best ones of all classes."""
    classes = scores.shape[2]
    per_class = boxes if boxes.ndim == 4 else np.repeat(boxes[:, :, None], classes, 2)
    found = []
    for corners, values in zip(per_class, scores, strict=True):
        spread = np.full((classes, values.size), -1.0, np.float32)
        for label in range(classes):
            if label != background:
                spread[0 if agnostic else label, label::classes] = values[:, label]
        feed = {
            "boxes": corners.reshape(1, -1, 4),
            "scores": spread[None],
            "most": np.array([values.size]),
            "iou": np.array([iou], np.float32),
            "low": np.array([threshold], np.float32),
        }
        node = helper.make_node("NonMaxSuppression", list(feed), ["y"], center_point_box=int(centre))
        (picked,) = standard([node], feed, {"y": TensorProto.INT64})
        index = picked[:, 2]
        order = index[np.argsort(-values.reshape(-1)[index], kind="stable")][:limit]
        found.append((corners.reshape(-1, 4)[order], values.reshape(-1)[order], order % classes))
    return found


def same_detections(outputs, wanted, tolerance=0.0):
    count, boxes, scores, classes = outputs
    assert count.dtype == classes.dtype == np.int32
    assert 0 < count.max() < scores.shape[1] or count.max() == scores.shape[1]
    for image, (good_boxes, good_scores, good_classes) in enumerate(wanted):
        size = count[image, 0]
        assert size == len(good_scores)
        np.testing.assert_allclose(boxes[image, :size], good_boxes, atol=tolerance)
        np.testing.assert_allclose(scores[image, :size], good_scores, atol=tolerance)
        assert classes[image, :size].tolist() == good_classes.tolist()
        assert not boxes[image, size:].any()
        assert not scores[image, size:].any()
        assert not classes[image, size:].any()


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("agnostic", [0, 1])
@pytest.mark.parametrize("limit", [5, 200])
def test_efficient_nms(per_class, agnostic, limit):
    boxes, scores = detections(per_class=per_class)
    wanted = nms_by_onnxruntime(boxes, scores, iou=0.4, threshold=0.3, limit=limit, agnostic=bool(agnostic))
    attributes = {"score_threshold": 0.3, "iou_threshold": 0.4, "max_output_boxes": limit, "class_agnostic": agnostic}
    same_detections(plugin("EfficientNMS_TRT", [boxes, scores], 4, plugin_version="1", **attributes), wanted)


def test_efficient_nms_without_the_background_class():
    boxes, scores = detections(seed=1)
    wanted = nms_by_onnxruntime(boxes, scores, iou=0.5, threshold=0.25, limit=100, background=2)
    found = plugin("EfficientNMS_TRT", [boxes, scores], 4, score_threshold=0.25, background_class=2)
    same_detections(found, wanted)
    assert 2 not in found[3][0, : found[0][0, 0]]


def test_efficient_nms_with_centres_and_sizes():
    boxes, scores = detections(seed=2, centre=True)
    wanted = [
        (np.concatenate([found[:, :2] - found[:, 2:] / 2, found[:, :2] + found[:, 2:] / 2], 1), *rest)
        for found, *rest in nms_by_onnxruntime(boxes, scores, iou=0.5, threshold=0.5, limit=100, centre=True)
    ]
    same_detections(plugin("EfficientNMS_TRT", [boxes, scores], 4, box_coding=1), wanted, 1e-5)


@pytest.mark.filterwarnings("error")
def test_efficient_nms_applies_the_sigmoid():
    boxes, scores = detections(seed=3)
    logits = np.log(scores / (1 - scores)).astype(np.float32)
    logits[:, 0], scores[:, 0] = -1e9, 0
    plain = plugin("EfficientNMS_TRT", [boxes, scores], 4, score_threshold=0.3)
    found = plugin("EfficientNMS_TRT", [boxes, logits], 4, score_threshold=0.3, score_activation=1)
    same_detections(found, [(b[:n], s[:n], c[:n]) for (n,), b, s, c in zip(*plain, strict=True)], 1e-6)


@pytest.mark.parametrize("shared", [True, False])
def test_efficient_nms_decodes_offsets_from_anchors(shared):
    rng = np.random.default_rng(5)
    scores = detections(seed=5)[1]
    anchors = rng.uniform(5, 30, (1 if shared else 2, 60, 4)).astype(np.float32)
    offsets = rng.normal(0, 0.3, (2, 60, 4)).astype(np.float32)
    decoded = np.empty_like(offsets)
    for image, box in np.ndindex(2, 60):
        (y, x, h, w), (dy, dx, dh, dw) = anchors[0 if shared else image, box], offsets[image, box]
        cy, cx, height, width = y + dy * h, x + dx * w, h * math.exp(dh), w * math.exp(dw)
        decoded[image, box] = cy - height / 2, cx - width / 2, cy + height / 2, cx + width / 2
    wanted = nms_by_onnxruntime(decoded, scores, iou=0.5, threshold=0.4, limit=100)
    same_detections(
        plugin("EfficientNMS_TRT", [offsets, scores, anchors], 4, score_threshold=0.4, box_coding=1), wanted, 1e-4
    )


def test_efficient_nms_adds_corner_offsets_to_ordered_anchors():
    offsets = np.array([[[1, 2, 3, 4]]], np.float32)
    anchors = np.array([[[30, 10, 20, 40]]], np.float32)
    found = plugin("EfficientNMS_TRT", [offsets, np.ones((1, 1, 1), np.float32), anchors], 4)
    assert found[1][0, 0].tolist() == [21, 12, 33, 44]


def test_efficient_nms_drops_at_the_threshold_and_keeps_below_it():
    boxes = np.array([[[0, 0, 2, 1], [1, 0, 2, 1], [0, 0, 2, 2.5]]], np.float32)
    scores = np.array([[[0.9], [0.8], [0.5]]], np.float32)
    found = plugin("EfficientNMS_TRT", [boxes, scores], 4, score_threshold=0.5, iou_threshold=0.5)
    assert found[0].tolist() == [[2]], "an overlap of exactly 0.5 drops, 0.4 keeps, a score of exactly 0.5 counts"
    np.testing.assert_array_equal(found[2][0, :2], scores[0, [0, 2], 0])


BATCHED = {"numClasses": 4, "iouThreshold": 0.4, "clipBoxes": 0, "backgroundLabelId": -1}


def same_batched(found, wanted):
    count, boxes, scores, classes = found
    assert classes.dtype == boxes.dtype
    for image, size in enumerate(count[:, 0]):
        assert (classes[image, size:] == -1).all()
        classes[image, size:] = 0
    same_detections((count, boxes, scores, classes.astype(np.int32)), wanted)


@pytest.mark.parametrize("op", ["BatchedNMS_TRT", "BatchedNMSDynamic_TRT"])
@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("keep", [5, 200])
def test_batched_nms(op, per_class, keep):
    boxes, scores = detections(per_class=per_class)
    wanted = nms_by_onnxruntime(boxes, scores, iou=0.4, threshold=0.3, limit=keep, background=1)
    attributes = BATCHED | {"backgroundLabelId": 1, "topK": 200, "keepTopK": keep, "scoreThreshold": 0.3}
    given = boxes if per_class else boxes[:, :, None]
    same_batched(plugin(op, [given, scores], 4, shareLocation=int(not per_class), **attributes), wanted)


def test_batched_nms_looks_at_the_best_of_each_class_only():
    boxes, scores = detections(seed=7)
    tenth = -np.sort(-scores, axis=1)[:, 9:10]
    wanted = nms_by_onnxruntime(boxes, np.where(scores >= tenth, scores, 0), iou=0.4, threshold=0.01, limit=30)
    attributes = BATCHED | {"topK": 10, "keepTopK": 30, "scoreThreshold": 0.01, "shareLocation": 1}
    same_batched(plugin("BatchedNMS_TRT", [boxes[:, :, None], scores], 4, **attributes), wanted)


@pytest.mark.parametrize("caffe", [0, 1])
def test_batched_nms_of_pixels(caffe):
    """Boxes of 10 × 10 pixels, 5 columns apart: 50/150 of the pixels are shared, or 36/164 without counting edges."""
    boxes = np.array([[0, 0, 9, 9], [5, 0, 14, 9]], np.float32)[None, :, None]
    shared = 50 if caffe else 4 * 9
    iou = shared / (200 - shared)
    for threshold, left in ((iou - 0.01, 1), (iou + 0.01, 2)):
        attributes = BATCHED | {"numClasses": 1, "topK": 2, "keepTopK": 2, "scoreThreshold": 0.1, "shareLocation": 1}
        attributes |= {"isNormalized": 0, "caffeSemantics": caffe, "iouThreshold": threshold}
        found = plugin("BatchedNMS_TRT", [boxes, np.array([[[0.9], [0.8]]], np.float32)], 4, **attributes)
        assert found[0].tolist() == [[left]]


def test_batched_nms_excludes_its_thresholds_and_clips():
    boxes = np.array([[[[-1, 0, 2, 1]], [[0.5, 0, 2, 1]], [[5, 5, 6, 6]]]], np.float32)
    scores = np.array([[[0.9], [0.8], [0.5]]], np.float32)
    attributes = {"shareLocation": 1, "backgroundLabelId": -1, "numClasses": 1, "topK": 3, "keepTopK": 3}
    found = plugin("BatchedNMS_TRT", [boxes, scores], 4, scoreThreshold=0.5, iouThreshold=0.5, **attributes)
    assert found[0].tolist() == [[2]], "an overlap of exactly 0.5 keeps, a score of exactly 0.5 does not count"
    assert found[1][0].tolist() == [[0, 0, 1, 1], [0.5, 0, 1, 1], [0, 0, 0, 0]]


def test_deformable_attention():
    rng = np.random.default_rng(11)
    sizes, images, queries, heads, points, depth = [(6, 5), (3, 4)], 2, 7, 3, 4, 5
    maps = [rng.normal(size=(images, h * w, heads, depth)).astype(np.float32) for h, w in sizes]
    where = rng.uniform(-0.3, 1.3, (images, queries, heads, len(sizes), points, 2)).astype(np.float32)
    weights = rng.uniform(0, 1, where.shape[:-1]).astype(np.float32)
    wanted = 0
    for level, ((h, w), features) in enumerate(zip(sizes, maps, strict=True)):
        image = features.reshape(images, h, w, heads, depth).transpose(0, 3, 4, 1, 2).reshape(-1, depth, h, w)
        grid = (2 * where[:, :, :, level] - 1).transpose(0, 2, 1, 3, 4).reshape(-1, queries, points, 2)
        node = helper.make_node("GridSample", ["x", "g"], ["y"], align_corners=0, mode="linear", padding_mode="zeros")
        (sampled,) = standard([node], {"x": image, "g": grid}, {"y": FLOAT})
        sampled = sampled.reshape(images, heads, depth, queries, points)
        wanted = wanted + np.einsum("nmdqp,nqmp->nqmd", sampled, weights[:, :, :, level])
    inputs = [np.concatenate(maps, 1), np.array(sizes, np.int32), np.array([0, 30], np.int32), where, weights]
    close(plugin("MultiscaleDeformableAttnPlugin_TRT", inputs)[0], wanted, 1e-5)


def has_deformable_convolution():
    """Return whether this ONNX Runtime has DeformConv on the CPU, which older ones lack."""
    shapes = {"x": (1, 1, 2, 2), "weight": (1, 1, 1, 1), "offset": (1, 2, 2, 2)}
    try:
        inputs = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
        standard([helper.make_node("DeformConv", list(shapes), ["y"])], inputs, {"y": FLOAT}, opset=19)
    except Exception as error:
        if "DeformConv" not in str(error):
            raise
        return False
    return True


@pytest.mark.skipif(
    "not has_deformable_convolution()", reason="this ONNX Runtime has no DeformConv on the CPU to check against"
)
@pytest.mark.parametrize(("group", "deformable", "stride", "padding", "dilation"), [(1, 1, 1, 1, 1), (2, 3, 2, 0, 2)])
@pytest.mark.parametrize("with_bias", [False, True])
def test_deformable_convolution(group, deformable, stride, padding, dilation, with_bias):
    rng = np.random.default_rng(13)
    height, width, kernel = 11, 9, (3, 2)
    rows, columns = (
        (size + 2 * padding - dilation * (k - 1) - 1) // stride + 1
        for size, k in zip((height, width), kernel, strict=True)
    )
    shapes = {
        "x": (2, 6, height, width),
        "offset": (2, 2 * deformable * 6, rows, columns),
        "mask": (2, deformable * 6, rows, columns),
        "weight": (4, 6 // group, *kernel),
        "bias": (4,),
    }
    inputs = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    if not with_bias:
        del inputs["bias"]
    node = helper.make_node(
        "DeformConv",
        ["x", "weight", "offset", "bias" if with_bias else "", "mask"],
        ["y"],
        group=group,
        offset_group=deformable,
        strides=[stride] * 2,
        pads=[padding] * 4,
        dilations=[dilation] * 2,
    )
    (wanted,) = standard([node], inputs, {"y": FLOAT}, opset=19)
    attributes = {"stride": [stride] * 2, "padding": [padding] * 2, "dilation": [dilation] * 2}
    attributes |= {"group": group, "deformable_group": deformable}
    close(plugin("ModulatedDeformConv2d", list(inputs.values()), **attributes)[0], wanted, 1e-5)


def test_deformable_convolution_refuses_what_is_ambiguous():
    x, one = np.ones((1, 1, 3, 3), np.float32), np.ones((1, 1, 1, 1), np.float32)
    with pytest.raises(BackendError, match="DeformConv2d") as caught:
        plugin("ModulatedDeformConv2d", [x, np.repeat(one, 2, 1), one, one], stride=[1, 2])
    assert "depends on the exporter" in str(caught.value)


@pytest.mark.parametrize(
    ("op", "inputs", "attributes"),
    [
        ("LReLU_TRT", 1, {"negSlope": 0.1}),
        ("CustomGeluPluginDynamic", 1, {"type_id": 1}),
        ("InstanceNormalization_TRT", 1, {"scales": [1.0] * 4, "bias": [0.0] * 4, "epsilon": 1e-5}),
        ("Normalize_TRT", 1, {"weights": [1.0], "acrossSpatial": 0, "channelShared": 1, "eps": 1e-5}),
        ("Reorg_TRT", 1, {"stride": 2}),
    ],
)
def test_half_precision_stays_half_and_loses_only_the_last_rounding(op, inputs, attributes):
    x = normal(2, 4, 6, 6, dtype=np.float16)
    (half,), (single,) = plugin(op, [x], **attributes), plugin(op, [x.astype(np.float32)], **attributes)
    assert half.dtype == np.float16
    np.testing.assert_allclose(half, single, rtol=2**-10, atol=1e-6)
