"""What `mkdocs build` does beyond rendering: links to files outside `docs/` lead to the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
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

    return LINK.sub(absolute, markdown)


def page_url(kind: str, target: Path) -> str:
    """Return the address of a file or folder in the repository."""
    return f"https://github.com/polycmp/polycmp/{kind}/main/{target.relative_to(ROOT).as_posix()}"
