"""Every way in which a server fails: one line that says what, whose and why, and the next command."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time

import pytest

pytest.importorskip("onnx")
pytest.importorskip("polycmp_onnx")
pytest.importorskip("polycmp_onnxrt")

from networks import network, save
from served import Echo, Refused

BOTH = pytest.mark.parametrize("transport", ["server", "grpc_state"])


def failing(polycmp, address, *options):
    """Run against a server that fails, and return what is said of it as one text."""
    spec = f"oip:url={address},name=served{''.join(f',{option}' for option in options)}"
    done = polycmp("run", save(), "-b", spec, "-b", "onnxrt", "--report", "r.json")
    assert (done.status, "ERROR: served failed" in done.words) == (3, True), done.out + done.err
    assert done.report()["inference_results"]["served"]["error"]
    said = done.words[done.words.index("served failed:") :]
    assert said.count(" next: ") == 1, said
    return said


def inferences(server):
    return sum(path.endswith("/infer") or method == "ModelInfer" for method, path, _ in server.requests)


def on_inference(answer):
    """Return a `respond` that answers inferences in its own way, with the bytes that a function returns."""

    def respond(handler):
        if not handler.path.endswith("/infer"):
            return False
        content = answer(handler)
        if content is not None:
            handler.wfile.write(content)
        return True

    return respond


def http(status, body, more=b""):
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\nConnection: close\r\n%s\r\n%s" % (status, len(body), more, body)


@pytest.fixture
def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_down(polycmp, free_port):
    said = failing(polycmp, f"http://localhost:{free_port}/v2/models/m")
    assert f"no server answers at http://localhost:{free_port} (ConnectionRefusedError" in said
    assert f"next: curl -i http://localhost:{free_port}/v2/health/ready" in said


def test_down_by_grpc(polycmp, free_port):
    pytest.importorskip("grpc")
    said = failing(polycmp, f"grpc://localhost:{free_port}/v2/models/m")
    assert f"no server answers at grpc://localhost:{free_port} (UNAVAILABLE" in said
    assert "8001" in said


def test_no_such_host(polycmp):
    assert "there is no host 'no-such-host.invalid'" in failing(polycmp, "http://no-such-host.invalid/v2/models/m")


def test_slow(polycmp, server):
    server.serve(network())
    done = threading.Event()
    server.respond = on_inference(lambda handler: done.wait(20) and None)
    said = failing(polycmp, f"{server.url}/v2/models/m", "timeout=0.3")
    done.set()
    assert f"{server.url} did not answer within 0.3 s" in said
    assert "next: -b oip:…,timeout=3, or" in said
    assert inferences(server) == 1


def test_something_else_at_the_port_of_grpc(polycmp):
    pytest.importorskip("grpc")
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up():
            with contextlib.suppress(OSError):
                while True:
                    listener.accept()[0].close()

        thread = threading.Thread(target=hang_up, daemon=True)
        thread.start()
        said = failing(polycmp, f"grpc://127.0.0.1:{listener.getsockname()[1]}/v2/models/m", "timeout=10")
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert "grpc://127.0.0.1" in said and "UNAVAILABLE" in said


def test_slow_by_grpc(polycmp, grpc_state):
    grpc_state.serve(network())
    grpc_state.respond = lambda context: time.sleep(0.5 if grpc_state.requests[-1][0] == "ModelInfer" else 0)
    said = failing(polycmp, f"{grpc_state.url}/v2/models/m", "timeout=0.3")
    assert f"{grpc_state.url} did not answer within 0.3 s (DEADLINE_EXCEEDED" in said
    assert inferences(grpc_state) == 1


def test_an_answer_that_drips(polycmp, server):
    """Each part comes in time, the whole never does."""
    server.serve(network())

    def drip(handler):
        handler.wfile.write(b"HTTP/1.1 200 X\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(100):
            handler.wfile.write(b" ")
            time.sleep(0.05)

    server.respond = on_inference(drip)
    assert f"{server.url} did not answer within 0.3 s" in failing(polycmp, f"{server.url}/v2/models/m", "timeout=0.3")


def broken_off(handler):
    handler.wfile.write(b'HTTP/1.1 200 X\r\nContent-Length: 1000\r\n\r\n{"outputs": [')


def reset(handler):
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


@pytest.mark.parametrize("cut", [lambda handler: None, broken_off, reset], ids=["unanswered", "half", "reset"])
def test_cut_in_the_middle(polycmp, server, cut):
    server.serve(network())
    server.respond = on_inference(cut)
    said = failing(polycmp, f"{server.url}/v2/models/m")
    assert f"{server.url} broke the connection before its answer was complete" in said
    assert "so it is not sent again" in said
    assert inferences(server) == 1


WRONG = {
    "no JSON": (b"<html>Bad gateway</html>", "no object of JSON: '<html>Bad gateway</html>'"),
    "no object": (b"[1, 2]", "no object of JSON: '[1, 2]'"),
    "no outputs": (b'{"model_name": "m"}', "it has no list of outputs"),
    "shape": (b'{"outputs": [{"name": "y", "datatype": "FP32", "shape": [1, -4], "data": []}]}', "the shape [1, -4]"),
    "size": (
        b'{"outputs": [{"name": "y", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3]}]}',
        "output 'y' comes as 3 elements, which are not those of FP32[1, 4]",
    ),
    "type": (
        b'{"outputs": [{"name": "y", "datatype": "FP7", "shape": [1, 4], "data": [1, 2, 3, 4]}]}',
        "elements of type 'FP7', which the protocol does not have",
    ),
    "values": (
        b'{"outputs": [{"name": "y", "datatype": "FP32", "shape": [2], "data": ["a", 2]}]}',
        "output 'y' holds what is no FP32",
    ),
    "fraction": (
        b'{"outputs": [{"name": "y", "datatype": "INT32", "shape": [2], "data": [1.5, 2]}]}',
        "output 'y' holds what is no INT32",
    ),
    "another output": (
        b'{"outputs": [{"name": "z", "datatype": "FP32", "shape": [1], "data": [1]}]}',
        "leaves output 'y' out of its answer (it has z)",
    ),
    "bytes": (
        b'{"outputs": [{"name": "y", "datatype": "FP32", "shape": [4], "parameters": {"binary_data_size": 99}}]}',
        "output 'y' is said to have 99 bytes, and 0 are left",
    ),
    "header": (b"{}", "the header Inference-Header-Content-Length is 'many'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_answers_that_are_not_of_the_protocol(polycmp, server, case):
    server.serve(network())
    body, why = WRONG[case]
    more = b"Inference-Header-Content-Length: many\r\n" if case == "header" else b""
    server.respond = on_inference(lambda handler: http(200, body, more))
    said = failing(polycmp, f"{server.url}/v2/models/m")
    assert why in said
    assert server.url in said
    assert inferences(server) == 1


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (500, b'{"error": "CUDA out of memory"}', "(status 500: CUDA out of memory)"),
        (503, b"", "(status 503)"),
        (422, b'{"detail": [{"msg": "field required"}]}', "field required"),
        (502, b"<h1>Bad\n  gateway</h1>", "(status 502: <h1>Bad gateway</h1>)"),
        (400, b'{"error": "' + b"x" * 5000 + b'"}', "(5000 characters)"),
    ],
)
def test_refusals_have_the_servers_message(polycmp, server, status, body, why):
    server.serve(network())
    server.respond = on_inference(lambda handler: http(status, body))
    said = failing(polycmp, f"{server.url}/v2/models/m")
    assert f"{server.url} does not run model 'm'" in said
    assert why in said
    assert inferences(server) == 1


@BOTH
def test_a_model_that_fails_says_why(polycmp, transport, request):
    server = request.getfixturevalue(transport)

    def answer(run, feed):
        raise Refused(400, "unexpected shape for input 'x'")

    server.serve(network(), answer=answer)
    said = failing(polycmp, f"{server.url}/v2/models/m")
    assert f"{server.url} does not run model 'm'" in said
    assert "unexpected shape for input 'x'" in said
    assert inferences(server) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_server_that_wants_to_know_who_asks(polycmp, server, status):
    server.serve(network())
    server.respond = lambda handler: handler.wfile.write(http(status, b'{"error": "no token"}')) or True
    said = failing(polycmp, f"{server.url}/v2/models/m")
    assert f"{server.url} does not let this client ask for model 'm' (status {status}: no token)" in said
    assert "header_env=[Authorization:VARIABLE]" in said


def test_who_asks_is_asked_for_also_where_a_kept_connection_is_closed(polycmp):
    """The server keeps a connection open after its answer, and closes it when the next request has come."""
    refusal = b'HTTP/1.1 401 X\r\nContent-Length: 21\r\n\r\n{"error": "no token"}'
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer_once_a_connection():
            with contextlib.suppress(OSError):
                while True:
                    connection = listener.accept()[0]
                    with connection:
                        connection.recv(1 << 16)
                        connection.sendall(refusal)
                        connection.recv(1 << 16)

        thread = threading.Thread(target=answer_once_a_connection, daemon=True)
        thread.start()
        said = failing(polycmp, f"http://127.0.0.1:{listener.getsockname()[1]}/v2/models/m", "timeout=10")
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert "does not let this client ask for model 'm' (status 401: no token)" in said


def test_redirections_are_not_followed(polycmp, server):
    server.serve(network())
    to = b"Location: https://elsewhere/v2/models/m?token=abc\r\n"
    server.respond = lambda handler: handler.wfile.write(http(308, b"", to)) or True
    said = failing(polycmp, f"{server.url}/v2/models/m")
    assert "sends requests on to https://elsewhere/v2/models/m" in said
    assert "next: -b oip:url=https://elsewhere" in said
    assert "abc" not in said


@BOTH
def test_an_unknown_model(polycmp, transport, request):
    server = request.getfixturevalue(transport)
    server.serve(network(), "resnet50")
    said = failing(polycmp, f"{server.url}/v2/models/resnet5")
    assert f"{server.url} has no model 'resnet5' that is ready" in said
    assert "did you mean 'resnet50'?" in said
    assert "has no model 'resnet50' version 7" in failing(polycmp, f"{server.url}/v2/models/resnet50/versions/7")


@BOTH
def test_a_model_that_is_there_and_not_loaded(polycmp, transport, request):
    server = request.getfixturevalue(transport)
    server.serve(b"nonsense")
    assert f"{server.url} has no model 'm' that is ready" in failing(polycmp, f"{server.url}/v2/models/m")


def test_a_server_that_is_not_ready(polycmp, server):
    server.ready = False
    said = failing(polycmp, f"{server.url}/v2/models/m")
    assert f"{server.url} is not ready (status 503)" in said


def test_a_gateway_that_leads_to_models_alone(polycmp, server):
    server.serve(network())
    server.respond = lambda handler: "/models/" not in handler.path and (handler.wfile.write(http(404, b"")) or True)
    done = polycmp("run", save(), "-b", f"oip:url={server.url}/v2/models/m", "-b", "onnxrt")
    assert (done.status, "PASSED" in done.out) == (0, True), done.out + done.err
    assert "has no model 'other' that is ready" in failing(polycmp, f"{server.url}/v2/models/other")


@pytest.mark.parametrize("answer", [http(200, b'{"name": "m", "ready": false}'), http(400, b"")])
def test_a_model_that_is_not_ready(polycmp, server, answer):
    server.serve(network())
    server.respond = lambda handler: handler.path.endswith("m/ready") and (handler.wfile.write(answer) or True)
    assert f"{server.url} has model 'm' not ready" in failing(polycmp, f"{server.url}/v2/models/m")


def test_a_model_that_is_not_ready_by_grpc(polycmp, grpc_state):
    grpc_state.serve(network())
    grpc_state.ready = False
    assert f"{grpc_state.url} has model 'm' not ready" in failing(polycmp, f"{grpc_state.url}/v2/models/m")


@BOTH
def test_a_server_that_does_not_say_what_a_model_takes(polycmp, transport, request):
    server = request.getfixturevalue(transport)
    server.serve(Echo([]))
    said = failing(polycmp, f"{server.url}/v2/models/m")
    assert f"{server.url} does not say which inputs model 'm' takes" in said
    assert "model-settings.json" in said


@BOTH
def test_a_type_that_no_protocol_has(polycmp, transport, request):
    server = request.getfixturevalue(transport)
    server.serve(Echo([("x", "FP8", [-1])]))
    assert "input 'x' has elements of type 'FP8'" in failing(polycmp, f"{server.url}/v2/models/m")


def test_something_else_answers(polycmp, server):
    server.respond = lambda handler: handler.wfile.write(http(200, b"<html>Welcome</html>")) or True
    said = failing(polycmp, f"{server.url}/v2/models/m")
    assert f"the answer of {server.url}/v2 is none of the protocol (no object of JSON: '<html>Welcome</html>')" in said


def test_the_port_of_grpc_asked_by_http(polycmp, grpc_state):
    grpc_state.serve(network())
    said = failing(polycmp, grpc_state.url.replace("grpc", "http") + "/v2/models/m")
    assert "does not speak HTTP" in said
    assert "url=grpc://" in said


def test_grpc_that_is_not_installed(polycmp, server, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "grpc", None)
    said = failing(polycmp, "grpc://localhost:1/v2/models/m")
    assert "gRPC needs grpcio and protobuf" in said
    assert "next: pip install 'polycmp-oip[grpc]'" in said


def test_an_output_of_another_type_than_declared_is_compared_and_noted(polycmp, server):
    server.serve(network(), answer=lambda run, feed: {"y": run(feed)["y"].astype("float64")})
    done = polycmp("run", save(), "-b", f"oip:url={server.url}/v2/models/m", "-b", "onnxrt")
    noted = "the server declares output 'y' as float32[-1,4], and it comes as float64[1,4]"
    assert (done.status in (0, 1), noted in done.words) == (True, True), done.out + done.err
