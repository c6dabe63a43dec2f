"""The recipes of docs/dumps.md and its maps: dumps that programs wrote, or that are in the layout they document."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import dumping_devices as devices
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

RECORDED = Path(__file__).with_name("recorded")
PAGE = Path(__file__).parents[3] / "docs" / "dumps.md"
IMAGE = np.load(RECORDED / "executorch" / "image.npy")
#: Scales as LiteRT's interpreter told them of `litert-int8`.
LITERT_SCALES = {
    "image": ("serving_default_image_0", 0.028065180405974388, 11),
    "/conv1/Relu_output_0": ("Relu_add_conv1_Pad_add_y1", 0.014848603866994381, -128),
    "/conv2/Relu_output_0": ("Relu_1_add_1_conv2_add_1_y1", 0.010463440790772438, -128),
    "/pool/Flatten_output_0": ("pool", 0.004297391977161169, -128),
    "logits": ("PartitionedCall_0", 0.00526444474235177, -16),
}


def page_map(name: str, folder: str = "out") -> None:
    """Write a map of the page into a file, with another folder."""
    (block,) = re.findall(rf"```toml\n# {name}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    Path("dump.toml").write_text(re.sub(r'folder = "\w+', f'folder = "{folder}', block), encoding="utf-8")


@pytest.fixture
def tiny(polycmp, tmp_path):
    """The model of the recorded dumps, in the folder where commands run."""
    shutil.copy(RECORDED / "tiny.onnx", tmp_path)
    return onnx.load(tmp_path / "tiny.onnx")


@pytest.fixture
def locate(polycmp, tiny):
    """Search with the map that is there."""

    def run(*words: object):
        done = polycmp("locate", "tiny.onnx", "-b", "dump:map=dump.toml", "-b", "onnxrt", *words)
        return done.__class__(done.status, " ".join(done.out.split()), " ".join(done.err.split()))

    return run


def recorded(name: str) -> None:
    shutil.copytree(RECORDED / name, "out")


def spoil(path: str) -> None:
    """Multiply what a file holds by 1.5."""
    if path.endswith(".npy"):
        np.save(path, np.load(path) * np.float32(1.5))
    else:
        (np.fromfile(path, np.float32) * np.float32(1.5)).tofile(path)


# --- written by the programs


def test_onnxruntime_web(locate):
    recorded("onnxruntime-web")
    page_map("web.toml")
    done = locate()
    assert (done.status, "NO FAULT: all 7 tensors agree" in done.out) == (0, True), done.out
    spoil("out/_conv2_Conv_output_0.bin")
    done = locate()
    assert (done.status, "FOUND: wrong: Conv '/conv2/Conv'" in done.out) == (1, True), done.out


def test_tensorrt(locate):
    """A program in C++ with TensorRT 8.6 on an H200: parts of a Gemm, which the file has not, are among its tensors."""
    recorded("tensorrt")
    page_map("tensorrt.toml")
    done = locate()
    assert (done.status, "NO FAULT: all 7 tensors agree" in done.out) == (0, True), done.out
    spoil("out/_pool_GlobalAveragePool_output_0.bin")
    done = locate()
    assert (done.status, "FOUND: wrong: GlobalAveragePool '/pool/GlobalAveragePool'" in done.out) == (1, True), done.out


def test_litert(locate, polycmp):
    """Names are of no help, and channels are last, as the files say; activations are fused into what is before them."""
    recorded("litert")
    done = polycmp("template", "dump", "tiny.onnx", "out", "-b", "onnxrt", "-o", "dump.toml")
    assert (done.status, "wrote dump.toml: 5 tensors" in done.out) == (0, True), done.out + done.err
    done = locate()
    assert (done.status, "NO FAULT: all 4 tensors agree" in done.out) == (0, True), done.out
    spoil("out/Relu_1_add_1_conv2_add_1_y1.npy")
    done = locate()
    assert (done.status, "computes '/conv2/Relu_output_0'" in done.out) == (1, True), done.out


def write_litert_map(**others: float) -> None:
    scales = {name: (file, others.get(file, scale), zero) for name, (file, scale, zero) in LITERT_SCALES.items()}
    tables = [
        f'[tensors."{name}"]\nfile = "{file}.npy"\nscale = {scale}\nzero_point = {zero}\n'
        for name, (file, scale, zero) in scales.items()
    ]
    Path("dump.toml").write_text('folder = "out"\nlayout = "NHWC"\n' + "\n".join(tables))


def test_litert_in_8_bits(locate, polycmp):
    """That codes are 8 bits needs no word in the map."""
    recorded("litert-int8")
    write_litert_map()
    done = locate()
    assert (done.status, "no more than rounding to int8" in done.out) == (0, True), done.out
    done = polycmp("run", "tiny.onnx", "-b", "dump:map=dump.toml", "-b", "onnxrt")
    assert (done.status, "int8 measured with onnxrt" in done.out) == (0, True), done.out


def test_a_wrong_scale_is_found(locate):
    recorded("litert-int8")
    write_litert_map(Relu_1_add_1_conv2_add_1_y1=0.02)
    done = locate()
    assert (done.status, "computes '/conv2/Relu_output_0'" in done.out) == (1, True), done.out


def test_codes_are_paired_by_value_and_their_scale_estimated(polycmp, tiny):
    recorded("litert-int8")
    np.savez("inputs.npz", image=IMAGE)
    words = ("template", "dump", "tiny.onnx", "out", "-b", "onnxrt", "-o", "dump.toml", "--load-inputs", "inputs.npz")
    done = polycmp(*words)
    assert (done.status, "wrote dump.toml: 5 tensors" in done.out) == (0, True), done.out + done.err
    text = Path("dump.toml").read_text()
    assert 'precision = "int8"' in text
    for name, (file, scale, _) in LITERT_SCALES.items():
        table = text.partition(f'[tensors."{name}"]')[2].partition("[tensors.")[0]
        assert f'file = "{file}.npy"' in table
        assert float(re.findall(r"scale = ([\d.]+)", table)[0]) == pytest.approx(scale, rel=0.03)
        assert "estimated" in table


def test_codes_without_a_scale_are_not_compared(locate):
    recorded("litert-int8")
    text = "\n".join(f'[tensors."{name}"]\nfile = "{file}.npy"' for name, (file, _, _) in LITERT_SCALES.items())
    Path("dump.toml").write_text(f'folder = "out"\n{text}\n')
    done = locate()
    assert done.status == 3
    assert "out/PartitionedCall_0.npy holds int8, and 'logits' is float32[1,5] in the model" in done.err
    assert 'codes have a scale: [tensors."logits"] scale = …, zero_point = …' in done.err


def test_executorch(locate, polycmp):
    recorded("executorch")
    done = polycmp("template", "dump", "tiny.onnx", "out", "-b", "onnxrt", "-o", "dump.toml")
    assert (done.status, "wrote dump.toml: 7 tensors" in done.out) == (0, True), done.out + done.err
    done = locate()
    assert (done.status, "NO FAULT: all 6 tensors agree" in done.out) == (0, True), done.out
    spoil("out/000_aten.convolution.default.npy")
    done = locate()
    assert (done.status, "FOUND: wrong: Conv '/conv1/Conv'" in done.out) == (1, True), done.out


def test_rknn(locate, polycmp):
    """The simulator of RKNN Toolkit 2.5.0 for the RK3588, in 8 bits: fused operators show the last."""
    shutil.copytree(RECORDED / "rknn", "snapshot/simulator/npy")
    page_map("rknn.toml", "snapshot")
    done = locate()
    assert (done.status, "6 of 6 tensors exceed the tolerance, by no more" in done.out) == (0, True), done.out
    done = polycmp("run", "tiny.onnx", "-b", "dump:map=dump.toml", "-b", "onnxrt")
    assert (done.status, "int8 measured with onnxrt" in done.out) == (0, True), done.out
    spoil("snapshot/simulator/npy/_conv2_Relu_output_0.npy")
    done = locate()
    assert (done.status, "computes '/conv2/Relu_output_0'" in done.out) == (1, True), done.out


# --- in the layout that is documented; these programs were not run


def test_qnn(locate, tiny):
    devices.write_raw("out", [devices.run_on_device(tiny, {"image": IMAGE}, devices.Codes())] * 2)
    page_map("qnn.toml")
    done = locate()
    assert (done.status, "no more than rounding to int8" in done.out) == (0, True), done.out
    for number in (0, 1):
        spoil(f"out/Result_{number}/_conv1_Conv_output_0.raw")
    assert locate().status == 1


def test_qnn_native(locate, tiny):
    codes = devices.Codes()
    tensors = devices.run_on_device(tiny, {"image": IMAGE}, codes)
    place = Path("out/Result_0")
    place.mkdir(parents=True)
    devices.channels_last(IMAGE).tofile(place / "image.raw")
    page_map("qnn-native.toml")
    text = Path("dump.toml").read_text().partition("[tensors")[0]
    for name in tensors.keys() - {"image"}:
        coded = devices.channels_last(codes.encode(name, tensors[name]))
        np.ascontiguousarray(coded).tofile(place / f"{devices.underscored(name)}_native.raw")
        scale, zero = codes.scales[name]
        text += f'[tensors."{name}"]\ndtype = "uint8"\nscale = {scale:.9g}\nzero_point = {zero}\n'
    Path("dump.toml").write_text(text)
    done = locate()
    assert (done.status, "7 of 7 tensors exceed the tolerance, by no more" in done.out) == (0, True), done.out


def test_onnxruntime_debug_build(locate, tiny):
    """Each tensor once, weights and what operators read included, under its own name with underscores."""
    Path("out").mkdir()
    weights = {item.name: numpy_helper.to_array(item) for item in tiny.graph.initializer}
    for name, array in {**weights, **devices.run_on_device(tiny, {"image": IMAGE})}.items():
        path = Path("out", re.sub("[^0-9A-Za-z]", "_", name) + ".tensorproto")
        path.write_bytes(numpy_helper.from_array(array, name).SerializeToString())
    page_map("onnxruntime.toml")
    done = locate()
    assert (done.status, "NO FAULT: all 7 tensors agree" in done.out) == (0, True), done.out


def test_trtexec(locate, tiny):
    """`trtexec` numbers the files, and writes float16 as it is."""
    Path("out").mkdir()
    tensors = devices.run_on_device(tiny, {"image": IMAGE}, devices.half)
    IMAGE.tofile("image.bin")
    np.save("out/image.npy", IMAGE)
    for number, (name, array) in enumerate(list(tensors.items())[1:]):
        np.save(f"out/{number:04}_{devices.underscored(name)}.npy", array.astype(np.float16))
    page_map("trtexec.toml")
    done = locate()
    assert (done.status, "rounding to float16" in done.out) == (0, True), done.out


def test_core_ml(locate, tiny):
    """Names of ML programs, with the endings of casts to float16."""
    Path("out").mkdir()
    for name, array in devices.run_on_device(tiny, {"image": IMAGE}, devices.half).items():
        ending = "_cast_fp16" if name not in ("image", "logits") else ""
        np.save(f"out/{devices.underscored(name)}{ending}.npy", array)
    page_map("coreml.toml")
    done = locate()
    assert (done.status, "7 of 7 tensors exceed the tolerance, by no more" in done.out) == (0, True), done.out


def test_every_map_of_the_page_is_tested():
    maps = re.findall(r"```toml\n# ([\w-]+\.toml)", PAGE.read_text(encoding="utf-8"))
    tested = re.findall(r'page_map\("([\w-]+\.toml)"', Path(__file__).read_text(encoding="utf-8"))
    assert set(maps) - {"dump.toml"} == set(tested)
