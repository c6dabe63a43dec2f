"""Forms of files, orders of axes, types and scales in which tensors are dumped."""

from __future__ import annotations

import shutil
from pathlib import Path

import dumping_devices as devices
import numpy as np
import onnx
import pytest

from polycmp_dump.dump_files import DumpFolder

RECORDED = Path(__file__).with_name("recorded")
FOLDER = Path("out")
IMAGE = np.random.default_rng(1).normal(size=(1, 3, 8, 8)).astype(np.float32)


def save_text(path: str, array: np.ndarray) -> None:
    """Write numbers as a program in C++ prints them."""
    Path(path).write_text("\n".join(f"{number:.9g}" for number in array.reshape(-1)))


def write_npy(tensors: devices.Tensors, edit=lambda array: array) -> None:
    for name, array in tensors.items():
        np.save(FOLDER / devices.underscored(name), edit(array))


def archive(tensors: devices.Tensors) -> str:
    np.savez(FOLDER / "run_4.npz", **{devices.underscored(name): array for name, array in tensors.items()})
    return 'files = "run_{iteration}.npz"'


def safetensors(tensors: devices.Tensors) -> str:
    numpy = pytest.importorskip("safetensors.numpy")
    numpy.save_file(tensors, FOLDER / "run.safetensors")
    return ""


def text(tensors: devices.Tensors) -> str:
    for name, array in tensors.items():
        save_text(f"out/{devices.underscored(name)}.txt", array)
    return ""


def big_endian(tensors: devices.Tensors) -> str:
    for name, array in tensors.items():
        array.astype(">f4").tofile(FOLDER / f"{devices.underscored(name)}.dat")
    return 'byte_order = "big"'


def other_suffix(tensors: devices.Tensors) -> str:
    for name, array in tensors.items():
        array.tofile(FOLDER / f"{devices.underscored(name)}.f32")
    return 'files = "{tensor}.f32"'


def in_float64(tensors: devices.Tensors) -> str:
    for name, array in tensors.items():
        array.astype(np.float64).tofile(FOLDER / f"{devices.underscored(name)}.raw")
    return 'dtype = "double"'


def folders_in_names(tensors: devices.Tensors) -> str:
    for name, array in tensors.items():
        path = FOLDER / f"{name.strip('/')}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, array)
    return ""


def channels_last_in_shapes(tensors: devices.Tensors) -> str:
    write_npy(tensors, devices.channels_last)
    return ""


def without_batch(tensors: devices.Tensors) -> str:
    for name, array in tensors.items():
        np.ascontiguousarray(devices.channels_last(array)[0]).tofile(FOLDER / f"{devices.underscored(name)}.raw")
    return 'layout = "HWC"'


def any_order(tensors: devices.Tensors) -> str:
    write_npy(tensors, lambda array: array.transpose(3, 1, 0, 2) if array.ndim == 4 else array)
    return "layout = [2, 1, 3, 0]"


def operators_names(tensors: devices.Tensors) -> str:
    for name, array in tensors.items():
        np.save(FOLDER / f"{devices.underscored(name.removesuffix('_output_0'))}.npy", array)
    Path("out/logits.npy").rename("out/fc_Gemm.npy")
    return 'files = ["{node}.npy", "{tensor}.npy"]'


def several_patterns(tensors: devices.Tensors) -> str:
    Path("out/inputs").mkdir()
    write_npy(tensors)
    Path("out/image.npy").rename("out/inputs/image_0.npy")
    return 'files = ["inputs/{tensor}_{iteration}.npy", "{tensor}.npy"]'


def a_scale_for_each_channel(tensors: devices.Tensors) -> str:
    write_npy(tensors)
    name = "/conv1/Conv_output_0"
    array = devices.channels_last(tensors[name])
    scales = np.abs(array).max(axis=(0, 1, 2)) / 32767
    np.rint(array / scales).astype(np.int16).tofile(FOLDER / "codes.raw")
    Path(f"out/{devices.underscored(name)}.npy").unlink()
    return (
        f'[tensors."{name}"]\nfile = "codes.raw"\ndtype = "int16"\nlayout = "NHWC"\n'
        f"scale = [{', '.join(map(str, scales))}]"
    )


def scales_in_a_file(tensors: devices.Tensors) -> str:
    write_npy(tensors)
    name = "/conv1/Conv_output_0"
    array = tensors[name]
    scales = np.abs(array).max(axis=(0, 2, 3)) / 32000
    codes = np.rint(array / scales.reshape(1, -1, 1, 1)) + 7
    codes.astype(np.int16).tofile(FOLDER / "codes.raw")
    np.save("out/scales.npy", scales)
    Path(f"out/{devices.underscored(name)}.npy").unlink()
    return f'[tensors."{name}"]\nfile = "codes.raw"\ndtype = "int16"\nscale = "scales.npy"\nzero_point = 7\naxis = 1\n'


def a_pattern_of_names(tensors: devices.Tensors) -> str:
    for name, array in tensors.items():
        kind = np.float64 if name.startswith("/conv") else np.float32
        array.astype(kind).tofile(FOLDER / f"{devices.underscored(name)}.raw")
    return '[tensors."/conv*"]\ndtype = "float64"'


FORMS = (
    archive, safetensors, text, big_endian, other_suffix, in_float64, folders_in_names, channels_last_in_shapes,
    without_batch, any_order, operators_names, several_patterns, a_scale_for_each_channel, scales_in_a_file,
    a_pattern_of_names,
)  # fmt: skip


@pytest.fixture
def tiny(polycmp, tmp_path):
    shutil.copy(RECORDED / "tiny.onnx", tmp_path)
    FOLDER.mkdir()
    return onnx.load("tiny.onnx")


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_a_form_of_dump_is_read(polycmp, tiny, form):
    tensors = devices.run_on_device(tiny, {"image": IMAGE})
    Path("dump.toml").write_text(f'folder = "out"\nprecision = "tf32"\n{form(tensors)}\n')
    done = polycmp("locate", "tiny.onnx", "-b", "dump:map=dump.toml", "-b", "onnxrt", "--report", "r.json")
    assert done.status == 0, done.out + done.err
    assert "have no counterpart" not in done.out
    assert len(done.report(Path("r.json"))["tensors"]) == 7


def test_sizes_that_the_model_leaves_open_come_from_the_files(polycmp, tiny):
    for item in (*tiny.graph.input, *tiny.graph.output):
        item.type.tensor_type.shape.dim[0].dim_param = "n"
    onnx.save(tiny, "tiny.onnx")
    iterations = []
    for batch in (2, 5):
        images = np.random.default_rng(batch).normal(size=(batch, 3, 8, 8)).astype(np.float32)
        iterations.append(devices.run_on_device(tiny, {"image": images}))
    devices.write_raw("out", iterations)
    Path("dump.toml").write_text(devices.NHWC)
    for command in ("run", "locate"):
        done = polycmp(command, "tiny.onnx", "-b", "dump:map=dump.toml", "-b", "onnxrt")
        assert done.status == 0, done.out + done.err


def test_sizes_that_nothing_tells_are_asked_for(polycmp, tiny):
    for axis in (0, 2):
        tiny.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = f"d{axis}"
    onnx.save(tiny, "tiny.onnx")
    devices.write_raw("out", [devices.run_on_device(tiny, {"image": IMAGE})])
    Path("dump.toml").write_text(devices.NHWC)
    done = polycmp("run", "tiny.onnx", "-b", "dump:map=dump.toml", "-b", "onnxrt")
    assert done.status == 3
    assert "image.raw does not tell the shape of 'image', which the model leaves open: [d0,3,d2,8]" in done.err
    Path("dump.toml").write_text(devices.NHWC + "[tensors.image]\nshape = [1, 8, 8, 3]\n")
    done = polycmp("run", "tiny.onnx", "-b", "dump:map=dump.toml", "-b", "onnxrt")
    assert done.status == 0, done.out + done.err


def test_a_quantised_model_is_judged_by_its_own_codes(polycmp, tiny):
    """Codes of a model that has codes itself are the network's: what the device rounds beyond them is a fault."""
    pytest.importorskip("onnxruntime.quantization")
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

    class Reader(CalibrationDataReader):
        feeds = iter([{"image": IMAGE}])

        def get_next(self):
            return next(self.feeds, None)

    quantize_static("tiny.onnx", "quantised.onnx", Reader(), quant_format=QuantFormat.QDQ)
    model = onnx.load("quantised.onnx")
    tensors = devices.run_on_device(model, {"image": IMAGE})
    for name, array in tensors.items():
        np.save(FOLDER / devices.underscored(name), array)
    done = polycmp("locate", "quantised.onnx", "--dump", "out", "-b", "onnxrt:optimization=off")
    assert done.status == 0, done.out + done.err
    assert "may round to" not in done.out


def test_inner_tensors_are_compared_by_run_where_they_are_outputs(polycmp, tiny):
    tensors = devices.run_on_device(tiny, {"image": IMAGE})
    tensors["/conv1/Conv_output_0"] = tensors["/conv1/Conv_output_0"] * np.float32(1.01)
    write_npy(tensors)
    words = ("run", "tiny.onnx", "--dump", "out", "-b", "onnxrt", "--onnx-outputs", "/conv1/Conv_output_0", "logits")
    done = polycmp(*words)
    assert (done.status, "FAILED: 1 of 2 outputs differs" in done.out) == (1, True), done.out


def test_run_with_all_tensors_marked_compares_every_tensor_of_a_dump(polycmp, tiny):
    tensors = devices.run_on_device(tiny, {"image": IMAGE})
    tensors["/conv1/Conv_output_0"] = tensors["/conv1/Conv_output_0"] * np.float32(1.01)
    write_npy(tensors)
    done = polycmp("run", "tiny.onnx", "--dump", "out", "-b", "onnxrt", "--mark-all")
    assert (done.status, "FAILED: 1 of 7 outputs differs" in done.out) == (1, True), done.out


def test_a_dump_may_be_believed(polycmp, tiny):
    """As the last backend it is the reference: a device that is right, and a runtime here that is not."""
    write_npy(devices.run_on_device(tiny, {"image": IMAGE}))
    wrong = "faulty:backend=onnxrt,fault=fp16,at=/conv2/Conv,name=here"
    done = polycmp("locate", "tiny.onnx", "-b", wrong, "--dump", "out")
    assert done.status == 1, done.out
    assert "Conv '/conv2/Conv' computes '/conv2/Conv_output_0'" in done.out


def test_no_part_of_a_dump_is_saved_as_a_case(polycmp, tiny):
    tensors = devices.run_on_device(tiny, {"image": IMAGE})
    tensors["/conv1/Conv_output_0"] = tensors["/conv1/Conv_output_0"] * 2
    write_npy(tensors)
    done = polycmp("locate", "tiny.onnx", "-b", "dump:folder=out,name=phone", "-b", "onnxrt", "--save-repro", "case")
    assert (done.status, "no case was saved: phone runs no part of the model's file" in done.out) == (1, True)
    assert not Path("case").exists()


def test_files_of_any_name_are_read_in_the_order_of_their_numbers(tmp_path):
    names = ["step2/x.npy", "step10/x.npy", "x\u00b2.npy", "\u00b2"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert list(DumpFolder(tmp_path).paths) == names
