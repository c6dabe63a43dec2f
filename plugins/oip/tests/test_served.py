"""What users see of the backend `oip`: a served model beside a local one, over HTTP and gRPC."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("polycmp_onnx")
pytest.importorskip("polycmp_onnxrt")

from networks import network, save
from served import Echo

from polycmp_oip import OipRunner
from polycmp_oip.address import parse_address
from polycmp_oip.plugin import Options

BOTH = pytest.mark.parametrize("transport", ["server", "grpc_state"])


@BOTH
def test_a_served_model_beside_a_local_one(polycmp, transport, request):
    server = request.getfixturevalue(transport)
    server.serve(network())
    done = polycmp("run", save(), "-b", f"oip:url={server.url},model_name=m", "-b", "onnxrt", "--report", "r.json")
    assert (done.status, "PASSED: 1 output" in done.out) == (0, True), done.out + done.err
    ran = done.report()["inference_results"]
    assert ran[f"oip:url={server.url},model_name=m"]["version"] == "toy 1.2"
    server.serve(network(scale=1.01))
    done = polycmp("run", "m.onnx", "-b", f"oip:url={server.url}/v2/models/m/versions/1", "-b", "onnxrt")
    assert (done.status, "FAILED: 1 of 1 output differs" in done.out) == (1, True), done.out + done.err


def test_requests_share_a_connection_and_each_is_sent_once(polycmp, server):
    server.serve(network())
    done = polycmp("run", save(), "-b", f"oip:url={server.url}/v2/models/m", "-b", "onnxrt", "--iterations", 5)
    assert done.status == 0, done.out + done.err
    asked = [path for _, path, _ in server.requests]
    assert asked == ["/v2", "/v2/models/m", "/v2/models/m/ready", *["/v2/models/m/infer"] * 5]
    assert server.connections == 1


@pytest.mark.parametrize(
    ("extensions", "tensors", "sent"),
    [
        (["binary_tensor_data"], "auto", "application/octet-stream"),
        ([], "auto", "application/json"),
        (["binary_tensor_data"], "json", "application/json"),
        ([], "bytes", "application/octet-stream"),
    ],
)
def test_the_form_of_tensors_is_the_servers_or_the_users_choice(server, extensions, tensors, sent):
    server.extensions = extensions
    x = np.float32([[0.1, -1e-30, 3e38, 1, 2, 3, 4, 5]])
    with OipRunner(server.serve(network()), options=Options(tensors=tensors)) as runner:
        runner.infer({"x": x})
    assert server.requests[-1][2]["Content-Type"] == sent
    np.testing.assert_array_equal(server.feeds[-1]["x"], x)


def values(dtype, shape):
    size = int(np.prod(shape))
    if dtype == np.dtype(object):
        return np.resize(np.array(["", "a", "ünï\n"], object), size).reshape(shape)
    if dtype.kind == "b":
        return np.resize([True, False], size).reshape(shape)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.resize(np.array([limits.max, limits.min, 1], dtype), size).reshape(shape)
    return np.resize(np.array([0.1, -2.5, 240.0]), size).astype(dtype).reshape(shape)


DATATYPES = ["BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64",
             "BYTES", "BF16"]  # fmt: skip


@pytest.mark.parametrize("shape", [(3,), (2, 0, 3), ()], ids=["three", "none", "scalar"])
@pytest.mark.parametrize("form", ["bytes", "json", "grpc"])
def test_every_type_of_the_protocol_comes_back_as_it_went(form, shape, request):
    server = request.getfixturevalue("grpc_state" if form == "grpc" else "server")
    model = Echo([(name, name, [-1 for _ in shape]) for name in DATATYPES])
    options = Options() if form == "grpc" else Options(tensors=form)
    with OipRunner(server.serve(model), options=options) as runner:
        inputs = runner.get_input_metadata()
        feed = {name: values(entry.dtype, shape) for name, entry in inputs.items()}
        outputs = runner.infer(feed)
    assert list(inputs) == DATATYPES
    for name, array in feed.items():
        answered = outputs[f"out_{name}"]
        assert (answered.dtype, answered.shape) == (array.dtype, array.shape), name
        assert answered.tolist() == array.tolist(), name
        assert server.feeds[-1][name].tolist() == array.tolist(), name


@pytest.mark.parametrize("form", ["bytes", "json"])
def test_numbers_that_are_none_come_back(server, form):
    x = np.float32([np.nan, np.inf, -np.inf])
    with OipRunner(server.serve(Echo([("x", "FP32", [-1])])), options=Options(tensors=form)) as runner:
        np.testing.assert_array_equal(runner.infer({"x": x})["out_x"], x)


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_answers_in_pieces_and_compressed(server, encoding):
    """As proxies in front of a server hand them on."""
    y = np.random.default_rng(0).normal(size=(300_000, 4)).astype(np.float32)
    head = json.dumps({"outputs": [{"name": "y", "datatype": "FP32", "shape": y.shape,
                                    "parameters": {"binary_data_size": y.nbytes}}]}).encode()  # fmt: skip
    content = gzip.compress(head + y.tobytes(), 1) if encoding == "gzip" else head + y.tobytes()

    def respond(handler):
        if not handler.path.endswith("/infer"):
            return False
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.send_header("Inference-Header-Content-Length", str(len(head)))
        handler.send_header("Content-Encoding", encoding)
        handler.end_headers()
        for start in range(0, len(content), 65_536):
            part = content[start : start + 65_536]
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        handler.wfile.write(b"0\r\n\r\n")
        return True

    server.respond = respond
    with OipRunner(server.serve(network())) as runner:
        np.testing.assert_array_equal(runner.infer({"x": np.ones((1, 8), np.float32)})["y"], y)


def test_text_that_is_not_utf8_is_compared(polycmp, server):
    server.serve(Echo([("t", "BYTES", [2])]), "text")
    Path("text.oip").touch()
    Path("d.py").write_text(
        "import numpy as np\ndef load_data():\n    yield {'t': np.array([b'\\xff\\xfe', 'a'], object)}\n"
    )
    done = polycmp(
        "run",
        "text.oip",
        "--oip-url",
        server.url,
        "-b",
        "oip",
        "-b",
        "oip",
        "--data-loader-script",
        "d.py",
        "--report",
        "r.json",
    )
    assert done.status == 0, done.out + done.err
    assert server.feeds[0]["t"][0].encode("utf-8", "surrogateescape") == b"\xff\xfe"


def test_inputs_with_other_names_are_paired_as_those_of_files_are(polycmp, server):
    server.serve(network(names=("serving_default_x:0", "y")))
    done = polycmp("run", save(), "-b", f"oip:url={server.url}/v2/models/m", "-b", "onnxrt")
    assert (done.status, "by the spelling" in done.words) == (0, True), done.out + done.err
    server.serve(network(names=("data", "scores")))
    words = ("run", "m.onnx", "-b", f"oip:url={server.url}/v2/models/m", "-b", "onnxrt")
    assert polycmp(*words).status != 0
    done = polycmp(*words, "--map-output", "scores=y")
    assert (done.status, "the only ones whose types and shapes fit" in done.words) == (0, True), done.out + done.err


def test_inputs_are_held_against_what_the_server_declares(polycmp, server):
    server.serve(network(batch=4))
    done = polycmp(
        "run", save(), "-b", f"oip:url={server.url}/v2/models/m", "-b", "onnxrt", "--input-shapes", "x:[2,8]"
    )
    assert done.status != 0
    assert "[2,8]" in done.out + done.err and "[4,8]" in done.out + done.err
    assert server.feeds == []


def test_two_servers_without_a_local_file(polycmp, server):
    server.serve(network(), "a")
    Path("a.oip").write_text("")
    one, two = f"oip:url={server.url}", f"oip:url={server.url},model_version=1"
    done = polycmp("run", "a.oip", "-b", one, "-b", two, "--input-shapes", "x:[2,8]")
    assert (done.status, "PASSED" in done.out) == (0, True), done.out + done.err
    asked = {path for _, path, _ in server.requests if "infer" in path}
    assert asked == {"/v2/models/a/infer", "/v2/models/a/versions/1/infer"}
    server.serve(network(scale=2.0), "b")
    Path("b.oip").write_text("b\n")
    done = polycmp("run", "a.oip", "--oip-url", server.url, "-b", "oip:model=b.oip", "-b", "oip")
    assert (done.status, "FAILED" in done.out) == (1, True), done.out + done.err
    assert "/v2/models/b/infer" in {path for _, path, _ in server.requests}


@pytest.mark.parametrize("text", [b"http://host/v2/models/m", b"one\ntwo", b"\xff\xfe"])
def test_a_file_that_holds_no_name_alone(polycmp, server, text):
    """An address in the file is refused: a file of a stranger's must not say where inputs are sent."""
    Path("a.oip").write_bytes(text)
    done = polycmp("run", "a.oip", "-b", f"oip:url={server.url}", "-b", f"oip:url={server.url},timeout=1")
    assert (done.status, "next: echo NAME > a.oip" in done.words) == (3, True), done.out + done.err
    assert server.requests == []


def test_what_is_missing_on_the_command_line(polycmp, server):
    done = polycmp("run", save(), "-b", "oip", "-b", "onnxrt")
    assert (done.status, "no server is named" in done.words) == (3, True), done.out + done.err
    done = polycmp("run", "m.onnx", "-b", f"oip:url={server.url}", "-b", "onnxrt")
    assert (done.status, f"no model on {server.url} is named" in done.words) == (3, True), done.out + done.err
    done = polycmp("run", "m.onnx", "-b", "triton", "-b", "onnxrt")
    assert (done.status, "oip" in done.out + done.err) == (3, True), done.out + done.err


def test_locate_says_that_a_server_shows_nothing_inside(polycmp, server):
    pytest.importorskip("polycmp_locate")
    server.serve(network(scale=2.0))
    done = polycmp("locate", save(), "-b", f"oip:url={server.url}/v2/models/m", "-b", "onnxrt")
    assert (done.status, "cannot run parts of a model" in done.err) == (2, True), done.out + done.err


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("among=1", "at least 2"),
        ("timeout=0", "above 0"),
        ("url=localhost:8000", "begins with http://"),
        ("url=http://user:word@host", "no user, password"),
        ("url=http://host/?token=a", "no user, password"),
        ("url=grpc://host", "names the port"),
        ("url=grpcs://host:1,insecure", "gRPC always checks"),
        ("key=k.pem", "needs certificate"),
        ("header_env=[A:X],header_file=[a:f]", "given twice"),
        ("header_env=X", "no name of a header"),
        ("tensors=xml", "tensors"),
    ],
)
def test_options_that_cannot_be_right(polycmp, option, why):
    done = polycmp("run", save(), "-b", f"oip:{option}", "-b", "onnxrt")
    assert (done.status, why in done.out + done.err) == (2, True), done.out + done.err


def test_addresses():
    address = parse_address("https://host/a/b/v2/models/my%20net/versions/2/")
    assert (address.server, address.model, address.version) == ("https://host:443/a/b", "my net", "2")
    assert parse_address("http://host:8000/v2/").server == "http://host:8000"
    assert parse_address("grpc://[::1]:8001").authority == "[::1]:8001"
    assert address.with_model("other", "").version == ""
    assert address.with_model("", "3").version == "3"


def test_messages_are_those_that_triton_and_its_client_write():
    """What a real server and its client wrote, read and written again by the table of fields."""
    pytest.importorskip("google.protobuf")
    from polycmp_oip.messages import messages
    from polycmp_oip.tensors import from_bytes

    recorded = json.loads((Path(__file__).parent / "triton_messages.json").read_text())["messages"]
    read = {}
    for method, (request, answer) in recorded.items():
        read[method] = messages()[f"{method}Request"].FromString(bytes.fromhex(request))
        assert read[method].SerializeToString().hex() == request, method
        read[f"{method} answer"] = messages()[f"{method}Response"].FromString(bytes.fromhex(answer))
    server = read["ServerMetadata answer"]
    assert (server.name, server.version, "binary_tensor_data" in server.extensions) == ("triton", "2.51.0", True)
    assert read["ModelReady answer"].ready
    model = read["ModelMetadata answer"]
    described = [(item.name, item.datatype, list(item.shape)) for item in (*model.inputs, *model.outputs)]
    assert described == [("x", "FP32", [-1, 8]), ("y", "FP32", [-1, 4])]
    (output,) = read["ModelInfer answer"].outputs
    y = from_bytes(read["ModelInfer answer"].raw_output_contents[0], output.datatype, list(output.shape), "y")
    assert y.shape == (2, 4) and np.isfinite(y).all() and len(np.unique(y)) == 8
