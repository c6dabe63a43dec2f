"""What the tests of this package share: commands run in their process and leave its messages as they were."""

from __future__ import annotations

from in_process import messages_as_before

__all__ = ["messages_as_before"]
