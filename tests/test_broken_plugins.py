"""One bad plugin never hurts the rest: the whole command line, with healthy and broken distributions side by side."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from in_parts import a_few

sys.path.insert(0, str(Path(__file__).resolve().parent))
from fakes import BROKEN, REASONS, FakeSite, install_broken, runner
from fakes.outsider import install_outsider

onnx = pytest.importorskip("onnx")
pytest.importorskip("polycmp_onnx")

SHARED_ALIAS = "O: x: int = opt(1, help='h', alias='--turbo')"


def install_nuisances(site):
    """Everything that may go wrong with plugins, at once."""
    install_broken(site)
    site.install("twin-a", {"twin": "twin_a"}, {"twin_a.py": runner("twin")})
    site.install("twin-b", {"twin": "twin_b"}, {"twin_b.py": runner("twin")})
    site.plugin("clash_one", runner("clash_one", options=SHARED_ALIAS))
    site.plugin("clash_two", runner("clash_two", options=SHARED_ALIAS))
    site.plugin("same_one", runner("same_name"))
    site.plugin("same_two", runner("same_name"))
    site.plugin(
        "hungry", runner("hungry", needs="('a_library_nobody_has',)"), requires=["a_library_nobody_has; extra == 'rt'"]
    )
    site.plugin("greedy", runner("greedy", options="O: m: str = opt('', help='h', alias=('--report', '-b'))"))
    site.plugin("noisy", "print('noise on stdout')\n" + runner("noisy"))


@pytest.fixture
def model(tmp_path):
    value = onnx.helper.make_tensor_value_info
    node = onnx.helper.make_node("Identity", ["x"], ["y"])
    graph = onnx.helper.make_graph([node], "g", [value("x", 1, [2, 3])], [value("y", 1, [2, 3])])
    opset = [onnx.helper.make_opsetid("", 17)]
    path = tmp_path / "identity.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return path


@pytest.fixture
def healthy(tmp_path):
    site = FakeSite(tmp_path / "healthy")
    install_outsider(site)
    return site


@pytest.fixture
def sick(tmp_path):
    site = FakeSite(tmp_path / "sick")
    install_outsider(site)
    install_nuisances(site)
    return site


def rows_of(site):
    result = site.polycmp("plugins", "list", "--json")
    assert result.returncode == 0, result.stderr
    return {(row["name"], row["package"]): row for row in json.loads(result.stdout)["plugins"]}


class TestOutsider:
    def test_backend_with_its_options_is_compared(self, healthy, model):
        assert healthy.polycmp("run", model, "-b", "acme", "-b", "onnx").returncode == 0
        assert healthy.polycmp("run", model, "-b", "acme:gain=1.5", "-b", "onnx").returncode == 1
        assert healthy.polycmp("run", model, "-b", "acme:gain=2,mode=halved", "-b", "onnx").returncode == 0

    @pytest.mark.parametrize(
        "flags", [["--acme-gain", "3"], ["--acme-factor", "3"], ["--acme-factor=3", "--acme-fast"]]
    )
    def test_options_are_flags_too(self, healthy, model, flags):
        assert healthy.polycmp("run", model, "--acme", "-b", "onnx", *flags).returncode == 1
        assert healthy.polycmp("run", model, "-b", "acme:gain=1", "-b", "onnx", *flags).returncode == 0

    @pytest.mark.parametrize("spec", ["acme:gain=much", "acme:mode=odd", "acme:colour=red"])
    def test_options_are_checked(self, healthy, model, spec):
        result = healthy.polycmp("run", model, "-b", spec, "-b", "onnx")
        assert result.returncode == 2
        assert "Traceback" not in result.stderr

    def test_compare_function_and_its_options(self, healthy, model):
        run = ("run", model, "-b", "acme:gain=-1", "-b", "onnx", "--compare", "acme_signs")
        failed = healthy.polycmp(*run)
        assert failed.returncode == 1
        assert "6 signs of y differ" in failed.stdout
        assert healthy.polycmp(*run, "--acme-signs-allowed", "6", "--allow-blind").returncode == 0

    def test_data_loader_and_its_options(self, healthy, model, tmp_path):
        saved = tmp_path / "inputs.json"
        run = ("run", model, "-b", "acme", "--data-loader", "acme_ramp", "--acme-ramp-step", "2")
        result = healthy.polycmp(*run, "--acme-ramp-count", "3", "--save-inputs", saved)
        assert result.returncode == 0, result.stderr
        from polycmp.json import load_json

        feeds = list(load_json(str(saved)))
        assert len(feeds) == 3
        assert feeds[1]["x"].tolist() == [[-1, 1, 3], [5, 7, 9]]

    def test_is_in_the_help_text_and_in_the_list(self, healthy):
        shown = healthy.polycmp("run", "--help", "acme").stdout
        assert "--acme-gain" in shown
        assert "What the output is multiplied by." in shown
        row = rows_of(healthy)["acme", "acme-polycmp"]
        assert (row["state"], row["version"], row["reason"], row["notes"]) == ("ok", "2.3", "", [])
        assert healthy.polycmp("plugins", "check", "acme").returncode == 0


class TestNobodyElseIsHurt:
    @pytest.mark.parametrize("args", a_few([["--version"], ["plugins", "--help"], ["plugins", "new", "--help"]], 2))
    def test_help_and_version_are_the_same(self, healthy, sick, args):
        calm, shaken = (site.python("-m", "polycmp", *args) for site in (healthy, sick))
        assert shaken.returncode == 0
        assert calm.stdout == shaken.stdout

    def test_the_list_of_commands_lacks_only_theirs_and_names_them(self, healthy, sick):
        calm, shaken = healthy.polycmp("--help"), sick.polycmp("--help")
        assert shaken.returncode == 0
        listed, colon, named = shaken.stdout.partition("Not available: ")
        assert colon
        assert listed.rstrip() == calm.stdout.rstrip()
        assert all(name in named for name in BROKEN)
        assert "polycmp plugins list" in " ".join(named.split())

    def test_help_of_run_still_shows_everybody_who_works(self, sick):
        result = sick.polycmp("run", "--help", "all")
        assert result.returncode == 0
        assert all(flag in result.stdout for flag in ("--acme-gain", "--clash-one-x", "--clash-two-x"))
        assert "noise on stdout" not in result.stdout

    def test_a_run_gives_the_same_report(self, healthy, sick, model, tmp_path):
        reports = []
        for site in (healthy, sick):
            file = tmp_path / f"{site.folder.name}.json"
            args = ("-b", "acme:gain=1.5", "-b", "onnx", "--compare", "simple", "acme_signs", "--report", file)
            result = site.polycmp("run", model, *args)
            assert result.returncode == 1, result.stderr
            report = json.loads(file.read_text())
            for run in report["inference_results"].values():
                del run["runtime"]
            reports.append((report["verdict"], report["inference_results"].keys(), report["comparison_results"]))
        assert reports[0] == reports[1]


class TestEachIsARowWithItsReason:
    def test_rows(self, sick):
        rows = rows_of(sick)
        for name, (state, reason) in REASONS.items():
            row = rows[name, f"fake-{name.replace('_', '-')}"]
            assert row["state"] == state
            assert reason in row["reason"]
        for package in ("twin-a", "twin-b"):
            assert rows["twin", package]["reason"] == "duplicate name: 'twin' is claimed by twin-a and twin-b"
        assert rows["clash_one", "fake-clash-one"]["state"] == "ok"
        assert any("--turbo refused" in note for note in rows["clash_one", "fake-clash-one"]["notes"])
        notes = rows["greedy", "fake-greedy"]["notes"]
        assert any(note.startswith("--report refused: also polycmp's own option") for note in notes)
        assert any(note.startswith("-b refused") for note in notes)
        assert any("'same_name' refused" in note for note in rows["same_two", "fake-same-two"]["notes"])
        assert rows["hungry", "fake-hungry"]["state"] == "incomplete"
        assert any("pip install 'fake-hungry[rt]'" in note for note in rows["hungry", "fake-hungry"]["notes"])

    def test_table_for_people_says_the_same(self, sick):
        result = sick.polycmp("plugins", "list")
        assert result.returncode == 0
        assert "Traceback" not in result.stdout + result.stderr
        for _, reason in REASONS.values():
            assert reason in result.stdout


class TestAskedFor:
    @pytest.mark.parametrize("name", list(BROKEN))
    def test_a_broken_one_answers_with_its_reason(self, sick, model, name):
        result = sick.polycmp("run", model, "-b", name, "-b", "onnx")
        assert result.returncode == 3
        assert REASONS[name][1] in result.stderr
        assert f"plugin '{name}' of fake-{name.replace('_', '-')} 1.0" in result.stderr
        assert "next:" in result.stderr
        assert "Traceback" not in result.stderr

    @pytest.mark.parametrize(
        ("name", "says"),
        [
            ("twin", "claimed by twin-a and twin-b"),
            ("same_name", "contributed by fake-same-one and fake-same-two"),
            ("hungry", "pip install 'fake-hungry[rt]'"),
            ("tensorflow", "it is called 'tf' here"),
            ("acmee", "did you mean 'acme'"),
        ],
    )
    def test_others_that_cannot_be_had(self, sick, model, name, says):
        result = sick.polycmp("run", model, "-b", name, "-b", "onnx")
        assert result.returncode == 3
        assert says in result.stdout + result.stderr
        assert "Traceback" not in result.stderr

    def test_an_alias_of_two_names_both(self, sick, model):
        result = sick.polycmp("run", model, "-b", "acme", "--turbo", "3")
        assert result.returncode == 2
        assert "fake-clash-one" in result.stderr
        assert "fake-clash-two" in result.stderr

    def test_own_options_of_the_core_win(self, sick, model, tmp_path):
        result = sick.polycmp("run", model, "-b", "acme", "--report", tmp_path / "report.json")
        assert result.returncode == 0, result.stderr
        assert (tmp_path / "report.json").is_file()

    def test_one_that_is_switched_off_says_so(self, sick, model):
        result = sick.polycmp("run", model, "-b", "acme", POLYCMP_PLUGINS="onnx")
        assert result.returncode == 3
        assert "switched off by POLYCMP_PLUGINS=onnx" in result.stderr


class TestEscapeHatch:
    def test_none_lists_everything_installed_as_disabled(self, sick):
        result = sick.polycmp("plugins", "list", "--json", POLYCMP_PLUGINS="none")
        rows = json.loads(result.stdout)["plugins"]
        assert {row["state"] for row in rows if row["package"] == "polycmp"} == {"ok"}  # what is built in stays
        states = {row["name"]: row["state"] for row in rows if row["package"] != "polycmp"}
        assert set(states.values()) <= {"disabled", "broken", "excluded"}
        assert states["acme"] == "disabled"

    def test_what_is_switched_off_cannot_end_the_program(self, sick, model):
        site = sick
        site.plugin("killer", "import os\nos._exit(9)\n")
        died = site.python("-m", "polycmp", "run", model, "-b", "acme")  # the one thing that no guard in here stops
        assert (died.returncode, "died in polycmp run (exit status 9" in died.stderr) == (3, True), died.stderr
        result = site.polycmp("run", model, "-b", "acme", "-b", "onnx", POLYCMP_PLUGINS="acme,onnx")
        assert result.returncode == 0, result.stderr
        listed = site.polycmp("plugins", "list")
        assert "ended with exit status 9" in listed.stdout
