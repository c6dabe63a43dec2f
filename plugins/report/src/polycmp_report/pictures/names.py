"""File names that every file system takes, and that differ wherever the pictures do."""

from __future__ import annotations

import hashlib
import re

#: Longest part of a name; file systems allow 255 bytes for the whole.
LIMIT = 48


def safe_part(text: str) -> str:
    """Return a text as part of a file name.

    Names that were changed, or differ by case only, are told apart by some digits of a digest.
    """
    clean = re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("._-")
    if clean == text and len(text) <= LIMIT and text == text.lower() and text:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{clean[: LIMIT - 9]}~{digest}" if clean else f"unnamed~{digest}"


def picture_name(iteration: int, candidate: str, reference: str, output: str, kind: str) -> str:
    """Return the file name of a picture; it starts with a word, so no reserved name can come of it."""
    pair = f"{safe_part(candidate)}-vs-{safe_part(reference)}"
    return f"iteration-{iteration:06d}-{pair}-{safe_part(output)}-{kind}.png"
