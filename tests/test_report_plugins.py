"""Reports and observers of plugins: found by suffix, asked for by the environment or options; and what may go wrong."""

from __future__ import annotations

import json

import pytest
from fakes import FakeSite

LIGHT = """
    from dataclasses import dataclass
    from polycmp.spec import ObserverSpec, ReportSpec, ReportTools, hookimpl, opt

    @dataclass(frozen=True)
    class Options:
        words: str = opt("", help="Words.", alias="--fake-words")

    @hookimpl
    def {hook}():
        yield {spec}

    class Unasked(ReportTools):
        when = "FAKE_CI"

    class Script(ReportTools):
        def instead(self, options, plan, registry):
            print("written down")

    class Longer(ReportTools):
        def completes(self, result, registry, plan, model):
            print("completed", model)
            return result

    class AlsoLonger(Longer):
        pass
"""

HEAVY = """
    from pathlib import Path
    from polycmp.files import atomic_write
    from polycmp.report import Table
    from polycmp.spec import RunObserver

    def write(result, path, *options):
        lines = [f"{result.command} {result.verdict} {result.exit_code}", *map(str, options)]
        for table in result.blocks(Table):
            lines += [f"{table.title}: {row.name}" for row in table.failures]
        with atomic_write(path or "unasked.fake") as file:
            file.write("\\n".join(lines).encode())

    def broken(result, path):
        raise KeyError("no such thing")

    class Observer(RunObserver):
        def __init__(self, resolved, options=None):
            self.path, self.lines = options.words if options else "seen", []
            if self.path == "raise":
                raise KeyError("no such thing")

        def on_step(self, step):
            for pair in step.pairs():
                self.lines.append(f"{pair.iteration} {pair.candidate} {pair.reference} {pair.output} {pair.made.shape}")
                if self.path == "break":
                    raise KeyError("no such thing")
            for found in step.compared.values():
                self.lines += [f"{item.output} {item.passed}" for item in found]

        def finish(self, outcome):
            Path(self.path).write_text("\\n".join([*self.lines, outcome.verdict]))
            outcome.notes.append("seen by the fake")
"""


@pytest.fixture
def site(tmp_path):
    return FakeSite(tmp_path / "site")


def install(site, spec, name="fake"):
    hook = "polycmp_run_observers" if spec.startswith("ObserverSpec") else "polycmp_reports"
    site.install(
        f"fake-{name}",
        {name: f"{name}_light"},
        {f"{name}_light.py": LIGHT.format(hook=hook, spec=spec), f"{name}_heavy.py": HEAVY},
    )


def run(site, tmp_path, *words, **environ):
    return site.polycmp(*words, cwd=tmp_path, **environ)


def plugin_rows(site):
    """Return what `plugins list` says of each plugin, by its name."""
    rows = json.loads(site.polycmp("plugins", "list", "--json").stdout)["plugins"]
    assert len({row["name"] for row in rows}) == len(rows)
    return {row["name"]: row for row in rows}


def assert_refused(site, install, refused):
    """Assert that `plugins list` refuses what plugins give, each for its reason.

    Args:
        site: The environment.
        install: Installs a plugin that gives something there, under a name.
        refused: What is given, and why it is refused.
    """
    for number, (spec, _) in enumerate(refused):
        install(site, spec, f"fake{number}")
    rows = plugin_rows(site)
    for number, (spec, reason) in enumerate(refused):
        row = rows[f"fake{number}"]
        assert (row["state"], reason in row["reason"]) == ("broken", True), (spec, row)


def plugin_row(site, name):
    return plugin_rows(site)[name]


@pytest.fixture
def pair(model, other):
    return ("run", model, "-b", "onnxrt", "-b", f"onnxrt:model={other},name=old")


def test_a_suffix_of_a_plugin_works_for_every_command(site, model, pair, tmp_path):
    install(site, "ReportSpec('.fake', 'Fake', 'fake_heavy:write')")
    assert run(site, tmp_path, *pair, "--report", "r.FAKE").returncode == 1
    assert (tmp_path / "r.FAKE").read_text() == "run failed 1\nonnxrt against old: y"
    done = run(site, tmp_path, *("locate", *pair[1:]), "--report", "r.fake")
    assert done.returncode == 1, done.stderr
    assert (tmp_path / "r.fake").read_text().startswith("locate failed 1\nonnxrt against old, in model order: ")
    assert (
        run(site, tmp_path, "invariants", model, "-b", "onnx", "--checks", "repeat", "--report", "r.fake").returncode
        == 0
    )
    assert (tmp_path / "r.fake").read_text() == "invariants passed 0"
    assert run(site, tmp_path, "selftest", "-b", "onnx", "--faults", "fp16", "--report", "r.fake").returncode == 0
    assert (tmp_path / "r.fake").read_text() == "selftest passed 0"
    run(site, tmp_path, *pair, "--save-accuracy-results", "m.json")
    assert run(site, tmp_path, "check", "accuracy", "m.json", "--report", "r.fake").returncode == 1
    assert (tmp_path / "r.fake").read_text() == "check accuracy failed 1\nonnxrt against old: y"


def test_options_reach_the_report(site, pair, tmp_path):
    install(site, "ReportSpec('.fake', 'Fake', 'fake_heavy:write', options=Options)")
    assert run(site, tmp_path, *pair, "--report", "r.fake").returncode == 1
    assert "Options(words='')" in (tmp_path / "r.fake").read_text()
    assert run(site, tmp_path, *pair, "--report", "r.fake", "--fake-words", "three").returncode == 1
    assert "Options(words='three')" in (tmp_path / "r.fake").read_text()


def test_a_report_is_written_unasked_where_its_variable_is_set(site, pair, tmp_path):
    install(site, "ReportSpec('', 'Fake', 'fake_heavy:write', name='fake', tools='fake_light:Unasked')")
    run(site, tmp_path, *pair)
    assert not (tmp_path / "unasked.fake").exists()
    run(site, tmp_path, *pair, FAKE_CI="1")
    assert (tmp_path / "unasked.fake").read_text().startswith("run failed 1")


def test_reports_whose_classes_inherit_a_method_share_what_it_adds(site, pair, tmp_path):
    one, two = (
        f"ReportSpec('.{name.lower()}', 'Fake', 'fake_heavy:write', tools='fake_light:{name}')"
        for name in ("Longer", "AlsoLonger")
    )
    install(site, f"{one}\n        yield {two}")
    done = run(site, tmp_path, *pair, "--report", "r.longer", "--report", "r.alsolonger")
    assert (done.returncode, done.stdout.count("completed")) == (1, 1)
    assert (tmp_path / "r.longer").read_text() == (tmp_path / "r.alsolonger").read_text()


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("ReportSpec('', '', 'a:b', name='x', tools='fake_light:Longer')", "nothing ever asks for the report 'x'"),
        ("ReportSpec('', '', '', name='x', tools='fake_light:Unasked')", "it has no factory"),
        ("ReportSpec('', '', '', name='x', tools='fake_light:Script')", "it has no options"),
        ("ReportSpec('.x', '', 'a:b', tools='fake_light:Options')", "no class derived from polycmp.spec.ReportTools"),
    ],
)
def test_tools_that_do_not_fit_the_report_are_found_by_check_and_hurt_no_run(site, pair, tmp_path, spec, reason):
    install(site, spec.replace("'a:b'", "'fake_heavy:write'"))
    done = site.polycmp("plugins", "check", "fake")
    assert (done.returncode, reason in done.stdout + done.stderr) == (3, True), done.stdout + done.stderr
    assert run(site, tmp_path, *pair, FAKE_CI="1").returncode == 1


def test_a_plan_is_written_down_in_place_of_the_run(site, pair, tmp_path):
    install(site, "ReportSpec('', 'Fake', '', name='fake', options=Options, tools='fake_light:Script')")
    done = run(site, tmp_path, *pair, "--fake-words", "x")
    assert (done.returncode, done.stdout) == (0, "written down\n")
    refused = run(site, tmp_path, "locate", *pair[1:], "--fake-words", "x")
    assert (refused.returncode, "--fake-words" in refused.stderr) == (2, True)


def test_an_observer_with_options_sees_arrays_and_verdicts_where_any_is_given(site, pair, tmp_path):
    install(site, "ObserverSpec('fake', 'Fake', 'fake_heavy:Observer', options=Options)")
    assert run(site, tmp_path, *pair).returncode == 1
    done = run(site, tmp_path, *pair, "--iterations", "2", "--fake-words", "kept")
    assert done.returncode == 1, done.stderr
    steps = [line for index in (0, 1) for line in (f"{index} onnxrt old y (1, 8)", "y False")]
    assert (tmp_path / "kept").read_text().splitlines() == [*steps, "failed"]
    assert "seen by the fake" in done.stdout
    (tmp_path / "run.toml").write_text('fake-words = "again"')
    assert run(site, tmp_path, *pair, "--config", "run.toml").returncode == 1
    assert (tmp_path / "again").exists()
    run(site, tmp_path, *pair, "--save-outputs", "out.json")
    assert run(site, tmp_path, "compare", "out.json", "--fake-words", "compared").returncode == 1
    assert (tmp_path / "compared").read_text().splitlines()[0] == "0 onnxrt old y (1, 8)"
    refused = run(site, tmp_path, "locate", *pair[1:], "--fake-words", "seen")
    assert refused.returncode == 2  # no run is observed there
    refused = run(site, tmp_path, *pair, "--fake-words", "seen", "--gen-script", "-")
    assert refused.returncode == 2
    assert "options of the observer fake" in refused.stderr


def test_an_observer_that_fails_is_named(site, pair, tmp_path):
    install(site, "ObserverSpec('fake', 'Fake', 'fake_heavy:Observer', options=Options)")
    for words, verdict in (("raise", ""), ("break", "FAILED")):
        done = run(site, tmp_path, *pair, "--fake-words", words)
        assert done.returncode == 3
        assert verdict in done.stdout
        assert "KeyError" in done.stderr
        assert "observer 'fake' of fake-fake" in done.stderr
        assert "Traceback" not in done.stderr


def test_an_observer_of_searches_is_shown_the_first_tensors_that_differ(site, pair, tmp_path):
    install(site, "ObserverSpec('fake', 'Fake', 'fake_heavy:Observer', searches=True)")
    done = run(site, tmp_path, "locate", *pair[1:])
    assert done.returncode == 1, done.stderr
    assert "seen by the fake" in done.stdout
    assert (tmp_path / "seen").read_text().splitlines()[0].startswith("0 onnxrt old ")
    with_run_only = FakeSite(tmp_path / "other")
    install(with_run_only, "ObserverSpec('fake', 'Fake', 'fake_heavy:Observer')")
    assert "seen by the fake" not in run(with_run_only, tmp_path, "locate", *pair[1:]).stdout


def test_only_a_run_can_be_written_as_a_script(site, pair, tmp_path):
    run(site, tmp_path, *pair, "--save-outputs", "out.json")
    done = run(site, tmp_path, "compare", "out.json", "--gen-script", "script.py")
    assert done.returncode == 2
    assert "--gen-script" in done.stderr


def test_a_report_that_raises_hurts_no_other(site, pair, tmp_path):
    install(site, "ReportSpec('.bad', 'Fake', 'fake_heavy:broken')")
    done = run(site, tmp_path, *pair, "--report", "r.bad", "--report", "r.json")
    assert done.returncode == 3
    assert "FAILED: 1 of 1 output differs" in done.stdout
    assert "cannot write r.bad" in done.stderr
    assert "KeyError" in done.stderr
    assert "polycmp plugins check fake" in done.stderr
    assert json.loads((tmp_path / "r.json").read_text())["verdict"] == "failed"


def test_a_suffix_that_two_claim_goes_to_neither_and_the_core_keeps_its_own(site, pair, tmp_path):
    install(site, "ReportSpec('.fake', 'Fake', 'one_heavy:write')", "one")
    install(site, "ReportSpec('.fake', 'Fake', 'two_heavy:write')\n        yield ReportSpec('.json', '', 'a:b')", "two")
    done = run(site, tmp_path, *pair, "--report", "r.fake")
    assert done.returncode == 3
    assert "contributed by fake-one and fake-two" in done.stderr
    assert done.stdout == ""  # before anything runs
    assert run(site, tmp_path, *pair, "--report", "r.json").returncode == 1
    assert json.loads((tmp_path / "r.json").read_text())["schema"] == 1
    row = plugin_row(site, "two")
    assert [entry["name"] for entry in row["provides"] if entry["kind"] == "report"] == ["fake", "json"]
    assert any("report 'json' refused" in note for note in row["notes"])
    assert any("report 'fake' refused: fake-one has it too" in note for note in row["notes"])


#: What a plugin gives as a report, and why it is refused.
REFUSED = [
    ("ReportSpec('fake', '', 'a:b')", "bad suffix 'fake' of a report"),
    ("ReportSpec('.Fake', '', 'a:b')", "bad suffix '.Fake'"),
    ("ReportSpec('', '', 'a:b')", "bad name '' of a report without suffix"),
    ("ReportSpec('.x', '', 'a:b', name='x')", "is called after its suffix"),
    ("ReportSpec('', '', 'a:b', name='x')", "nothing ever asks for the report 'x'"),
    ("ReportSpec('.x', '', '', options=Options)", "'' in polycmp_reports is not of the form"),
    ("ReportSpec('', '', '', name='x', instead='a:b')", "it has no options"),
    ("ReportSpec('', '', '', name='x', instead='a.b', options=Options)", "'a.b' is not of the form"),
]


def test_what_a_report_may_not_be(site):
    assert_refused(site, install, REFUSED)


def test_a_broken_plugin_that_would_bring_the_suffix_says_so(site, pair, tmp_path):
    install(site, "ReportSpec('.mine', '', 'a:b')\n        yield ReportSpec('.mine', '', 'a:b')", "half")
    done = run(site, tmp_path, *pair, "--report", "r.mine")
    assert done.returncode == 3
    assert "its plugin is broken" in done.stderr
    assert "twice" in done.stderr


@pytest.mark.parametrize(
    ("command", "path", "status", "says"),
    [
        ("run", "r.html", 3, "unset POLYCMP_PLUGINS, or add report to it"),
        ("run", "r.xml", 3, "unset POLYCMP_PLUGINS, or add report to it"),
        ("run", "deep/r.MD", 3, "unset POLYCMP_PLUGINS, or add report to it"),
        ("run", "r.htm", 2, "did you mean '.html'"),
        ("run", "r", 2, "a file without suffix"),
        ("locate", "r.html", 3, "unset POLYCMP_PLUGINS, or add report to it"),
        ("invariants", "r.html", 3, "unset POLYCMP_PLUGINS, or add report to it"),
        ("selftest", "r.md", 3, "unset POLYCMP_PLUGINS, or add report to it"),
    ],
)
def test_without_its_package_a_report_names_it_before_anything_runs(site, model, command, path, status, says):
    done = site.polycmp(command, model, "-b", "onnx", "--report", path, POLYCMP_PLUGINS="onnx,locate,checks")
    assert (done.returncode, done.stdout) == (status, "")
    assert says in done.stderr
    assert f"{path}: " in done.stderr
    assert "--report: " in done.stderr


def test_without_its_package_an_option_of_a_report_names_it(site, model):
    done = site.polycmp("run", model, "-b", "onnx", "--save-heatmaps", "maps", POLYCMP_PLUGINS="onnx")
    assert (done.returncode, done.stdout) == (3, "")
    assert "pip install 'polycmp-report[plot]'" in done.stderr
