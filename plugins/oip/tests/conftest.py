"""The tests' own modules, a command line, and servers that start once for each module."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from commandline import polycmp, signals_as_a_terminal_has_them, toybox

sys.path.insert(0, str(Path(__file__).parent))

__all__ = ["polycmp", "signals_as_a_terminal_has_them", "toybox"]


@pytest.fixture(scope="module")
def _server():
    pytest.importorskip("onnxruntime", reason="the server runs models with it")
    from served import http_server

    with http_server() as state:
        yield state


@pytest.fixture
def server(_server):
    """A server without models, whose answers a test may change."""
    _server.reset()
    return _server


@pytest.fixture(scope="module")
def _grpc():
    pytest.importorskip("grpc", reason="needs the extra grpc")
    from served_grpc import grpc_server

    with grpc_server() as state:
        yield state


@pytest.fixture
def grpc_state(_grpc):
    """The same over gRPC."""
    _grpc.reset()
    return _grpc
