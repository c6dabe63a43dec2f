"""The ssh server of these tests, under a short name."""

from __future__ import annotations

import pytest
from ssh_server import ssh_of_session, ssh_server

__all__ = ["ssh_of_session", "ssh_server"]


@pytest.fixture
def server(ssh_server):
    """Return the server; whatever runs there ends with the test."""
    return ssh_server
