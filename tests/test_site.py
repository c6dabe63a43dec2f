"""What the site makes by itself: the pictures of the gallery, and the index of error messages."""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from polycmp.cli.main import main

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture(scope="module")
def modules():
    sys.path.insert(0, str(DOCS))
    try:
        import error_index
        import gallery
    finally:
        sys.path.remove(str(DOCS))
    return gallery, error_index


@pytest.fixture(scope="module")
def folder(modules, tmp_path_factory):
    path = tmp_path_factory.mktemp("gallery")
    modules[0].prepare(path)
    return path


@pytest.mark.corpus  # each is a command that other tests run in their own process
@pytest.mark.parametrize("name", ["run", "failed", "locate", "run-page", "locate-page", "suite-page"])
def test_pictures_show_what_commands_do(modules, folder, name):
    words, status, page = modules[0].COMMANDS[name]
    found, shown = modules[0].run(folder, words)
    assert found == status, shown
    assert not page or (folder / page).stat().st_size > 10_000
    if not page:
        picture = modules[0].as_picture(words, shown)
        assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", picture)
        verdict = re.search(r"PASSED|FAILED|FOUND", shown)[0]
        assert verdict in picture
        assert verdict in (DOCS / "pictures" / f"{name}.svg").read_text(encoding="utf-8")


def test_every_picture_is_shown(modules):
    shown = set(re.findall(r"\(pictures/([^)]+)\)", (DOCS / "gallery.md").read_text(encoding="utf-8")))
    assert shown == {path.name for path in (DOCS / "pictures").iterdir()} - {"card.png"}
    assert {name.partition(".")[0] for name in shown} == set(modules[0].COMMANDS)


def test_an_error_that_a_user_meets_is_in_the_index(modules, tmp_path, capsys):
    assert main(["run", str(tmp_path / "missing.onnx"), "-b", "onnxrt"]) == 3
    met = capsys.readouterr().err.splitlines()[0].removeprefix("polycmp: ")
    entries = modules[1].entries()
    statuses = {entry.message: entry.status for entry in entries}
    matching = [message for message in statuses if re.fullmatch(re.escape(message).replace("…", ".*"), met)]
    assert {statuses[message] for message in matching} == {3}
    assert {"polycmp", "polycmp-locate", "polycmp-trt"} <= {entry.package for entry in entries}


def test_the_page_of_errors_is_a_table_without_loose_ends(modules):
    lines = modules[1].table().splitlines()
    assert len(lines) > 300
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {5}
    assert modules[1].MARK in (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")


def test_every_public_module_stands_in_the_reference(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import hooks

    others = hooks.other_modules()
    assert {"polycmp.runs", "polycmp.compare"} <= set(others)
    assert not {"polycmp.spec", "polycmp.comparator"} & set(others)
    text = (DOCS / "reference" / "running.md").read_text(encoding="utf-8")
    page = SimpleNamespace(file=SimpleNamespace(src_uri="reference/running.md"))
    made = hooks.on_page_markdown(text, page=page)
    assert re.findall(r"^::: (\S+)$", made, re.MULTILINE) == others
    shown = (DOCS / "reference" / "backends.md").read_text(encoding="utf-8")
    assert all(f"::: polycmp_{name}." in shown for name in ("openvino", "torch", "tf", "trt", "pluginref"))


def test_the_site_has_a_switch_of_languages_and_a_card(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import hooks

    settings = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    assert [path for path in ("/polycmp/", "/polycmp/zh/") if f"link: {path}," not in settings] == []
    theme = (DOCS / "theme" / "main.html").read_text(encoding="utf-8")
    assert 'property="og:image"' in theme
    assert (DOCS / "pictures" / "card.png").stat().st_size > 10_000
    page = SimpleNamespace(file=SimpleNamespace(src_uri="zh/start.md"))
    assert hooks.on_page_markdown("一行，\n下一行 one\ntwo", page=page) == "一行，下一行 one\ntwo"


def test_what_is_copied_of_a_session_is_its_commands(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import hooks

    text = "```console\n$ polycmp run a.onnx -b onnx  # exit 1\nFAILED: 1 of 1 output differs\n$ polycmp demo\n```\n"
    page = SimpleNamespace(file=SimpleNamespace(src_uri="README.md"))
    shown = hooks.on_page_markdown(text, page=page)
    assert "# exit" not in shown
    prompt, said = '<span class="gp">$ </span>', '<span class="go">FAILED: 1 &lt; 2</span>'
    code = f"{prompt}polycmp run <span>\\</span>\n  &#39;a b&#39;\n{said}\n{prompt}polycmp demo\n"
    block = f'<div class="highlight"><pre><span></span><code>{code}</code></pre></div>'
    made = hooks.on_page_content(f"<p>$ not a session</p>{block}")
    copied = re.findall(r'data-copy="([^"]*)"', made)
    assert [html.unescape(item) for item in copied] == ["polycmp run \\\n  'a b'\npolycmp demo"]
    assert block in made.replace(f'data-copy="{copied[0]}" ', "")


def test_models_find_every_page(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(DOCS))
    import hooks

    hooks.on_post_build({"site_dir": str(tmp_path), "site_name": "polycmp"})
    lines = (tmp_path / "llms.txt").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# polycmp"
    assert lines[2].startswith("> Does this model still compute what it should")
    assert lines[2].endswith("whether it is a bug.")
    linked = dict(re.findall(r"^- \[([^]]+)\]\(https://\S+/docs/(\S+)\): \S", "\n".join(lines), re.MULTILINE))
    pages = {path.relative_to(DOCS).as_posix() for path in [*DOCS.glob("*.md"), *DOCS.glob("outside/*.md")]}
    assert set(linked.items()) == {(page, page) for page in pages - {"README.md"}}


def test_no_page_has_a_line_to_install_that_only_some_shells_take():
    pages = [*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md"), *DOCS.parent.glob("plugins/*/README.md")]
    assert [path for path in pages if re.search(r"^pip .*\{.*,", path.read_text(encoding="utf-8"), re.MULTILINE)] == []
