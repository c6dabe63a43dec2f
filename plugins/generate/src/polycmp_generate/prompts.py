"""Prompts and the tokens that they are made of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polycmp.errors import DataError, FileError, PluginError, UsageError, describe_exception

#: Files beside a tokenizer that may say which tokens end a text, the first one that does.
_SETTINGS = ("generation_config.json", "config.json")


@dataclass(frozen=True)
class Wording:
    """Conversion between tokens and text.

    Attributes:
        tokenizer: The tokenizer; None where tokens are numbers.
        ends: Tokens that end a text.
    """

    tokenizer: Any = None
    ends: frozenset[int] = frozenset()

    def tokens(self, line: str) -> list[int]:
        """Return the tokens of a prompt.

        Raises:
            ValueError: There is no tokenizer, and the line holds something else than numbers.
        """
        return list(self.tokenizer.encode(line).ids) if self.tokenizer else [_token(word) for word in line.split()]

    def words(self, tokens: Sequence[int]) -> str:
        """Return tokens as text."""
        return str(self.tokenizer.decode(list(tokens))) if self.tokenizer else " ".join(map(str, tokens))


def _token(word: str) -> int:
    if not word.isdecimal():
        raise ValueError(f"{word!r} is no number of a token")
    return int(word)


def read_prompts(path: str, text: Wording) -> list[list[int]]:
    """Return the tokens of each prompt of a file.

    Raises:
        UsageError: No file was given.
        FileError: It cannot be read.
        DataError: It holds no prompts, or a line is none.
    """
    if not path:
        raise UsageError("which prompts?", hint="--prompts FILE, with a prompt in each line")
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError("cannot read the prompts", whose=path, why=describe_exception(error)) from error
    prompts = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            tokens = text.tokens(line)
        except ValueError as error:
            raise DataError(
                f"line {number} is no prompt", whose=path, why=str(error),
                hint="--tokenizer DIR, for prompts that are text",
            ) from error  # fmt: skip
        prompts += [tokens] if tokens else []
    if not prompts:
        raise DataError("holds no prompts", whose=path, hint="write a prompt in each line")
    return prompts


def open_text(path: str) -> Wording:
    """Open a tokenizer and the settings beside it; without one, tokens are numbers.

    Raises:
        FileError: There is no such file, or it is no tokenizer.
        PluginError: The library that reads it is not installed.
    """
    if not path:
        return Wording()
    file = Path(path, "tokenizer.json") if Path(path).is_dir() else Path(path)
    if not file.is_file():
        raise FileError("no tokenizer", whose=path, why=f"there is no file {file}", hint=f"ls {file.parent}")
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise PluginError(
            "reading text needs tokenizers", whose="generate", why=describe_exception(error),
            hint="pip install 'polycmp-generate[text]'",
        ) from error  # fmt: skip
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises no type of its own
        raise FileError("this is no tokenizer", whose=str(file), why=describe_exception(error)) from error
    return Wording(tokenizer, _ends(file.parent))


def _ends(folder: Path) -> frozenset[int]:
    """Return the tokens that end a text, as the settings beside a tokenizer say.

    Raises:
        FileError: Such a file cannot be read.
    """
    for name in _SETTINGS:
        if not (folder / name).is_file():
            continue
        try:
            settings = json.loads((folder / name).read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise FileError("cannot read this", whose=str(folder / name), why=describe_exception(error)) from error
        ends = settings.get("eos_token_id") if isinstance(settings, dict) else None
        if ends is not None:
            return frozenset([ends] if isinstance(ends, int) else ends)
    return frozenset()
