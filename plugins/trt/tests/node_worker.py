"""Runs a share of the one-node cases of the onnx package with TensorRT and prints one line of JSON for each.

A process of its own, because a case may take the whole process down, and because building is slow on one core.
Usage: node_worker.py FIRST STEP SKIP, where SKIP cases of the share are left out.
"""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import replace

import numpy as np
from onnx import TensorProto

from polycmp.runner import Runner
from polycmp.testing.nodes import NodeCase, NodeCorpus, node_cases
from polycmp_trt import CreateConfig, EngineFromNetwork, NetworkFromOnnxBytes, Profile, TrtRunner
from polycmp_trt.features import has

_NARROWER = {np.dtype(np.int64): np.dtype(np.int32), np.dtype(np.float64): np.dtype(np.float32)}


class Trt(NodeCorpus):
    def make_runner(self, model) -> Runner:
        kinds = {value.type.tensor_type.elem_type for value in (*model.graph.input, *model.graph.output)}

        def config(builder, network):
            create = CreateConfig(
                fp16=TensorProto.FLOAT16 in kinds,
                int8=bool(kinds & {TensorProto.INT8, TensorProto.UINT8}),
                builder_optimization_level=0,
                profiles=[profile_of(network, self.feed)],
            )
            return create(builder, network)

        return TrtRunner(EngineFromNetwork(NetworkFromOnnxBytes(model.SerializeToString()), config))

    def try_case(self, case):
        self.feed = case.feed
        return super().try_case(case)


def profile_of(network, feed) -> Profile:
    """Return a profile with the values that shape tensors have in a feed: TensorRT takes no others."""
    profile = Profile()
    for index in range(network.num_inputs):
        tensor = network.get_input(index)
        if tensor.is_shape_tensor and tensor.name in feed:
            values = [int(value) for value in feed[tensor.name].reshape(-1)]
            profile.add(tensor.name, values, values, values)
    return profile


def narrowed(case: NodeCase) -> NodeCase:
    """Return the case in the widest types that this TensorRT has: its parser narrows 64-bit numbers."""
    if has("DataType.INT64"):
        return case

    def narrow(array):
        wanted = _NARROWER.get(array.dtype)
        if wanted is None:
            return array
        limits = np.iinfo(wanted) if wanted.kind == "i" else np.finfo(wanted)
        return array.clip(limits.min, limits.max).astype(wanted)

    feed = {name: narrow(array) for name, array in case.feed.items()}
    return replace(case, feed=feed, expected={name: narrow(array) for name, array in case.expected.items()})


def main() -> None:
    logging.disable(logging.CRITICAL)
    first, step, skip = (int(word) for word in sys.argv[1:4])
    corpus = Trt()
    for case in node_cases()[first::step][skip:]:
        print(json.dumps({"start": case.name}), flush=True)
        failure = corpus.try_case(narrowed(case))
        answer = None if failure is None else [failure.reason, failure.in_words, failure.is_wrong]
        print(json.dumps({"name": case.name, "failure": answer}), flush=True)


if __name__ == "__main__":
    main()
