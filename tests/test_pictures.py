"""Pictures of the error, drawn by the plugin while a run compares."""

from __future__ import annotations


def test_one_file_per_iteration_pair_output_and_kind(polycmp, model, tmp_path):
    backends = ("-b", "onnxrt", "-b", "onnxrt:threads=1,name=one", "-b", "onnx")
    done = polycmp("run", model, *backends, "--iterations", 2, "--save-heatmaps", "h", "--save-error-metrics-plot", "h")
    assert done.status == 0
    names = [path.name for path in (tmp_path / "h").iterdir()]
    assert len(names) == 2 * 2 * 3
    assert "iteration-000001-one-vs-onnx-y-absolute-error.png" in names


def test_matched_names_are_drawn(polycmp, tmp_path):
    import onnx
    from small_models import small_model

    onnx.save(small_model(), tmp_path / "a.onnx")
    onnx.save(small_model(output="z"), tmp_path / "b.onnx")
    words = ("run", "a.onnx", "-b", "onnxrt", "-b", "onnxrt:model=b.onnx", "--map-output", "y=z")
    assert polycmp(*words, "--save-heatmaps", "h").status == 0
    assert len(list((tmp_path / "h").iterdir())) == 2


def test_without_matplotlib_nothing_runs(polycmp, model, monkeypatch):
    monkeypatch.setattr("polycmp_report.pictures.draw.find_spec", lambda _: None)
    done = polycmp("run", model, "-b", "onnxrt", "-b", "onnx", "--save-heatmaps", "h")
    assert done.status == 3
    assert "pip install 'polycmp-report[plot]'" in done.err
    assert done.out == ""


def test_folder_that_cannot_be_made_is_an_error(polycmp, model, tmp_path):
    (tmp_path / "taken").write_text("")
    done = polycmp("run", model, "-b", "onnxrt", "-b", "onnx", "--save-heatmaps", "taken/h")
    assert done.status == 3
    assert "taken" in done.err
