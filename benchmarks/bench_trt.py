"""One inference with TensorRT: polycmp's runner beside a bare loop and beside Polygraphy, in one process.

Needs a CUDA device, TensorRT, and cuda-bindings or pycuda; Polygraphy is measured if it is installed. Prints a line of
JSON per network. Bare loop and runner take turns in blocks, so that both see the same state of the machine: a time is
the median of the blocks' medians in microseconds, and the spread of the bare loop is that of its own blocks.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import numpy as np

#: Network -> its shape, how many operators it has, inferences per block.
CASES = {
    "tiny": ((1, 1, 2, 2), 1, 400),
    "60 small products": ((16, 64), 60, 200),
    "38.5 MB in and out": ((32, 3, 224, 224), 1, 20),
}
BLOCKS = 9


def network(shape, operators):
    from onnx import TensorProto, helper, numpy_helper

    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "y")]
    names = ["x", *(f"t{i}" for i in range(operators - 1)), "y"]
    kinds = [("Identity", [])] if operators == 1 else [("MatMul", ["w"]), ("Tanh", [])]
    nodes = [
        helper.make_node(kinds[i % len(kinds)][0], [names[i], *kinds[i % len(kinds)][1]], [names[i + 1]])
        for i in range(operators)
    ]
    weight = np.random.default_rng(0).standard_normal((shape[-1], shape[-1])).astype(np.float32) / 8
    weights = [numpy_helper.from_array(weight, "w")] if operators > 1 else []
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()


def block(call, rounds):
    """Return the median time of one call in microseconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def in_turn(calls, rounds, blocks=BLOCKS):
    """Return the blocks' medians of several calls, which take turns, after a warm-up of each."""
    for call in calls.values():
        for _ in range(max(5, rounds // 4)):
            call()
    found = {name: [] for name in calls}
    for _ in range(blocks):
        for name, call in calls.items():
            found[name].append(block(call, rounds))
    return found


class Bare:
    """The least that one inference takes: staging, two copies, execute_async_v3, and waiting for the stream."""

    def __init__(self, engine, shape):
        from polycmp_trt.run.cuda import driver

        self.cuda = cuda = driver()
        self.context = engine.create_execution_context()
        self.stream = cuda.Stream()
        self.host_in = cuda.pagelocked_empty(shape, np.float32)
        self.host_out = cuda.pagelocked_empty(shape, np.float32)
        self.device_in = cuda.mem_alloc(self.host_in.nbytes)
        self.device_out = cuda.mem_alloc(self.host_out.nbytes)
        self.context.set_tensor_address("x", int(self.device_in))
        self.context.set_tensor_address("y", int(self.device_out))
        self.handle = self.stream.handle

    def staged(self, x):
        np.copyto(self.host_in, x)
        return self.pinned(self.host_in)

    def on_device(self):
        self.context.execute_async_v3(self.handle)
        self.stream.synchronize()

    def pinned(self, x):
        self.cuda.memcpy_htod_async(self.device_in, x, self.stream)
        self.context.execute_async_v3(self.handle)
        self.cuda.memcpy_dtoh_async(self.host_out, self.device_out, self.stream)
        self.stream.synchronize()
        return self.host_out


def measure(name, shape, operators, rounds):
    import polycmp_trt as pt
    from polycmp_trt.run.cuda import current

    plan = pt.EngineBytesFromNetwork(pt.NetworkFromOnnxBytes(network(shape, operators)))()
    x = np.random.default_rng(0).random(shape, np.float32)
    with current(0):  # the bare loop pays for no change of context
        engine = pt.engine_from_bytes(plan)
        bare = Bare(engine, shape)
        pinned = bare.cuda.pagelocked_empty(shape, np.float32)
        pinned[...] = x
        wanted = bare.staged(x).copy()
        with pt.TrtRunner(pt.EngineFromBytes(plan)) as runner, graph_of(plan) as graph:
            there = {"x": pt.DeviceView(int(bare.device_in), shape, np.float32)}
            on_device = {"copy_outputs_to_host": False}
            for each in (runner, graph):
                for _ in range(3):
                    assert np.allclose(each.infer({"x": x})["y"], wanted, atol=1e-5)
            times = {}
            for way, plain, feed, words in (
                ("staged", lambda: bare.staged(x), {"x": x}, {}),
                ("pinned", lambda: bare.pinned(pinned), {"x": pinned}, {}),
                ("on device", bare.on_device, there, on_device),
            ):
                calls = {
                    f"bare, {way}": plain,
                    f"polycmp, {way}": lambda feed=feed, words=words: runner.infer(feed, **words),
                    f"polycmp with cuda_graph, {way}": lambda feed=feed, words=words: graph.infer(feed, **words),
                }
                times |= in_turn(calls, rounds)
    times |= polygraphy(plan, x, rounds)
    middle = {key: statistics.median(values) for key, values in times.items()}
    ratios = {}
    for way in ("staged", "pinned", "on device"):
        for who in ("polycmp", "polycmp with cuda_graph"):
            ratios[f"{who}, {way}"] = middle[f"{who}, {way}"] / middle[f"bare, {way}"]
    report = {
        "network": name,
        "microseconds": {key: round(value, 1) for key, value in middle.items()},
        "spread": {key: [round(min(each), 1), round(max(each), 1)] for key, each in times.items()},
        "over bare": {key: round(value, 3) for key, value in ratios.items()},
    }
    print(json.dumps(report), flush=True)


def graph_of(plan):
    """Return a runner that uses a CUDA graph."""
    import polycmp_trt as pt

    return pt.TrtRunner(pt.EngineFromBytes(plan), cuda_graph=True)


def polygraphy(plan, x, rounds):
    try:
        from polygraphy.backend.trt import EngineFromBytes, TrtRunner
        from polygraphy.logger import G_LOGGER
    except ImportError:
        return {}
    G_LOGGER.severity = G_LOGGER.ERROR
    with TrtRunner(EngineFromBytes(plan)) as runner:
        return in_turn({"polygraphy": lambda: runner.infer({"x": x})}, max(20, rounds // 10), 3)


def main():
    try:
        import polycmp_trt.run.cuda

        polycmp_trt.run.cuda.driver()
        import tensorrt  # noqa: F401
    except Exception as error:  # noqa: BLE001
        print(f"skipped: {error}", file=sys.stderr)
        return
    for name, (shape, operators, rounds) in CASES.items():
        measure(name, shape, operators, rounds)


if __name__ == "__main__":
    main()
