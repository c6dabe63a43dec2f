"""The HTML report: whole, safe, and right in a real browser."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from browser import opened
from report_outcomes import SPITEFUL, erroneous, failing, outcome_of, passing

from polycmp.report import NextStep
from polycmp.report.run_result import result_of
from polycmp.results.outcome import Invalid
from polycmp_report import html
from polycmp_report.page.sections import breakable


def to_html(outcome):
    return html.to_html(result_of(outcome))


def write(outcome, path):
    html.write(result_of(outcome), path)


VOID = {"meta", "input", "br", "wbr", "img"}


class Page(HTMLParser):
    """Checks that elements are closed in order, and collects what they are and say."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] not in (["script"], ["style"]):
            self.said.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.said).split())


@pytest.mark.parametrize(("make", "verdict"), [(passing, "Passed"), (failing, "Failed"), (erroneous, "Error")])
def test_page_is_well_formed_and_starts_with_the_verdict(make, verdict):
    page = Page(to_html(make()))
    assert page.text.startswith(verdict)
    [heading] = [index for index, (tag, _) in enumerate(page.tags) if tag == "h1"]
    assert not any(tag in {"table", "h2"} for tag, _ in page.tags[:heading])


def test_page_tells_everything_that_was_found():
    text = Page(to_html(erroneous())).text
    for said in (
        "polycmp run model.onnx -b toy -b reference",  # the command
        "it fell over",  # why a backend failed
        "try it fell over",  # what to do about it
        "3 NaN and 1 infinite values",
        "1 of 50 elements differs by more than both tolerances",  # the reason in words
        "[2, 3]",  # the worst element
        "float32[5,10]",
        "float32[2,3]",  # the inputs
        "CPython",  # the environment
    ):
        assert said in text


def test_each_command_on_the_page_has_a_button_that_copies_it():
    outcome = failing()
    outcome.next_steps += [NextStep("polycmp locate 'a b.onnx'", "Look inside."), NextStep("polycmp bisect m.onnx", "")]
    text = to_html(outcome)
    keys = re.findall(r'<button type="button" class="copy" data-copy="([^"]+)">', text)
    shown = {key: unescape(re.search(rf'<code id="{key}">(.*?)</code>', text)[1]) for key in keys}
    assert len(keys) == len(set(keys)) == 3
    assert list(shown.values())[1:] == ["polycmp locate 'a b.onnx'", "polycmp bisect m.onnx"]
    assert "next: Look inside." in Page(text).text


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Resize", ["Resize"]),
        ("BatchNormalization", ["BatchNormalization"]),
        ("onnxrt:model=demo/model.onnx", ["onnxrt:", "model=", "demo/", "model.", "onnx"]),
        ("/encoder/layer.0/attention", ["/", "encoder/", "layer.", "0/", "attention"]),
        ("0.000123456789", ["0.000123456789"]),
        ("-1.23456789e-05", ["-1.23456789e-05"]),
        ("x" * 130, ["x" * 60, "x" * 60, "x" * 10]),
        ("Conv 'stage1.a.conv' of float32[1,3,224,224]", None),
    ],
)
def test_names_are_broken_after_separators_alone(name, parts):
    made = str(breakable(name))
    assert unescape(made.replace("<wbr>", "")) == name
    if parts is not None:
        assert unescape(made).split("<wbr>") == parts
    assert not re.search(r"\w<wbr>\w", made) or len(name) > 60


def test_failures_come_first_and_keep_the_order_of_the_model():
    text = to_html(failing("zzz"))
    assert re.findall(r'data-name="(\w+)"', text) == ["zzz", "good"]


def test_page_needs_no_network():
    for make in (passing, failing, erroneous):
        text = to_html(make())
        assert not re.search(r"https?:|//\w|@import|url\(", text.replace("// ", ""))
        assert not any(tag in {"link", "iframe", "img", "object"} for tag, _ in Page(text).tags)
        assert all("src" not in attributes and "href" not in attributes for _, attributes in Page(text).tags)


@pytest.mark.parametrize("make", [failing, erroneous])
def test_nothing_a_user_typed_becomes_markup(make):
    outcome = make(SPITEFUL)
    outcome.command = SPITEFUL
    outcome.environment = {SPITEFUL: SPITEFUL}
    page, plain = Page(to_html(outcome)), Page(to_html(make("plain")))
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert not any(tag == "img" for tag, _ in page.tags)
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert {tag for tag, _ in page.tags} <= {tag for tag, _ in plain.tags} | {"wbr"}
    assert "\x00" not in to_html(outcome)
    assert "<script>document.title='owned'</script>" in page.text  # shown as what it is


def test_output_that_is_not_there_and_texts_have_no_figures():
    candidate = {"words": np.array(["a", "b"]), "extra": np.zeros(3)}
    text = Page(to_html(outcome_of(candidate, {"words": np.array(["a", "c"])}))).text
    assert "has no output 'extra'" in text
    assert "1 of 2 texts differ" in text


def test_nan_is_shown_as_such_and_not_as_a_small_error():
    values = np.zeros(8, np.float32)
    broken = values.copy()
    broken[5] = np.nan
    page = to_html(outcome_of({"y": broken}, {"y": values}))
    assert 'data-value="inf">NaN</td>' in page


def test_outputs_that_are_not_finite_are_told_once_each():
    outcome = passing()
    outcome.invalid = [Invalid("candidate", f"o{i % 20}", i // 20, 1, 0, (0,)) for i in range(60)]
    text = Page(to_html(outcome)).text
    assert text.count("is not finite") == 12
    assert "so it is in 3 iterations" in text
    assert "8 more problems" in text


def test_write_replaces_the_file_as_a_whole(tmp_path):
    path = tmp_path / "deep" / "report.html"
    write(passing(), str(path))
    write(failing(), str(path))
    assert Page(path.read_text(encoding="utf-8")).text.startswith("Failed")
    assert list(path.parent.iterdir()) == [path]


@pytest.fixture
def browse(tmp_path):
    def run(outcome, *options, change=str):
        path = tmp_path / "page.html"
        write(outcome, str(path))
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
        return opened(path, *options)

    return run


class TestInBrowser:
    """In headless Chromium, which runs the page's script."""

    def test_script_runs_and_opens_the_first_failure(self, browse):
        done = browse(failing("zzz"), "--dump-dom")
        assert re.search(r'<html lang="en" class="js">', done.stdout)
        assert re.search(r'aria-expanded="true" aria-controls="detail-0-0"', done.stdout)
        assert "CONSOLE" not in done.stderr, done.stderr  # no error of the script, nothing blocked by the policy

    def test_spiteful_names_run_nothing(self, browse):
        outcome = failing(SPITEFUL)
        outcome.command = SPITEFUL
        done = browse(outcome, "--dump-dom")
        assert "<title>Failed" in done.stdout
        assert "<title>owned" not in done.stdout
        assert done.stdout.count("<script>") == 1

    def test_sorts_by_a_column_and_finds_outputs(self, browse):
        values = np.linspace(0, 1, 50)
        reference = {"a": values, "b": values, "c": values, "bb": values}
        made = {"a": values + 1e-7, "b": values + 0.5, "c": values + 3e-7, "bb": values + 0.25}
        click = (
            "<script>document.querySelectorAll('table.outputs thead button')[2].click();"
            "const search = document.getElementById('search'); search.value = 'B';"
            "search.dispatchEvent(new Event('input'));</script></body>"
        )

        def drive(text):
            return re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text).replace("</body>", click)

        done = browse(outcome_of(made, reference), "--dump-dom", change=drive)
        rows = re.findall(r'<tr class="output \w+" data-name="(\w+)"( hidden="")?>', done.stdout)
        assert rows == [("b", ""), ("bb", ""), ("c", ' hidden=""'), ("a", ' hidden=""')]
        assert 'aria-sort="descending"' in done.stdout
        assert "2 of 4 shown" in done.stdout

    def test_picture_of_the_page_has_the_verdict_in_its_colour(self, browse, tmp_path):
        image = pytest.importorskip("matplotlib.image")
        colours = {}
        for make in (passing, failing):
            picture = tmp_path / f"{make.__name__}.png"
            browse(make(), f"--screenshot={picture}", "--window-size=1200,800", "--hide-scrollbars")
            pixels = (image.imread(picture)[..., :3] * 255).round().astype(int)
            colours[make.__name__] = set(np.unique(pixels @ [1 << 16, 1 << 8, 1]).tolist())
        assert 0x117A43 in colours["passing"]
        assert 0xB3261E in colours["failing"]
        assert 0xB3261E not in colours["passing"]
