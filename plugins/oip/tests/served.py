"""A server of the Open Inference Protocol that runs ONNX models with ONNX Runtime: HTTP by the standard library."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import numpy as np
import onnxruntime

from polycmp.tensors import as_dtype
from polycmp_oip.tensors import datatype_of, from_bytes, from_json, to_bytes, to_json

ORT_TYPES = {"float": "FP32", "double": "FP64", "float16": "FP16", "string": "BYTES"}
BINARY = "binary_tensor_data"


class Refused(Exception):
    """A request that the server answers with a status and a message."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status, self.message = status, message


class Model:
    """A model in ONNX.

    Args:
        model: The `onnx.ModelProto`, or bytes.
        answer: Called as `answer(run, feed)` in place of `run(feed)`, for models with faults of a server's.
    """

    def __init__(self, model, answer: Callable | None = None):
        content = model if isinstance(model, bytes) else model.SerializeToString()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        self.answer = answer or (lambda run, feed: run(feed))
        self.inputs = [described(value) for value in self.session.get_inputs()]
        self.outputs = [described(value) for value in self.session.get_outputs()]

    def run(self, feed):
        names = [item["name"] for item in self.outputs]
        try:
            return dict(zip(names, self.session.run(names, feed), strict=True))
        except Exception as error:
            raise Refused(400, str(error)) from error

    def infer(self, feed):
        return self.answer(self.run, feed)


def described(value):
    kind = value.type.removeprefix("tensor(").removesuffix(")")
    shape = [dim if isinstance(dim, int) else -1 for dim in value.shape]
    return {"name": value.name, "datatype": ORT_TYPES.get(kind, kind.upper()), "shape": shape}


class Echo:
    """A model of any types, which gives its inputs back; ONNX Runtime's Python interface lacks bfloat16.

    Args:
        tensors: Name, type and shape of each input; the outputs are called `out_NAME`.
    """

    def __init__(self, tensors):
        keys = ("name", "datatype", "shape")
        self.inputs = [dict(zip(keys, item, strict=True)) for item in tensors]
        self.outputs = [{**item, "name": f"out_{item['name']}"} for item in self.inputs]

    def infer(self, feed):
        return {f"out_{name}": array for name, array in feed.items()}


class Server:
    """The models, what was asked, and how requests are answered.

    Attributes:
        models: By name.
        extensions: Extensions that the server says it has.
        requests: Method, path and headers of every request.
        feeds: The feed of every inference.
        respond: Called as `respond(handler)` before a request is answered; true if it has answered itself. It may
            raise `Refused`.
    """

    def __init__(self):
        self.url = ""
        self.reset()

    def reset(self):
        self.models, self.extensions = {}, [BINARY, "model_repository"]
        self.requests, self.feeds, self.connections = [], [], 0
        self.ready = True
        self.respond = lambda handler: False

    def serve(self, model, name="m", answer=None):
        """Put a model on the server and return its address."""
        try:
            self.models[name] = model if hasattr(model, "infer") else Model(model, answer)
        except Exception:
            self.models[name] = None  # it is there, and not loaded
        return f"{self.url}/v2/models/{name}"

    def find(self, name, version=""):
        model = self.models.get(name)
        if model is None or version not in ("", "1"):
            raise Refused(404, f"Request for unknown model: '{name}' is not found")
        return model


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        self.server.state.connections += 1

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.answer()

    def do_POST(self):
        self.answer()

    def answer(self):
        state = self.server.state
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        state.requests.append((self.command, self.path, dict(self.headers)))
        try:
            if state.respond(self):
                self.close_connection = True
                return
            self.route(state, [unquote(part) for part in self.path.strip("/").split("/")])
        except Refused as refusal:
            self.send(refusal.status, {"error": refusal.message})

    def route(self, state, parts):
        match parts:
            case ["v2"]:
                self.send(200, {"name": "toy", "version": "1.2", "extensions": state.extensions})
            case ["v2", "health", "ready"]:
                self.send(200 if state.ready else 503, None)
            case ["v2", "repository", "index"]:
                self.send(200, [{"name": name} for name in state.models])
            case ["v2", "models", name, "versions", version, *rest]:
                self.model(state, state.find(name, version), name, rest)
            case ["v2", "models", name, *rest]:
                self.model(state, state.find(name), name, rest)
            case _:
                self.send(404, None)

    def model(self, state, model, name, rest):
        if rest == []:
            tensors = {"inputs": model.inputs, "outputs": model.outputs}
            self.send(200, {"name": name, "versions": ["1"], "platform": "onnx", **tensors})
        elif rest == ["ready"]:
            self.send(200, None)
        elif rest == ["infer"]:
            self.infer(state, model, name)
        else:
            self.send(404, None)

    def infer(self, state, model, name):
        end = int(self.headers.get("Inference-Header-Content-Length", len(self.body)))
        request, data = json.loads(self.body[:end]), memoryview(self.body)[end:]
        feed = {}
        for item in request["inputs"]:
            size = item.get("parameters", {}).get("binary_data_size")
            if size is None:
                feed[item["name"]] = from_json(item["data"], item["datatype"], item["shape"], "input")
            else:
                feed[item["name"]] = from_bytes(data[:size], item["datatype"], item["shape"], "input")
                data = data[size:]
        state.feeds.append(feed)
        results = model.infer(feed)
        outputs, chunks = [], []
        for asked in request["outputs"]:
            array = np.asarray(results[asked["name"]])
            tensor = {"name": asked["name"], "datatype": datatype_of(as_dtype(array.dtype)), "shape": array.shape}
            if asked.get("parameters", {}).get("binary_data"):
                chunks.append(bytes(to_bytes(array)))
                tensor["parameters"] = {"binary_data_size": len(chunks[-1])}
            else:
                tensor["data"] = to_json(array)
            outputs.append(tensor)
        self.send(200, {"model_name": name, "model_version": "1", "outputs": outputs}, chunks)

    def send(self, status, content, chunks=()):
        text = b"" if content is None else json.dumps(content).encode()
        self.send_response(status)
        if chunks:
            self.send_header("Inference-Header-Content-Length", str(len(text)))
        self.send_header("Content-Length", str(len(text) + sum(map(len, chunks))))
        self.end_headers()
        self.wfile.write(b"".join([text, *chunks]))


@contextmanager
def http_server(context=None):
    """Serve on loopback; with an `ssl.SSLContext`, encrypted."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda request, address: None  # connections that tests break
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.state = Server()
    server.state.url = f"{'http' if context is None else 'https'}://localhost:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
