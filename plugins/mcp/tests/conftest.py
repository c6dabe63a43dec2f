"""What the tests of this package share: commands run in their process and leave its messages as they were."""

from __future__ import annotations

import pytest

from polycmp.messages import restored_logging


@pytest.fixture(autouse=True)
def messages_as_before():
    """Undo what commands that ran in this process arranged for messages, or tests of other packages would see it."""
    with restored_logging():
        yield
