"""The server over gRPC; that its messages are those of the protocol, `triton_messages.json` shows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
import numpy as np
from served import Refused, Server

from polycmp.tensors import as_dtype
from polycmp_oip.messages import messages
from polycmp_oip.tensors import datatype_of, from_bytes, to_bytes

CODES = {400: grpc.StatusCode.INVALID_ARGUMENT, 404: grpc.StatusCode.NOT_FOUND}


def server_metadata(state, request):
    return {"name": "toy", "version": "1.2", "extensions": state.extensions}


def model_metadata(state, request):
    model = state.find(request.name, request.version)
    tensor = messages()["Tensor"]
    return {"inputs": [tensor(**item) for item in model.inputs], "outputs": [tensor(**item) for item in model.outputs]}


def model_ready(state, request):
    return {"ready": state.ready}


def repository_index(state, request):
    return {"models": [messages()["ModelIndex"](name=name) for name in state.models]}


def model_infer(state, request):
    model = state.find(request.model_name, request.model_version)
    pairs = zip(request.inputs, request.raw_input_contents, strict=True)
    feed = {item.name: from_bytes(raw, item.datatype, list(item.shape), "input") for item, raw in pairs}
    state.feeds.append(feed)
    results = model.infer(feed)
    arrays = {asked.name: np.asarray(results[asked.name]) for asked in request.outputs}
    tensors = [
        messages()["Tensor"](name=name, datatype=datatype_of(as_dtype(array.dtype)), shape=array.shape)
        for name, array in arrays.items()
    ]
    return {"outputs": tensors, "raw_output_contents": [bytes(to_bytes(array)) for array in arrays.values()]}


METHODS = {
    "ServerMetadata": server_metadata, "ModelMetadata": model_metadata, "ModelReady": model_ready,
    "RepositoryIndex": repository_index, "ModelInfer": model_infer,
}  # fmt: skip


def handler(state, name, method):
    def answer(request, context):
        state.requests.append((name, "", dict(context.invocation_metadata())))
        state.respond(context)
        try:
            return messages()[f"{name}Response"](**method(state, request))
        except Refused as refusal:
            context.abort(CODES[refusal.status], refusal.message)

    return grpc.unary_unary_rpc_method_handler(
        answer, messages()[f"{name}Request"].FromString, lambda message: message.SerializeToString()
    )


@contextmanager
def grpc_server(credentials=None):
    """Serve on loopback; with credentials, encrypted."""
    state = Server()
    server = grpc.server(ThreadPoolExecutor(16), options=[("grpc.max_receive_message_length", -1)])
    handlers = {name: handler(state, name, method) for name, method in METHODS.items()}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("inference.GRPCInferenceService", handlers),))
    if credentials is None:
        state.url = f"grpc://localhost:{server.add_insecure_port('127.0.0.1:0')}"
    else:
        state.url = f"grpcs://localhost:{server.add_secure_port('127.0.0.1:0', credentials)}"
    server.start()
    try:
        yield state
    finally:
        server.stop(None).wait()
