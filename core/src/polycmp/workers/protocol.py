"""Messages between a session and its worker: one JSON object a line, tensors by their place in shared memory."""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Mapping
from typing import Any

from polycmp import errors
from polycmp.errors import BackendError, PolycmpError, describe_exception

#: Raised when either side learns a message that the other must know; sides of different number do not talk.
PROTOCOL = 1


class Channel:
    """One end of the conversation.

    Args:
        reading: File descriptor to read from.
        writing: File descriptor to write to.
    """

    def __init__(self, reading: int, writing: int) -> None:
        self._reading = reading
        self._writing = writing
        self._buffer = b""

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message.

        Raises:
            BrokenPipeError: The other end is gone.
        """
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(self._writing, data) :]

    def receive(self, timeout: float = 0.0) -> dict[str, Any] | None:
        """Return the next message; None if the other end is gone.

        Args:
            timeout: Seconds to wait; 0 waits for ever.

        Raises:
            TimeoutError: Nothing came in time.
        """
        deadline = time.monotonic() + timeout if timeout else None
        while b"\n" not in self._buffer:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([self._reading], [], [], left)[0]:
                raise TimeoutError
            data = os.read(self._reading, 1 << 16)
            if not data:
                return None
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def close(self) -> None:
        """Close both directions."""
        for descriptor in (self._reading, self._writing):
            os.close(descriptor)


def error_to_json(error: BaseException) -> dict[str, str]:
    """Return an exception as plain text fields."""
    if isinstance(error, PolycmpError):
        return {
            "kind": type(error).__name__,
            "what": error.what,
            "whose": error.whose,
            "why": error.why,
            "hint": error.hint,
        }
    return {"kind": "BackendError", "what": describe_exception(error), "whose": "", "why": "", "hint": ""}


def error_from_json(fields: Mapping[str, str]) -> PolycmpError:
    """Return the exception that `error_to_json` described; a kind unknown here becomes a `BackendError`."""
    kind = getattr(errors, fields.get("kind", ""), BackendError)
    if not (isinstance(kind, type) and issubclass(kind, PolycmpError)):
        kind = BackendError
    return kind(
        fields.get("what", "failed"),
        whose=fields.get("whose", ""),
        why=fields.get("why", ""),
        hint=fields.get("hint", ""),
    )
