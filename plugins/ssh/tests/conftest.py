"""The ssh server of these tests, under a short name."""

from __future__ import annotations

import pytest
from commandline import loggers_given_back
from ssh_server import ssh_of_session, ssh_server

__all__ = ["loggers_given_back", "ssh_of_session", "ssh_server"]


@pytest.fixture
def server(ssh_server):
    """Return the server; whatever runs there ends with the test."""
    return ssh_server
