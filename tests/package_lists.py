"""Writes the lists of packages, of which each stands once: folders of `plugins`, and `full` of `core/pyproject.toml`.

    python tests/package_lists.py

`make tables` runs it. What lies between the marks of the root `pyproject.toml` is written anew, and the line of the
README, in each language, that installs from a checkout.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/zh/README.md")
_MARKED = re.compile(r"( *)# packages: (\w+)\n.*?# end of packages\n", re.DOTALL)
_INSTALLING = re.compile(r"^pip install '\./core\[full\]'.*$", re.MULTILINE)
_OURS = re.compile(r'"polycmp-(\w+)')


def names() -> list[str]:
    """Return the names of the folders of all packages but the core."""
    return sorted(path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml"))


def full() -> list[str]:
    """Return the names of the folders of the packages that `polycmp[full]` brings, in the order written there."""
    text = (ROOT / "core" / "pyproject.toml").read_text(encoding="utf-8")
    return _OURS.findall(text[text.index("\nfull = [") : text.index("]\n# Inputs and outputs")])


def _sources(packages: Sequence[str]) -> str:
    return "\n".join(f"polycmp-{name} = {{ workspace = true }}" for name in packages)


def _modules(packages: Sequence[str]) -> str:
    return textwrap.fill(" ".join(f'"polycmp_{name}",' for name in packages), 118)


_WRITERS: Mapping[str, Callable[[Sequence[str]], str]] = {"sources": _sources, "modules": _modules}


def settings(text: str) -> str:
    """Return the root `pyproject.toml` with its lists of packages."""

    def written(mark: re.Match[str]) -> str:
        body = textwrap.indent(f"# packages: {mark[2]}\n{_WRITERS[mark[2]](names())}\n# end of packages", mark[1])
        return f"{body}\n"

    return _MARKED.sub(written, text)


def page(text: str) -> str:
    """Return a README with the line that installs from a checkout."""
    folders = " ".join(f"./plugins/{name}" for name in full())
    return _INSTALLING.sub(lambda _: f"pip install './core[full]' {folders}", text)


def files() -> dict[Path, str]:
    """Return what each file with lists holds if they are right."""
    made = {ROOT / name: page((ROOT / name).read_text(encoding="utf-8")) for name in PAGES}
    path = ROOT / "pyproject.toml"
    return {**made, path: settings(path.read_text(encoding="utf-8"))}


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
