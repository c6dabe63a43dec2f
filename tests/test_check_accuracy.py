"""`--save-accuracy-results`, `polycmp check accuracy`, `--check-average`, and compare scripts."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from polycmp.comparator import IterationResult, RunResults

BOTH = ("-b", "onnxrt", "-b", "onnx")


def records(path):
    return json.loads(Path(path).read_text())["records"]


@pytest.fixture
def differing(polycmp, model, other, tmp_path):
    """A file of metrics of two models that differ, over two iterations."""
    path = tmp_path / "m.json"
    words = (
        "--compare",
        "simple",
        "l2",
        "cosine_similarity",
        "psnr",
        "--iterations",
        2,
        "--atol",
        "1e-5",
        "--rtol",
        "1e-5",
    )
    done = polycmp(
        "run", model, "-b", "onnxrt", "-b", f"onnxrt:model={other},name=ref", *words, "--save-accuracy-results", path
    )
    assert done.status == 1
    return path


class TestJudging:
    """`check accuracy`."""

    def test_without_options_the_saved_tolerances_count(self, polycmp, model, differing):
        assert polycmp("check", "accuracy", differing).status == 1
        polycmp("run", model, *BOTH, "--save-accuracy-results", "good.json")
        assert polycmp("check", "accuracy", "good.json").status == 0

    def test_either_tolerance_that_suffices_passes(self, polycmp, differing):
        figures = [r["metrics"] for r in records(differing) if r["function"] == "simple"]
        atol = max(item["required_abs"] for item in figures)
        rtol = max(item["required_rel"] for item in figures)
        assert polycmp("check", "accuracy", differing, "--compare", "simple", "--atol", atol).status == 3
        only = ("--compare", "simple", "--allow-blind", "y")
        assert polycmp("check", "accuracy", differing, *only, "--atol", atol).status == 0
        assert polycmp("check", "accuracy", differing, *only, "--rtol", rtol).status == 0
        assert polycmp("check", "accuracy", differing, *only, "--rtol", f"y:{rtol}").status == 0
        lower = math.nextafter(atol, 0)
        assert polycmp("check", "accuracy", differing, *only, "--atol", lower, "--rtol", 0).status == 1

    def test_says_so_where_the_figures_do_not_tell(self, polycmp, tmp_path):
        metrics = {"max_abs": 1.0, "max_rel": 1.0, "mean_abs": 0.1, "mean_rel": 0.1, "worst_abs": 1.0, "worst_rel": 0.1}
        record = {
            "candidate": "a",
            "reference": "b",
            "iteration": 0,
            "output": "y",
            "function": "simple",
            "passed": False,
            "reason": "differs",
            "metrics": metrics,
            "settings": {"atol": 1e-5, "rtol": 1e-5, "check_error_stat": ["elemwise"]},
            "candidate_type": "float32[2]",
            "reference_type": "float32[2]",
            "reference_output": "y",
        }
        content = {
            "format": "polycmp metrics",
            "schema": 1,
            "command": "",
            "average": False,
            "errors": {},
            "pairs": [{"candidate": "a", "reference": "b", "reason": ""}],
            "records": [record],
        }
        (tmp_path / "m.json").write_text(json.dumps(content))
        unknown = polycmp("check", "accuracy", "m.json", "--atol", 0.5, "--rtol", 0.5)
        assert unknown.status == 3
        assert "cannot be told" in unknown.err
        assert "--atol 1.0" in unknown.err
        assert polycmp("check", "accuracy", "m.json", "--atol", 0.5, "--rtol", 0.05).status == 1  # the worst fails both
        assert polycmp("check", "accuracy", "m.json", "--check-error-stat", "mean", "--atol", 0.2).status == 0

    @pytest.mark.parametrize(
        ("words", "status"),
        [
            (("--l2-threshold", 100), 0),
            (("--l2-threshold", 1e-9), 1),
            (("--cosine-similarity-threshold", -1), 0),
            (("--psnr-threshold", 300), 1),
            (("--check-error-stat", "max", "--atol", 10), 0),
            (("--check-error-stat", "mean", "--atol", 1e-9, "--rtol", 1e-9), 1),
        ],
    )
    def test_new_thresholds(self, polycmp, differing, words, status):
        names = {
            "--l2-threshold": "l2",
            "--cosine-similarity-threshold": "cosine_similarity",
            "--psnr-threshold": "psnr",
        }
        assert (
            polycmp("check", "accuracy", differing, "--compare", names.get(words[0], "simple"), *words).status == status
        )

    def test_figures_not_in_the_file_are_an_error_that_names_those_that_are(self, polycmp, differing):
        for words in (("--compare", "snr"), ("--snr-threshold", 3)):
            done = polycmp("check", "accuracy", differing, *words)
            assert done.status == 3
            assert "simple, l2, cosine_similarity, psnr" in done.err
        done = polycmp("check", "accuracy", differing, "--check-error-stat", "quantile")
        assert done.status == 3
        assert "quantile_abs" in done.err

    def test_nan_and_missing_outputs_stay_failures_whatever_the_tolerance(self, polycmp, tmp_path):
        (tmp_path / "data.py").write_text(
            "import numpy as np\ndef load_data():\n    yield {'x': np.array([1, -1, 4, 9], np.float32)}\n"
        )
        import onnx
        from small_models import unary_model

        onnx.save(unary_model("Sqrt"), tmp_path / "sqrt.onnx")
        words = ("--data-loader-script", "data.py", "--save-accuracy-results", "m.json")
        assert polycmp("run", "sqrt.onnx", *BOTH, *words).status == 1
        loose = ("--atol", 1e9, "--rtol", 1e9)
        assert polycmp("check", "accuracy", "m.json", *loose).status == 1
        assert polycmp("check", "accuracy", "m.json", *loose, "--check-error-stat", "mean").status == 1

    @pytest.mark.parametrize("average", [(), ("--check-average",)])
    def test_texts_and_empty_tensors_keep_their_verdicts(self, polycmp, tmp_path, average):
        np = pytest.importorskip("numpy")
        from polycmp.comparator import IterationResult, RunResults

        for name, word in (("one", "a"), ("two", "a"), ("three", "b")):
            results = RunResults()
            outputs = {"text": np.array([word]), "empty": np.zeros((0, 3), np.float32), "y": np.ones(2, np.float32)}
            results.append((name, [IterationResult(outputs, 0.0, name)]))
            results.save(str(tmp_path / f"{name}.npz"))
        words = ("--check-error-stat", "max", "--save-accuracy-results", "m.json", *average)
        for other, status in (("two", 0), ("three", 1)):
            assert polycmp("run", "--load-outputs", "one.npz", f"{other}.npz", *words).status == status
            assert polycmp("check", "accuracy", "m.json", "--atol", 1, "--rtol", 1, *average).status == status
            assert polycmp("check", "accuracy", "m.json").status == status

    def test_another_iteration_count_stays_a_failure(self, polycmp, model):
        polycmp("run", model, "-b", "onnxrt", "--save-outputs", "one.json")
        words = ("--load-outputs", "one.json", "--iterations", 2, "--save-accuracy-results", "m.json")
        assert polycmp("run", model, "-b", "onnxrt", *words).status == 1
        done = polycmp("check", "accuracy", "m.json", "--atol", 1)
        assert done.status == 1
        assert "2 iterations" in done.out

    def test_a_backend_that_failed_stays_an_error(self, polycmp, model, tmp_path):
        (tmp_path / "bad.onnx").write_bytes(b"nonsense")
        backends = ("-b", "onnxrt", "-b", "onnxrt:model=model.onnx,threads=1", "-b", "onnx")
        words = ("-b", "onnxrt:python=/nonexistent/python,name=lost", "--save-accuracy-results", "m.json")
        assert polycmp("run", model, *words[:2], *backends, *words[2:]).status == 3
        done = polycmp("check", "accuracy", "m.json")
        assert done.status == 3
        assert "lost" in done.out

    def test_reports_and_fail_fast(self, polycmp, differing, tmp_path):
        words = ("--fail-fast", "--report", "r.json", "--report", "r.html", "--report", "r.xml")
        assert polycmp("check", "accuracy", differing, *words).status == 1
        report = json.loads((tmp_path / "r.json").read_text())
        assert report["comparison_results"][0]["iterations"] == 1
        assert report["comparison_results"][0]["outputs"]["y"]["max_error"] > 0
        assert "Failed" in (tmp_path / "r.html").read_text()

    def test_unknown_output_is_wrong_usage(self, polycmp, differing):
        done = polycmp("check", "accuracy", differing, "--atol", "q:1")
        assert done.status == 2
        assert "no output 'q'" in done.err

    def test_help_lists_only_what_applies(self, polycmp):
        done = polycmp("check", "accuracy", "--help")
        assert done.status == 0
        assert "--l2-threshold" in done.out
        assert "--onnxrt" not in done.out
        assert "accuracy" in polycmp("check", "--help").out


class TestPolygraphyFiles:
    """Accuracy results that Polygraphy 0.53.6 wrote."""

    def test_a_file_it_wrote_keeps_its_verdicts(self, polycmp, tmp_path):
        path = Path(__file__).parent / "data" / "polygraphy-0.53.6" / "accuracy.json"
        done = polycmp("check", "accuracy", path, "--report", "r.json")
        assert done.status == 1
        assert "2 of 4 outputs differ" in done.out
        pairs = json.loads((tmp_path / "r.json").read_text())["comparison_results"]
        assert [pair["passed"] for pair in pairs] == [False, True]  # other inputs, then the same run twice
        assert set(pairs[0]["outputs"]["z"]["functions"]) == {"simple", "l2", "cosine_similarity", "psnr", "snr"}
        assert polycmp("check", "accuracy", path, "--compare", "simple", "--atol", 1).status == 0
        assert polycmp("check", "accuracy", path, "--compare", "snr", "--snr-threshold", -50).status == 0


class TestAverage:
    """`--check-average`."""

    def test_mean_is_judged_instead_of_each_iteration(self, polycmp, model, other, differing):
        largest = [r["metrics"]["max_abs"] for r in records(differing) if r["function"] == "simple"]
        mean = sum(largest) / 2
        assert min(largest) < mean < max(largest)
        words = ("run", model, "-b", "onnxrt", "-b", f"onnxrt:model={other}", "--iterations", 2)
        statistic = ("--check-error-stat", "max", "--rtol", 0)
        enough, short = math.nextafter(mean, 9), math.nextafter(mean, 0)
        assert polycmp(*words, *statistic, "--atol", enough).status == 1  # one iteration is worse than the mean
        assert polycmp(*words, *statistic, "--atol", enough, "--check-average").status == 0
        done = polycmp(*words, *statistic, "--atol", short, "--check-average")
        assert done.status == 1
        assert "mean over 2 iterations" in done.out

    def test_saved_metrics_are_averaged_alike(self, polycmp, differing):
        largest = [r["metrics"]["max_abs"] for r in records(differing) if r["function"] == "simple"]
        words = ("check", "accuracy", differing, "--compare", "simple", "--check-error-stat", "max", "--rtol", 0)
        enough = math.nextafter(sum(largest) / 2, 9)
        assert polycmp(*words, "--atol", enough).status == 1
        assert polycmp(*words, "--atol", enough, "--check-average").status == 0

    def test_perfect_iterations_do_not_hide_a_bad_one(self):
        from polycmp.builtin.observers.averages import Means
        from polycmp.comparator import CompareFunc

        psnr = CompareFunc.psnr()
        means = Means(larger_is_better=True)
        for value in (math.inf, math.inf, 3.0):
            means.add({"psnr": value})
        assert means.result() == {"psnr": 3.0}
        assert not psnr.judge_metrics(means.result()).passed

    def test_nan_in_one_iteration_fails_the_mean(self, polycmp, tmp_path):
        import onnx
        from small_models import unary_model

        onnx.save(unary_model("Sqrt"), tmp_path / "sqrt.onnx")
        (tmp_path / "data.py").write_text(
            "import numpy as np\n"
            "def load_data():\n"
            "    yield {'x': np.array([1, 1, 4, 9], np.float32)}\n"
            "    yield {'x': np.array([1, -1, 4, 9], np.float32)}\n"
        )
        words = ("--data-loader-script", "data.py", "--check-error-stat", "mean", "--check-average")
        assert polycmp("run", "sqrt.onnx", *BOTH, *words).status == 1
        assert polycmp("run", "sqrt.onnx", *BOTH, *words, "--nan", "equal").status == 0

    @pytest.mark.parametrize(
        "words",
        [
            (),  # simple, element by element
            ("--compare", "indices"),
            ("--compare", "l2", "--fail-fast"),
            ("--compare-func-script", "compare.py"),
        ],
    )
    def test_what_has_no_mean_is_wrong_usage_before_anything_runs(self, polycmp, model, tmp_path, words):
        (tmp_path / "compare.py").write_text("def compare_outputs(one, two):\n    return {}\n")
        done = polycmp("run", model, *BOTH, "--check-average", "--save-outputs", "o.json", *words)
        assert done.status == 2
        assert "--check-average" in done.err
        assert not (tmp_path / "o.json").exists()


class TestNan:
    """NaN at different places."""

    @pytest.fixture
    def saved(self, tmp_path):
        """Two runs of two iterations with as many NaNs, at other places."""
        for name, places in (("a", (0, 1)), ("b", (1, 0))):
            iterations = []
            for place in places:
                y = np.zeros(4, np.float32)
                y[place] = np.nan
                iterations.append(IterationResult({"y": y}))
            RunResults([(name, iterations)]).save(f"{tmp_path}/{name}.json")
        return ("--load-outputs", "a.json", "b.json", "--nan", "equal")

    @pytest.mark.parametrize("statistic", ["max", "mean"])
    @pytest.mark.parametrize("average", [(), ("--check-average",)])
    def test_fails_where_figures_are_judged(self, polycmp, model, saved, statistic, average):
        words = ("--check-error-stat", statistic, "--save-accuracy-results", "m.json")
        assert polycmp("run", model, *saved, *words, *average).status == 1
        assert polycmp("check", "accuracy", "m.json", "--nan", "equal", "--atol", 1).status == 1

    def test_what_an_older_file_does_not_tell_is_not_judged(self, polycmp, model, saved):
        words = ("--check-error-stat", "max", "--save-accuracy-results", "m.json")
        assert polycmp("run", model, *saved, *words).status == 1
        content = json.loads(Path("m.json").read_text())
        for record in content["records"]:
            del record["metrics"]["nan_mismatched"], record["metrics"]["nan_failed"]
        Path("old.json").write_text(json.dumps(content))
        assert polycmp("check", "accuracy", "old.json", "--nan", "differ").status == 1
        done = polycmp("check", "accuracy", "old.json", "--nan", "equal")
        assert done.status == 3
        assert "cannot be judged with these options" in done.err
        assert "--save-accuracy-results" in done.err

    def test_the_same_places_can_be_forgiven_later(self, polycmp, model, saved):
        runs = ("--load-outputs", "a.json", "a.json")
        assert polycmp("run", model, *runs, "--save-accuracy-results", "m.json").status == 1
        assert polycmp("check", "accuracy", "m.json").status == 1
        assert polycmp("check", "accuracy", "m.json", "--nan", "equal").status == 0


class TestDamage:
    """Files that would pass by what they do not say."""

    @pytest.mark.parametrize("change", [{"passed": "false"}, {"passed": 1}, {"candidate": "nobody"}])
    def test_is_told(self, polycmp, differing, change):
        content = json.loads(differing.read_text())
        for record in content["records"]:
            record.update(change)
        differing.write_text(json.dumps(content))
        done = polycmp("check", "accuracy", differing)
        assert done.status == 3
        assert "damaged" in done.err


class TestWholeNumbers:
    """Exact by default, also in saved metrics."""

    def test_a_tolerance_counts_where_it_is_given(self, polycmp, model, tmp_path):
        for name, index in (("a", 200000), ("b", 200001)):
            RunResults([(name, [IterationResult({"y": np.array([index])})])]).save(f"{tmp_path}/{name}.json")
        runs = ("--load-outputs", "a.json", "b.json")
        assert polycmp("run", model, *runs, "--save-accuracy-results", "m.json").status == 1
        assert records("m.json")[0]["settings"]["rtol"] == 0
        for tolerance in ("--rtol=y:1e-5", "--atol=1"):
            done = polycmp("run", model, *runs, tolerance)
            assert done.status == 0
            assert "1 of 1 element differs within tolerance" in " ".join(done.out.split())
            assert "PASSED: 1 output within tolerance; whole numbers that differ count as equal in 'y'" in done.out
        assert polycmp("check", "accuracy", "m.json", "--nan", "equal").status == 1
        assert polycmp("check", "accuracy", "m.json", "--rtol", "y:1e-5").status == 0

    def test_a_relative_tolerance_for_all_outputs_covers_none(self, polycmp, model, tmp_path):
        """An index that is nearly right is another one."""
        for name, index in (("a", 200000), ("b", 200001)):
            RunResults([(name, [IterationResult({"y": np.array([index])})])]).save(f"{tmp_path}/{name}.json")
        done = polycmp("compare", "a.json", "b.json", "--rtol", "1e-3", "--save-accuracy-results", "m.json")
        assert done.status == 1
        assert "--rtol covers whole numbers only by name: --rtol y:0.001" in " ".join(done.out.split())
        assert polycmp("check", "accuracy", "m.json", "--rtol", "1e-2").status == 1


@pytest.mark.parametrize("option", ["--atol", "--rtol", "--l2-threshold"])
@pytest.mark.parametrize("value", ["inf", "nan", "-1", "y:inf"])
def test_tolerances_that_let_everything_pass_are_wrong_usage(polycmp, model, option, value):
    done = polycmp("run", model, *BOTH, "--compare", "simple", "l2", f"{option}={value}")
    assert done.status == 2
    assert option in done.err


class TestScripts:
    """`--compare-func-script`."""

    def run(self, polycmp, tmp_path, model, source, *words):
        (tmp_path / "compare.py").write_text(source)
        name = words[0] if words else ""
        return polycmp("run", model, *BOTH, "--compare-func-script", f"compare.py{name}", *words[1:])

    def test_judges_all_outputs_at_once(self, polycmp, tmp_path, model):
        source = "def compare_outputs(one, two):\n    return dict.fromkeys(one, {})\n"
        near = source.format("bool(abs(one['y'] - two['y']).max() < 1e-4)")
        assert self.run(polycmp, tmp_path, model, near).status == 0
        assert self.run(polycmp, tmp_path, model, source.format("True")).status == 3
        done = self.run(polycmp, tmp_path, model, source.format("False"))
        assert done.status == 1
        assert "the compare function says so" in done.out

    def test_judges_one_output_if_it_takes_its_name(self, polycmp, tmp_path, model):
        source = "def mine(one, two, *, output):\n    return output == 'y' and bool(abs(one - two).max() < 1e-4)\n"
        assert self.run(polycmp, tmp_path, model, source, ":mine").status == 0

    def test_class_is_instantiated_and_iterations_are_counted(self, polycmp, tmp_path, model):
        source = (
            "class compare_outputs:\n"
            "    def __init__(self): self.calls = 0\n"
            "    def __call__(self, one, two):\n"
            "        self.calls += 1\n"
            "        return {'y': self.calls != 2}\n"
        )
        done = self.run(polycmp, tmp_path, model, source, "", "--iterations", 3, "--report", "r.json")
        assert done.status == 1
        output = json.loads((tmp_path / "r.json").read_text())["comparison_results"][0]["outputs"]["y"]
        assert (output["failed_iterations"], output["iterations"], output["worst_iteration"]) == (1, 3, 1)

    @pytest.mark.parametrize(
        ("source", "status", "text"),
        [
            ("def other(): pass\n", 3, "compare_outputs"),
            ("def compare_outputs(one, two):\n    raise KeyError('gone')\n", 3, "gone"),
            ("def compare_outputs(one, two):\n    return 3\n", 3, "returned int"),
            ("def compare_outputs(one, two):\n    return {}\n", 3, "ERROR"),
            ("def compare_outputs(one, two):\n    raise SystemExit(0)\n", 3, "SystemExit: 0"),
            ("def compare_outputs(one, two, output):\n    raise SystemExit(0)\n", 3, "SystemExit: 0"),
            ("def compare_outputs(one, two):\n    raise BaseException('panic')\n", 3, "panic"),
            ("def compare_outputs(one, two):\n    raise GeneratorExit\n", 3, "GeneratorExit"),
            ("def compare_outputs(one, two):\n    return {'y': float('nan')}\n", 3, "nan (float)"),
            ("def compare_outputs(one, two, output):\n    return one == two\n", 3, "an array of bool"),
            ("def compare_outputs(one, two, output):\n    one[...] = two\n    return True\n", 3, "read-only"),
            ("def compare_outputs(one, two):\n    one['y'][...] = two['y']\n    return {'y': True}\n", 3, "read-only"),
        ],
    )
    def test_scripts_that_cannot_be_used(self, polycmp, tmp_path, model, source, status, text):
        done = self.run(polycmp, tmp_path, model, source)
        assert done.status == status
        assert text in done.out + done.err

    def test_missing_script(self, polycmp, model):
        done = polycmp("run", model, *BOTH, "--compare-func-script", "nowhere.py")
        assert done.status == 3
        assert "nowhere.py" in done.err

    def test_verdicts_of_scripts_are_saved_and_judged(self, polycmp, tmp_path, model):
        source = "def compare_outputs(one, two):\n    return {'y': False}\n"
        self.run(polycmp, tmp_path, model, source, "", "--save-accuracy-results", "m.json")
        assert polycmp("check", "accuracy", "m.json").status == 1
