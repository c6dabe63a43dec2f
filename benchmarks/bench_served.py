"""What the backend `oip` adds to a request, beside a bare loop over urllib3 or grpcio with the same bytes.

    python benchmarks/bench_served.py [--repeats 5]

The server is that of the tests of polycmp-oip, in a process of its own, and gives its inputs back. Measured is the
processor time of the client for one request; the sizes are those of one way.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import urllib3

from polycmp_oip import OipRunner
from polycmp_oip.address import parse_address
from polycmp_oip.plugin import Options

TESTS = Path(__file__).parents[1] / "plugins" / "oip" / "tests"
#: Numbers in a tensor, and requests of one repeat.
SIZES = {"1 kB": (250, 400), "600 kB": (150_528, 100), "40 MB": (10_000_000, 5)}


def serve() -> None:
    """Serve until standard input ends, and print the addresses."""
    sys.path.insert(0, str(TESTS))
    from served import Echo, http_server
    from served_grpc import grpc_server

    with http_server() as http, grpc_server() as grpc:
        for state in (http, grpc):
            state.serve(Echo([("x", "FP32", [-1])]))
            state.feeds = state.requests = Forgetful()
        print(http.url, grpc.url, flush=True)
        sys.stdin.read()


class Forgetful:
    """A list that keeps nothing: the server's records of what was asked would fill the memory."""

    def append(self, item: object) -> None:
        """Forget it."""


def bare_http(url: str, x: Any) -> Callable[[], None]:
    """Return a loop's body that sends x as bytes and reads the answer."""
    address = parse_address(url)
    pool = urllib3.HTTPConnectionPool(address.host, address.port)

    def once() -> None:
        tensor = {"name": "x", "datatype": "FP32", "shape": list(x.shape), "parameters": {"binary_data_size": x.nbytes}}
        asked = {"inputs": [tensor], "outputs": [{"name": "out_x", "parameters": {"binary_data": True}}]}
        text = json.dumps(asked).encode()
        headers = {"Inference-Header-Content-Length": str(len(text))}
        answer = pool.request("POST", "/v2/models/m/infer", body=text + x.tobytes(), headers=headers)
        end = int(answer.headers["Inference-Header-Content-Length"])
        shape = json.loads(answer.data[:end])["outputs"][0]["shape"]
        np.frombuffer(answer.data, np.float32, offset=end).reshape(shape)

    return once


def bare_grpc(url: str, x: Any) -> Callable[[], None]:
    """Return the same over gRPC."""
    import grpc

    from polycmp_oip.messages import messages

    size = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    call = grpc.insecure_channel(parse_address(url).authority, size).unary_unary(
        "/inference.GRPCInferenceService/ModelInfer",
        lambda message: message.SerializeToString(),
        messages()["ModelInferResponse"].FromString,
    )

    def once() -> None:
        tensor = messages()["Tensor"](name="x", datatype="FP32", shape=x.shape)
        asked = [messages()["Asked"](name="out_x")]
        request = messages()["ModelInferRequest"](
            model_name="m", inputs=[tensor], outputs=asked, raw_input_contents=[x.tobytes()]
        )
        answer = call(request)
        np.frombuffer(answer.raw_output_contents[0], np.float32).reshape(answer.outputs[0].shape)

    return once


def seconds(once: Callable[[], Any], requests: int) -> float:
    """Return the processor time of one request."""
    once()
    start = time.process_time()
    for _ in range(requests):
        once()
    return (time.process_time() - start) / requests


def measure(urls: dict[str, str], repeats: int) -> None:
    """Print a line for each transport and size."""
    print("| | oip | bare | more |\n|---|---|---|---|")
    for size, (count, requests) in SIZES.items():
        x = np.random.default_rng(0).normal(size=count).astype(np.float32)
        for transport, url in urls.items():
            bare = (bare_http if transport == "HTTP" else bare_grpc)(url, x)
            with OipRunner(f"{url}/v2/models/m", options=Options(timeout=120)) as runner:
                ask = partial(runner.infer, {"x": x})
                turns = [(seconds(ask, requests), seconds(bare, requests)) for _ in range(repeats)]
            ours, theirs = (statistics.median(column) for column in zip(*turns, strict=True))
            more = f"{(ours - theirs) * 1e6:.0f} µs"
            print(f"| {size} by {transport} | {ours * 1e3:.3f} ms | {theirs * 1e3:.3f} ms | {more} |")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="turns of each loop (default: 5)")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin and server.stdout
        try:
            measure(dict(zip(("HTTP", "gRPC"), server.stdout.readline().split(), strict=True)), options.repeats)
        finally:
            server.stdin.close()


if __name__ == "__main__":
    main()
