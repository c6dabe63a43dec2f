"""Selection of a suite's cases: by expression, by tag, by changed files, by requirements."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from polycmp.errors import UsageError, describe_exception
from polycmp_suite.suitefile.case import Case, Suite

_WORD = re.compile(r"\s*(\(|\)|[^\s()]+)")
Test = Callable[[str], bool]


def expression(text: str) -> Test:
    """Return the test that an expression describes: words that a text contains, `and`, `or`, `not`, parentheses.

    Raises:
        UsageError: It is none.
    """
    words = _WORD.findall(text)
    test, rest = _either(words, text)
    if rest:
        raise _wrong(text, rest[0])
    return test


def _either(words: list[str], text: str) -> tuple[Test, list[str]]:
    first, words = _both(words, text)
    while words[:1] == ["or"]:
        second, words = _both(words[1:], text)
        first = _or(first, second)
    return first, words


def _both(words: list[str], text: str) -> tuple[Test, list[str]]:
    first, words = _one(words, text)
    while words[:1] == ["and"]:
        second, words = _one(words[1:], text)
        first = _and(first, second)
    return first, words


def _one(words: list[str], text: str) -> tuple[Test, list[str]]:
    if not words or words[0] in {"and", "or", ")"}:
        raise _wrong(text, words[0] if words else "its end")
    if words[0] == "not":
        inner, rest = _one(words[1:], text)
        return (lambda name: not inner(name)), rest
    if words[0] == "(":
        inner, rest = _either(words[1:], text)
        if rest[:1] != [")"]:
            raise _wrong(text, rest[0] if rest else "its end")
        return inner, rest[1:]
    word = words[0].lower()
    return (lambda name: word in name), words[1:]


def _or(first: Test, second: Test) -> Test:
    return lambda name: first(name) or second(name)


def _and(first: Test, second: Test) -> Test:
    return lambda name: first(name) and second(name)


def _wrong(text: str, where: str) -> UsageError:
    return UsageError(
        f"-k {text!r} is not an expression", why=f"the mistake is at {where}", hint="-k 'resnet and not (fp16 or int8)'"
    )


def choose(cases: Iterable[Case], text: str = "", tags: Collection[str] = ()) -> list[Case]:
    """Return the cases whose names and tags an expression fits, and that have one of the tags.

    Raises:
        UsageError: It is no expression, or fits nothing.
    """
    cases = list(cases)
    test = expression(text) if text.strip() else None
    known = {tag for case in cases for tag in case.tags}
    if unknown := [tag for tag in tags if tag not in known]:
        raise UsageError(
            f"--tag: no case has the tag {unknown[0]!r}", why=f"there are {', '.join(sorted(known)) or 'none'}"
        )
    chosen = [
        case
        for case in cases
        if (not tags or set(tags) & set(case.tags)) and (test is None or test(" ".join((case.id, *case.tags)).lower()))
    ]
    if not chosen:
        raise UsageError("no case matches", hint="--list shows the cases")
    return chosen


def changed_since(revision: str, suite: Suite, cases: Iterable[Case]) -> list[Case]:
    """Return the cases with a file that changed since a git revision; all if the suite's file did.

    Raises:
        UsageError: git is not there, knows no such revision, or the suite lies in no repository.
    """
    folder = Path(suite.folder)
    root = Path(_git(folder, "rev-parse", "--show-toplevel").strip())
    names = [*_git(root, "diff", "--name-only", "-z", revision, "--").split("\0"),
             *_git(root, "ls-files", "--others", "--exclude-standard", "-z").split("\0")]  # fmt: skip
    changed = {(root / name).resolve() for name in names if name}
    if Path(suite.path).resolve() in changed:
        return list(cases)
    return [case for case in cases if any(_touches((folder / name).resolve(), changed) for name in case.files)]


def _touches(path: Path, changed: Collection[Path]) -> bool:
    """Return whether a file, or anything in a folder, is among those that changed."""
    return path in changed or any(path in item.parents for item in changed)


def _git(folder: Path, *words: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)
    except OSError as error:
        raise UsageError("--changed-since needs git", why=describe_exception(error)) from error
    if done.returncode:
        raise UsageError("--changed-since: git does not say what has changed", why=done.stderr.strip().splitlines()[-1])
    return done.stdout


def lacking(case: Case, provided: Collection[str], gpus: Collection[str]) -> str:
    """Name the first requirement of a case that is missing; empty if it has all.

    Args:
        case: The case.
        provided: Names of what the machine has besides modules and GPUs.
        gpus: The GPUs.
    """
    return next((need for need in case.needs if not _is_present(need, provided, gpus)), "")


def _is_present(need: str, provided: Collection[str], gpus: Collection[str]) -> bool:
    if need in provided or need == "cuda":  # a package brings a module of that name, and no GPU
        return need in provided or bool(gpus)
    try:
        return need.isidentifier() and importlib.util.find_spec(need) is not None
    except (ImportError, ValueError):
        return False


def find_gpus(text: str, environment: str | None) -> tuple[str, ...]:
    """Return the names of the GPUs that may be used.

    Args:
        text: The user's choice: a number, or names with commas between; empty for all.
        environment: The value of CUDA_VISIBLE_DEVICES; None if it is not set.

    Raises:
        UsageError: It is neither.
    """
    available = tuple(filter(None, (environment or "").split(",")))
    if environment is None:
        available = tuple(sorted(path.name.removeprefix("nvidia") for path in Path("/dev").glob("nvidia[0-9]*")))
    if not text:
        return available
    if "," in text:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if not text.strip().isdigit():
        raise UsageError(
            f"--gpus: {text!r} is neither a number nor a list", hint="--gpus 2, or --gpus 0,3 (--gpus 3, for one alone)"
        )
    count = int(text)
    return available[:count] if len(available) >= count else tuple(map(str, range(count)))


def failed_first(cases: Iterable[Case], failed: Collection[str]) -> Iterator[Case]:
    """Yield the cases, those that failed the last time first."""
    cases = list(cases)
    yield from (case for case in cases if case.id in failed)
    yield from (case for case in cases if case.id not in failed)
