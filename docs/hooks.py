"""What `mkdocs build` does beyond rendering: links to files outside `docs/` lead to the repository; the error index."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ERRORS = "reference/errors.md"
LINK = re.compile(r"\]\((?!https?://|#)([^)\s#]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return a page with links that leave the folder of the pages made absolute; a dead one ends the build."""
    folder = (ROOT / "docs" / page.file.src_uri).parent

    def absolute(match: re.Match[str]) -> str:
        target = (folder / match[1]).resolve()
        if not target.exists():
            raise FileNotFoundError(f"{page.file.src_uri}: {match[1]} leads nowhere")
        if target.is_relative_to(ROOT / "docs") and target.is_file():
            return match[0]
        kind = "tree" if target.is_dir() else "blob"
        return f"]({page_url(kind, target)}{match[2] or ''})"

    text = LINK.sub(absolute, markdown)
    return text.replace(_error_index().MARK, _error_index().table()) if page.file.src_uri == ERRORS else text


@cache
def _error_index() -> ModuleType:
    """Return the module beside this one, which MkDocs loads from its path and not as part of a package."""
    spec = spec_from_file_location("error_index", ROOT / "docs" / "error_index.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page_url(kind: str, target: Path) -> str:
    """Return the address of a file or folder in the repository."""
    return f"https://github.com/polycmp/polycmp/{kind}/main/{target.relative_to(ROOT).as_posix()}"
