"""What `mkdocs build` does beyond rendering.

Links to files outside `docs/` lead to the repository, lines of Chinese are joined without a space, the error index is
made, and so is the list of the public modules that no other page shows. What is copied of a session is its commands.
Models find the pages in `llms.txt`.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape, unescape
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ERRORS = "reference/errors.md"
#: Where the page of public modules shows those that no other page does.
OTHERS = "<!-- other public modules -->"
#: Other names of modules that are shown, and packages whose modules are.
ALIASES = {
    "polycmp": "polycmp.spec",
    "polycmp_onnx": "polycmp_onnx.load",
}
#: A line break between two Chinese characters, which a browser would show as a space. Code has none of them in a row.
CHINESE_BREAK = re.compile(r"(?<=[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef])\n(?=[\u4e00-\u9fff\uff00-\uffef])")
#: The exit status that tests expect of a command, at the end of its line.
STATUS = re.compile(r"^(\$ .*?) +# exit \d$", re.MULTILINE)
#: A session as it is highlighted, and a command in it: further lines follow a backslash.
SESSION = re.compile(r'<div class="highlight">(<pre><span></span><code><span class="gp">.*?)</div>', re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.MULTILINE)
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

    text = STATUS.sub(r"\1", LINK.sub(absolute, CHINESE_BREAK.sub("", markdown)))
    text = text.replace(OTHERS, "\n\n".join(f"::: {name}" for name in other_modules()))
    return text.replace(_error_index().MARK, _error_index().table()) if page.file.src_uri == ERRORS else text


def on_page_content(html: str, **_: Any) -> str:
    """Return a page whose sessions tell the button that copies them (`data-copy`) their commands alone."""

    def told(match: re.Match[str]) -> str:
        commands = COMMAND.findall(unescape(re.sub(r"<[^>]+>", "", match[1])))
        return match[0].replace("<div ", f'<div data-copy="{escape(chr(10).join(commands))}" ', 1)

    return SESSION.sub(told, html)


def on_post_build(config: Any, **_: Any) -> None:
    """Write the index of the pages for models beside the home page (https://llmstxt.org)."""
    Path(config["site_dir"], "llms.txt").write_text(index_for_models(config["site_name"]), encoding="utf-8")


def index_for_models(name: str) -> str:
    """Return the first paragraph of `README.md`, and its table of pages as links to their Markdown."""
    page = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    summary = page.partition("\n\n")[2].partition("\n\n")[0].partition(" [中文]")[0].replace("**", "")
    rows = re.findall(r"^\| \[(\S+\.md)\]\(\1\) \| (.*) \|$", page, re.MULTILINE)
    raw = "https://raw.githubusercontent.com/polycmp/polycmp/main/docs"
    listed = "\n".join(f"- [{path}]({raw}/{path}): {text}" for path, text in rows)
    return f"# {name}\n\n> {' '.join(summary.split())}\n\n## Pages\n\n{listed}\n"


def other_modules() -> list[str]:
    """Return the public modules of `architecture.md` that no page of the reference names."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = page.partition("<!-- public modules -->")[2].partition("<!-- end -->")[0]
    public = dict.fromkeys(re.findall(r"`(polycmp[\w.]*)`", listed))
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "reference").glob("*.md")]
    shown = {name for text in pages for name in re.findall(r"^::: (\S+)$", text, re.MULTILINE)}
    return [name for name in public if ALIASES.get(name, name) not in shown]


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
