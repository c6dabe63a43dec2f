"""`among`: the same request alone, at once with others, and stacked with them into one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("polycmp_onnx")
pytest.importorskip("polycmp_onnxrt")

from networks import Packed, network, save
from served import Echo, Refused

from polycmp_oip import OipRunner
from polycmp_oip.plugin import Options

BOTH = pytest.mark.parametrize("transport", ["server", "grpc_state"])


def mean_of_the_batch(y):
    """Move each row towards the mean of the batch, as normalisation in training mode does."""
    return y if len(y) == 1 else y + np.float32(0.1) * y.mean(axis=0, keepdims=True, dtype=np.float32)


def compare(polycmp, server, *words):
    return polycmp("run", save(), "-b", f"oip:url={server.url}/v2/models/m,name=served", "-b", "onnxrt", *words)


@BOTH
def test_nothing_depends_on_them(polycmp, transport, request):
    server = request.getfixturevalue(transport)
    packed = Packed()
    server.serve(network(), answer=packed)
    done = compare(polycmp, server, "--among", 4)
    assert (done.status, "PASSED" in done.out) == (0, True), done.out + done.err
    same = "3 neighbours change nothing: sent at once or stacked into one request, outputs are the same to the last bit"
    assert same in done.words
    assert max(packed.batches) == 4


@BOTH
def test_requests_of_a_batch_mix(polycmp, transport, request):
    server = request.getfixturevalue(transport)
    server.serve(network(), answer=Packed(mean_of_the_batch))
    assert compare(polycmp, server).status == 0
    done = compare(polycmp, server, "--among", 4)
    assert (done.status, "FAILED: 1 of 1 output differs" in done.words) == (1, True), done.out + done.err
    assert "output 'y' depends on the request's neighbours: it moves by up to" in done.words
    assert "when sent at once with 3 neighbours" in done.words
    assert "when stacked into one request with 3 neighbours" in done.words
    assert "sent alone again" not in done.words


def test_rows_of_one_request_are_named(polycmp, server):
    """The server's kernel for batches of 8 and more forgets a row; which one, counted in the request, is said."""

    def forgets(run, feed):
        y = run(feed)["y"].copy()
        if len(y) >= 8:
            y[[7, 10]] = 0
        return {"y": y}

    server.serve(network(), answer=forgets)
    done = compare(polycmp, server, "--among", 3, "--input-shapes", "x:[4,8]")
    assert (done.status, "FAILED" in done.out) == (1, True), done.out + done.err
    assert "row 3 of output 'y' depends on its neighbours: it moves by up to" in done.words
    assert "when stacked into one request with 2 neighbours" in done.words
    assert "when sent at once" not in done.words


def test_a_server_whose_results_change_by_themselves_is_told_apart(polycmp, server):
    counts = itertools.count()
    server.serve(network(), answer=lambda run, feed: {"y": run(feed)["y"] + np.float32(next(counts))})
    done = compare(polycmp, server, "--among", 2)
    assert "moves by up to" in done.words and "also when the same request is sent alone again" in done.words


def test_a_limit_of_the_server_is_no_failure(polycmp, server):
    def at_most_two(run, feed):
        if len(feed["x"]) > 2:
            raise Refused(400, "batch-size must be <= 2")
        return run(feed)

    server.serve(network(), answer=at_most_two)
    done = compare(polycmp, server, "--among", 3)
    assert (done.status, "PASSED" in done.out) == (0, True), done.out + done.err
    assert "stacked into one request with 2 neighbours: refused" in done.words
    assert "batch-size must be <= 2" in done.words
    assert "2 neighbours change nothing: sent at once, outputs are the same" in done.words


def test_a_fixed_batch_is_not_stacked(server):
    served = server.serve(network(batch=2))
    with OipRunner(served, options=Options(among=3)) as runner:
        runner.infer({"x": np.ones((2, 8), np.float32)})
    assert {len(feed["x"]) for feed in server.feeds} == {2}
    assert len(server.feeds) == 4


def test_a_request_that_fails_among_others_alone(polycmp, server):
    packed = Packed(seconds=0.2)

    def full(run, feed):
        outputs = packed(run, feed)
        if packed.batches[-1] > 1:
            raise Refused(503, "exceeds maximum queue size")
        return outputs

    server.serve(network(), answer=full)
    done = compare(polycmp, server, "--among", 3)
    assert (done.status, "runs the request alone, and not among others" in done.words) == (3, True), done.out + done.err
    assert "exceeds maximum queue size" in done.words


def test_of_a_server_that_failed_nothing_is_said(polycmp, server):
    def refuse(run, feed):
        raise Refused(500, "out of memory")

    server.serve(network(), answer=refuse)
    done = compare(polycmp, server, "--among", 3)
    assert (done.status, "change nothing" in done.words) == (3, False), done.out + done.err


def test_neighbours_hold_the_values_of_the_request(server):
    """So that a model takes them: token ids stay token ids. Text and truth values move, too."""
    tensors = [("ids", "INT64", [-1, -1]), ("words", "BYTES", [-1]), ("flags", "BOOL", [-1]), ("one", "FP32", [])]
    feed = {
        "ids": np.array([[5, 6, 7, 8]], np.int64),
        "words": np.array(["a"], object),
        "flags": np.array([True]),
        "one": np.array(3, np.float32),
    }
    with OipRunner(server.serve(Echo(tensors)), options=Options(among=4)) as runner:
        outputs = runner.infer(feed)
    assert all((outputs[f"out_{name}"] == array).all() for name, array in feed.items())
    assert {tuple(sorted(asked["ids"].reshape(-1).tolist())) for asked in server.feeds} == {(5, 6, 7, 8)}
    assert len({tuple(asked["ids"].reshape(-1).tolist()) for asked in server.feeds}) == 4
    assert runner.notes == ["3 neighbours change nothing: sent at once, outputs are the same to the last bit"]
