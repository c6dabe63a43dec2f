"""One inference with TensorRT: polycmp's runner beside a bare loop and beside Polygraphy, in one process.

Needs a CUDA device, TensorRT, and cuda-bindings or pycuda; Polygraphy is measured if it is installed. Prints a line of
JSON per case. Times are medians in microseconds, host copies and synchronisation included.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import numpy as np

CASES = {"tiny": ((1, 1, 2, 2), 2000), "38.5 MB in and out": ((32, 3, 224, 224), 60)}


def identity(shape):
    from onnx import TensorProto, helper

    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])],
        "identity",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()


def median(call, rounds):
    """Return the median time of one call in microseconds, after a warm-up."""
    for _ in range(max(5, rounds // 10)):
        call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


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


def measure(name, shape, rounds):
    import polycmp_trt as pt
    from polycmp_trt.run.cuda import current

    plan = pt.EngineBytesFromNetwork(pt.NetworkFromOnnxBytes(identity(shape)))()
    x = np.random.default_rng(0).random(shape, np.float32)
    times = {}
    with current(0):
        engine = pt.engine_from_bytes(plan)
        bare = Bare(engine, shape)
        pinned = bare.cuda.pagelocked_empty(shape, np.float32)
        pinned[...] = x
        assert np.array_equal(bare.staged(x), x)
        times["bare, staged"] = median(lambda: bare.staged(x), rounds)
        times["bare, pinned"] = median(lambda: bare.pinned(pinned), rounds)
        times["bare, on device"] = median(bare.on_device, rounds)
    with pt.TrtRunner(pt.EngineFromBytes(plan)) as runner:
        assert np.array_equal(runner.infer({"x": x})["y"], x)
        times["polycmp, staged"] = median(lambda: runner.infer({"x": x}), rounds)
        times["polycmp, pinned"] = median(lambda: runner.infer({"x": pinned}), rounds)
        times["polycmp, events"] = runner.last_inference_time() * 1e6
        there = {"x": pt.DeviceView(int(bare.device_in), shape, np.float32)}
        times["polycmp, on device"] = median(lambda: runner.infer(there, copy_outputs_to_host=False), rounds)
    times |= polygraphy(plan, x, rounds)
    with current(0):
        times["bare, staged, again"] = median(lambda: bare.staged(x), rounds)
    floor = min(times["bare, staged"], times["bare, staged, again"])
    ratios = {"staged": times["polycmp, staged"] / floor, "pinned": times["polycmp, pinned"] / times["bare, pinned"]}
    ratios["on device"] = times["polycmp, on device"] / times["bare, on device"]
    print(
        json.dumps(
            {
                "case": name,
                "microseconds": {key: round(value, 1) for key, value in times.items()},
                "polycmp / bare": {key: round(value, 3) for key, value in ratios.items()},
            }
        )
    )


def polygraphy(plan, x, rounds):
    try:
        from polygraphy.backend.trt import EngineFromBytes, TrtRunner
        from polygraphy.logger import G_LOGGER
    except ImportError:
        return {}
    G_LOGGER.severity = G_LOGGER.ERROR
    with TrtRunner(EngineFromBytes(plan)) as runner:
        return {"polygraphy": median(lambda: runner.infer({"x": x}), max(20, rounds // 10))}


def main():
    try:
        import polycmp_trt.run.cuda

        polycmp_trt.run.cuda.driver()
        import tensorrt  # noqa: F401
    except Exception as error:  # noqa: BLE001
        print(f"skipped: {error}", file=sys.stderr)
        return
    for name, (shape, rounds) in CASES.items():
        measure(name, shape, rounds)


if __name__ == "__main__":
    main()
