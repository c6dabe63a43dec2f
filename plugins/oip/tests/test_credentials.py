"""What headers hold goes to the server and nowhere else; and encrypted connections."""

from __future__ import annotations

import re
import ssl
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("onnx")
pytest.importorskip("polycmp_onnx")
pytest.importorskip("polycmp_onnxrt")

from commandline import Done
from in_process import plugins_installed
from networks import network, save
from served import Refused, http_server

from polycmp.cli.main import run as run_command
from polycmp_oip import OipRunner
from polycmp_oip.plugin import Options

TOKEN, KEY = "c0ffee-token-4711", "deadbeef\"key'0815"
SPEC = "oip:url={url}/v2/models/m,name=served,header_env=[Authorization:OIP_TOKEN],header_file=[X-Api-Key:key.txt]"
BOTH = pytest.mark.parametrize("transport", ["server", "grpc_state"])


@pytest.fixture
def secrets(polycmp, monkeypatch):
    """A token in a variable, and a key in a file that is no output."""
    monkeypatch.setenv("OIP_TOKEN", f"Bearer {TOKEN}")
    Path("key.txt").write_text(f"{KEY}\n")


@pytest.fixture
def loud(polycmp, capfd):
    """Run `polycmp` with all that it logs, tracebacks too."""

    def run(*words):
        capfd.readouterr()
        status = run_command([*map(str, words), "-vvv"], plugins_installed())
        captured = capfd.readouterr()
        return Done(status, captured.out, captured.err, Path.cwd())

    return run


def leaks(done, folder):
    """Return where a value is repeated, in what a command printed and in all that it wrote."""
    written = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "key.txt"}
    written |= {"out": done.out.encode(), "err": done.err.encode()}
    assert len(written) > 3
    return [str(name) for name, text in written.items() if re.search(b"c0ffee-|ken-4711|deadbeef|'0815", text)]


def received(server):
    return [{name.lower(): value for name, value in headers.items()} for _, _, headers in server.requests]


WRITING = (
    "--report",
    "r.json",
    "--log-file",
    "log.txt",
    "--save-outputs",
    "out.npz",
    "--save-inputs",
    "in.json",
    "-vvv",
)


@BOTH
@pytest.mark.parametrize("scale", [1.0, 2.0], ids=["passes", "differs"])
def test_headers_go_to_the_server_alone(loud, secrets, transport, scale, request, tmp_path):
    server = request.getfixturevalue(transport)
    server.serve(network(scale=scale))
    done = loud("run", save(), "-b", SPEC.format(url=server.url), "-b", "onnxrt", *WRITING)
    assert done.status == (scale != 1.0), done.out + done.err
    for headers in received(server):
        assert (headers["authorization"], headers["x-api-key"]) == (f"Bearer {TOKEN}", KEY)
    assert received(server)
    assert leaks(done, tmp_path) == []
    assert "OIP_TOKEN" in Path("r.json").read_text()


@BOTH
def test_a_server_that_repeats_them_in_its_error_is_not_quoted(loud, secrets, transport, request, tmp_path):
    server = request.getfixturevalue(transport)

    def refuse(run, feed):
        raise Refused(400, f"token {TOKEN} of 'Bearer {TOKEN}' with {KEY} is worn out")

    server.serve(network(), answer=refuse)
    done = loud("run", save(), "-b", SPEC.format(url=server.url), "-b", "onnxrt", *WRITING)
    assert (done.status, "is worn out" in done.words) == (3, True), done.out + done.err
    assert leaks(done, tmp_path) == []


def test_an_answer_that_is_none_of_the_protocol_is_not_quoted_either(loud, secrets, server, tmp_path):
    page = f"<html>{TOKEN} {KEY}</html>{' ' * 300}{'.' * 90}{TOKEN * 99}".encode()
    answer = b"HTTP/1.1 200 X\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(page), page)
    server.respond = lambda handler: handler.wfile.write(answer) or True
    done = loud("run", save(), "-b", SPEC.format(url=server.url), "-b", "onnxrt", *WRITING)
    assert (done.status, "<html>*** ***</html> ..." in done.words) == (3, True), done.out + done.err
    assert leaks(done, tmp_path) == []


def test_other_reports_and_commands_written_down_hold_names_alone(polycmp, secrets, server, tmp_path):
    pytest.importorskip("polycmp_report")
    pytest.importorskip("polycmp_receipt")
    server.serve(network(scale=2.0))
    reports = ("--report", "r.html", "--report", "r.xml", "--report", "r.md", "--report", "r.json")
    done = polycmp(
        "run", save(), "-b", SPEC.format(url=server.url), "-b", "onnxrt", *reports, "--write-config", "c.toml"
    )
    assert done.status == 1, done.out + done.err
    assert leaks(done, tmp_path) == []
    for option, file in (("--receipt", "receipt.json"), ("--gen-script", "script.py")):
        done = polycmp("run", "m.onnx", "-b", SPEC.format(url=server.url), "-b", "onnxrt", option, file)
        assert leaks(done, tmp_path) == []
        assert "OIP_TOKEN" in Path(file).read_text()
    done = polycmp("run", "--config", "c.toml")
    assert done.status == 1, done.out + done.err
    assert received(server)[-1]["x-api-key"] == KEY


def test_the_runner_does_not_show_them(secrets, server):
    options = Options(header_env={"Authorization": "OIP_TOKEN"})
    with OipRunner(server.serve(network()), options=options) as runner:
        assert TOKEN not in repr(runner) + repr(vars(runner)) + repr(vars(runner._client)) + str(runner.notes)
        assert TOKEN not in runner.source()


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("header_env=[A:OIP_UNSET]", "the environment variable OIP_UNSET is not set"),
        ("header_file=[A:gone.txt]", "the header A cannot be read from gone.txt"),
        ("header_file=[A:empty.txt]", "the file empty.txt holds no value of the header A (it is empty)"),
        ("header_file=[A:lines.txt]", "the file lines.txt holds no value of the header A (a header is one line"),
        ("header_file=[A:bytes.bin]", "cannot be read from bytes.bin (it is no text"),
        ("certificate=gone.pem", "no certificate could be read from gone.pem"),
        ("ca_file=empty.txt", "no certificate could be read from empty.txt"),
    ],
)
def test_values_that_cannot_be_had(polycmp, server, monkeypatch, option, said):
    monkeypatch.delenv("OIP_UNSET", raising=False)
    Path("empty.txt").write_text("\n")
    Path("lines.txt").write_text("secret-one\nsecret-two\n")
    Path("bytes.bin").write_bytes(b"\xff\xfe\xfd")
    url = server.url.replace("http:", "https:") if "header" not in option else server.url
    done = polycmp("run", save(), "-b", f"oip:url={url}/v2/models/m,{option}", "-b", "onnxrt")
    assert (done.status, said in done.words) == (3, True), done.out + done.err
    assert "secret-" not in done.out + done.err
    assert server.requests == []


def test_suites_of_others_send_nothing(polycmp, server):
    """`--no-scripts`, and `polycmp mcp` by the same rule, refuse an address to which inputs and files would go."""
    pytest.importorskip("polycmp_suite")
    server.serve(network())
    save()
    Path("s.toml").write_text(
        f'[[case]]\nname = "a"\nmodel = "m.onnx"\n'
        f'backends = ["oip:url={server.url}/v2/models/m,header_file=[A:key.txt]", "onnxrt"]\n'
    )
    Path("key.txt").write_text(KEY)
    done = polycmp("suite", "s.toml", "--no-scripts")
    assert done.status != 0
    assert ": url names code to run" in done.words + " ".join(done.err.split())
    assert server.requests == []


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """Certificates: an authority, that of a server, that of a client, and an authority that nobody trusts."""
    trustme = pytest.importorskip("trustme")
    folder = tmp_path_factory.mktemp("certificates")
    ours, others = trustme.CA(), trustme.CA()
    ours.cert_pem.write_to_path(folder / "ca.pem")
    others.cert_pem.write_to_path(folder / "other.pem")
    for name in ("localhost", "elsewhere"):
        ours.issue_cert(name).private_key_and_cert_chain_pem.write_to_path(folder / f"{name}.pem")
    client = ours.issue_cert("client@polycmp")
    client.cert_chain_pems[0].write_to_path(folder / "client.pem")
    client.private_key_pem.write_to_path(folder / "client.key")
    return folder


@contextmanager
def encrypted(transport, folder, name="localhost", client=False):
    if transport == "https":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / f"{name}.pem")
        if client:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(folder / "ca.pem")
        with http_server(context) as state:
            yield state
        return
    grpc = pytest.importorskip("grpc")
    from served_grpc import grpc_server

    pem = (folder / f"{name}.pem").read_bytes()
    trusted = (folder / "ca.pem").read_bytes() if client else None
    with grpc_server(grpc.ssl_server_credentials([(pem, pem)], trusted, client)) as state:
        yield state


@pytest.mark.parametrize("transport", ["https", "grpcs"])
def test_encrypted_connections(polycmp, authority, transport):
    def run(options):
        return polycmp("run", save(), "-b", f"oip:url={state.url}/v2/models/m,timeout=10{options}", "-b", "onnxrt")

    with encrypted(transport, authority) as state:
        state.serve(network())
        trusted = run(f",ca_file={authority}/ca.pem")
        assert (trusted.status, "PASSED" in trusted.out) == (0, True), trusted.out + trusted.err
        for options in ("", f",ca_file={authority}/other.pem"):
            done = run(options)
            assert (done.status, f"no encrypted connection to {state.url}" in done.words) == (3, True), (
                done.out + done.err
            )
            assert "next: -b oip:…,ca_file=FILE names the certificates to trust" in done.words
        if transport == "https":
            done = run(",insecure")
            assert (done.status, "was not checked" in done.words) == (0, True), done.out + done.err
            assert "Warning" not in done.err
    with encrypted(transport, authority, "elsewhere") as state:
        state.serve(network())
        done = run(f",ca_file={authority}/ca.pem")
        assert (done.status, "no encrypted connection" in done.words) == (3, True), done.out + done.err


@pytest.mark.parametrize("transport", ["https", "grpcs"])
def test_certificates_of_clients(polycmp, authority, transport):
    with encrypted(transport, authority, client=True) as state:
        state.serve(network())
        known = f"oip:url={state.url}/v2/models/m,timeout=10,ca_file={authority}/ca.pem"
        done = polycmp("run", save(), "-b", known, "-b", "onnxrt")
        assert done.status == 3, done.out + done.err
        assert not state.feeds
        done = polycmp(
            "run",
            "m.onnx",
            "-b",
            f"{known},certificate={authority}/client.pem,key={authority}/client.key",
            "-b",
            "onnxrt",
        )
        assert (done.status, "PASSED" in done.out) == (0, True), done.out + done.err
