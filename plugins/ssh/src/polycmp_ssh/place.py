"""Where a backend runs: a machine as ssh knows it, and an interpreter there."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from polycmp.errors import UsageError

#: Nothing asks for a password, and a machine that is not there, or is cut off, is noticed.
_OPTIONS = ("BatchMode=yes", "ConnectTimeout=20", "ServerAliveInterval=10", "ServerAliveCountMax=3")


@dataclass(frozen=True)
class Place:
    """An interpreter on a machine.

    Attributes:
        host: The machine as ssh takes it: a name of ~/.ssh/config, or USER@HOST.
        port: The port of its ssh server; 0 for what ssh knows of it.
        python: The interpreter, from the home folder there or absolute.
    """

    host: str
    port: int = 0
    python: str = "python3"

    @staticmethod
    def of(url: str, whose: str) -> Place:
        """Return the place that `ssh://HOST[:PORT][/INTERPRETER]` names.

        Raises:
            UsageError: It names none.
        """
        parts = urlsplit(url)
        host = parts.netloc.rpartition(":")[0] if _port(parts, url, whose) else parts.netloc
        # A word that begins with a hyphen would be an option of ssh.
        if parts.scheme != "ssh" or not host or host.startswith("-") or any(sign.isspace() for sign in host):
            raise UsageError(f"{url!r} names no machine", whose=whose, hint="-b NAME:ssh=USER@HOST[:PORT]")
        return Place(host, _port(parts, url, whose), parts.path.removeprefix("/") or "python3")

    def words(self, code: str) -> Sequence[str]:
        """Return the command that runs code in the interpreter, with this side's pipes as its standard streams."""
        options = [word for option in _OPTIONS for word in ("-o", option)]
        port = ["-p", str(self.port)] if self.port else []
        return ["ssh", "-T", *options, *port, "--", self.host, f"{shlex.quote(self.python)} -c {shlex.quote(code)}"]

    def command(self, words: str) -> str:
        """Return what a user types to run words there."""
        return f"ssh {f'-p {self.port} ' if self.port else ''}{self.host} {words}"


def _port(parts: SplitResult, url: str, whose: str) -> int:
    try:
        return parts.port or 0
    except ValueError as error:
        raise UsageError(f"{url!r} names no machine", whose=whose, why=str(error)) from error
