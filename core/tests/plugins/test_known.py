"""What is answered for a name that nothing installed has."""

from __future__ import annotations

import pytest
from fakes import runner

from polycmp.errors import PluginError, UsageError
from polycmp.plugins import Registry
from polycmp.plugins.known import explain_kind, explain_model, explain_suffix


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("tf", r"pip install 'polycmp-tf\[tf\]'"),
        ("trt", r"pip install 'polycmp-trt\[cu12\]'"),
        ("onnxruntime", r"pip install 'polycmp-onnxrt\[cpu\]'"),
        ("goood", "did you mean 'good'"),
    ],
)
def test_names_of_packages_and_of_other_tools_say_what_to_install(site, name, says):
    site.plugin("good", runner("good"))
    registry = Registry([item for item in Registry.discover({}).candidates if item.record.name == "good"])
    with pytest.raises(PluginError, match=says):
        registry.find_runner(name)


def test_plugin_without_that_backend_says_what_it_offers(site):
    site.plugin("good", runner("great"))
    with pytest.raises(PluginError, match="is installed, but offers backend 'great'"):
        Registry.discover({}).find_runner("good")


def test_unknown_compare_function_lists_close_ones(site):
    with pytest.raises(UsageError, match="did you mean 'simple'"):
        Registry.discover({}).find_compare_func("simpel")


@pytest.mark.parametrize(
    ("find", "name", "error", "says"),
    [
        ("command", "locate", PluginError, "pip install polycmp-locate"),
        ("command", "surgeon", PluginError, "pip install polycmp-onnx"),
        ("command", "plugins lst", UsageError, "did you mean 'plugins list'"),
        ("report", "html", PluginError, "pip install polycmp-report"),
        ("report", "htm", UsageError, "did you mean '.html'"),
        ("data_loader", "sample", PluginError, "pip install polycmp-samples"),
        ("data_loader", "sampel", UsageError, "there is no data loader 'sampel'"),
    ],
)
def test_each_kind_names_the_package_that_brings_it(site, find, name, error, says):
    registry = Registry.discover({"POLYCMP_PLUGINS": "none"})
    with pytest.raises(error) as caught:
        getattr(registry, f"find_{find}")(name)
    assert says in f"{caught.value.what} {caught.value.why} {caught.value.hint}"


def test_files_and_kinds_of_models_are_known_by_what_reads_them(tmp_path):
    assert explain_suffix(".onnx") == "pip install polycmp-onnx"
    assert explain_suffix(".nobody") == ""
    assert explain_kind("tflite") == "pip install 'polycmp-tf[tf]' (or [lite] for .tflite files alone)"
    (tmp_path / "saved_model.pb").write_bytes(b"")
    assert "polycmp-tf" in explain_model(tmp_path)
    assert explain_model(tmp_path / "model.ONNX") == "pip install polycmp-onnx"
