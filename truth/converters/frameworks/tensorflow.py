"""TensorFlow and Keras, whose networks tf2onnx converts from a SavedModel, from LiteRT and from the function."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from truth.converters.frameworks import Array, Export, Exportable, Framework, rows, words


def _made(model: Any, **inputs: Array) -> Exportable:
    """Return a model with weights of its own and statistics that are not those of a new one."""
    rng = np.random.default_rng(7)
    for weight in model.weights:
        if weight.name in {"moving_variance", "gamma"}:
            weight.assign(rng.uniform(0.5, 1.5, weight.shape))
        elif len(weight.shape) > 1:
            size = np.prod(weight.shape[:-1])
            weight.assign(rng.standard_normal(weight.shape) * float(size) ** -0.5)
        elif weight.dtype == "float32":
            weight.assign(0.3 * rng.standard_normal(weight.shape))
    made = model([tf.constant(array) for array in inputs.values()], training=False)
    outputs = [np.asarray(item) for item in (made if isinstance(made, list | tuple) else (made,))]
    return Exportable(model, inputs, outputs, {name: {0: "batch"} for name in inputs})


def _residual() -> Exportable:
    """Convolutions with normalisation and ReLU, joined by a sum."""
    image = keras.Input((16, 16, 3), name="image")
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same")(image)))
    y = layers.Conv2D(8, 3, padding="same", activation="relu")(x)
    x = layers.MaxPooling2D()(layers.Add()([x, layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same")(y))]))
    head = layers.Dense(5)(layers.GlobalAveragePooling2D()(x))
    return _made(keras.Model(image, layers.Softmax()(head)), image=rows(2, 16, 16, 3))


def _mobile() -> Exportable:
    """Depthwise and separable convolutions, stride and padding as TensorFlow has them, Swish and a gate."""
    image = keras.Input((15, 15, 3), name="image")
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu6")(image)
    x = layers.Activation("swish")(layers.BatchNormalization()(layers.DepthwiseConv2D(3, padding="same")(x)))
    gate = layers.Dense(8, activation="sigmoid")(layers.Dense(4, activation="relu")(layers.GlobalAveragePooling2D()(x)))
    x = layers.Multiply()([x, layers.Reshape((1, 1, 8))(gate)])
    return _made(
        keras.Model(image, layers.SeparableConv2D(6, 3, strides=2, padding="same")(x)), image=rows(2, 15, 15, 3)
    )


def _attention() -> Exportable:
    """Attention over itself, normalisation and GELU."""
    x = keras.Input((9, 16), name="x")
    y = layers.LayerNormalization()(layers.Add()([x, layers.MultiHeadAttention(2, 8)(x, x)]))
    z = layers.Dense(16)(layers.Dense(32, activation="gelu")(y))
    return _made(keras.Model(x, layers.LayerNormalization()(layers.Add()([y, z]))), x=rows(2, 9, 16))


def _recurrent(kind: Any) -> Exportable:
    """A recurrent layer in both directions, and a head."""
    sound = keras.Input((12, 6), name="sound")
    steps = layers.Bidirectional(kind(10, return_sequences=True))(sound)
    return _made(keras.Model(sound, layers.TimeDistributed(layers.Dense(4))(steps)), sound=rows(2, 12, 6))


def _upsampling() -> Exportable:
    """A transposed convolution, bilinear resizing, border padding, two outputs."""
    image = keras.Input((8, 8, 3), name="image")
    x = layers.LeakyReLU()(layers.Conv2D(8, 3, padding="same")(image))
    up = layers.Conv2DTranspose(8, 3, strides=2, padding="same", activation="elu")(x)
    large = layers.UpSampling2D(interpolation="bilinear")(up)
    end = layers.Conv2D(3, 3, activation="tanh")(layers.ZeroPadding2D(1)(large))
    return _made(keras.Model(image, [end, layers.Cropping2D(2)(up)]), image=rows(1, 8, 8, 3))


def _text() -> Exportable:
    """Embedded words, convolved and pooled."""
    tokens = keras.Input((10,), dtype="int32", name="tokens")
    x = layers.Embedding(50, 16)(tokens)
    x = layers.Concatenate()([layers.Conv1D(8, width, padding="same", activation="relu")(x) for width in (2, 3, 5)])
    head = layers.Dense(4, activation="softmax")(layers.GlobalMaxPooling1D()(x))
    return _made(keras.Model(tokens, head), tokens=words(2, 10, below=50).astype(np.int32))


def _dense() -> Exportable:
    """Layers with several activations."""
    x = keras.Input((16,), name="x")
    y = layers.Dense(32, activation="selu")(x)
    y = layers.PReLU()(layers.Dense(32)(y))
    return _made(keras.Model(x, layers.Dense(6, activation="softplus")(y)), x=rows(4, 16))


def _by_command(flag: str, file: Path, target: Path, *more: str) -> None:
    words = [sys.executable, "-m", "tf2onnx.convert", flag, str(file), "--output", str(target), *more]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["it failed"])[-1])


def _of_saved(made: Exportable, target: Path, opset: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made.network.export(folder, verbose=False)
        _by_command("--saved-model", Path(folder), target, "--opset", opset)


def _of_lite(made: Exportable, target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made.network.export(folder, verbose=False)
        file = Path(folder) / "net.tflite"
        file.write_bytes(tf.lite.TFLiteConverter.from_saved_model(folder).convert())
        _by_command("--tflite", file, target, "--opset", "18")


def _of_function(made: Exportable, target: Path) -> None:
    import tf2onnx

    shapes = [tf.TensorSpec([None, *array.shape[1:]], array.dtype, name) for name, array in made.inputs.items()]
    run = tf.function(lambda *given: made.network(list(given), training=False))
    tf2onnx.convert.from_function(run, input_signature=shapes, opset=18, output_path=str(target))


_EXPORTERS: dict[str, Export] = {
    "tf2onnx of a SavedModel": partial(_of_saved, opset="18"),
    "tf2onnx of a SavedModel, opset 13": partial(_of_saved, opset="13"),
    "tf2onnx of a function": _of_function,
    "tf2onnx of LiteRT": _of_lite,
}
FRAMEWORK = Framework(
    networks={
        "residual": _residual,
        "mobile": _mobile,
        "attention": _attention,
        "lstm": partial(_recurrent, layers.LSTM),
        "gru": partial(_recurrent, layers.GRU),
        "upsampling": _upsampling,
        "text": _text,
        "dense": _dense,
    },
    exporters=_EXPORTERS,
    packages=("tensorflow-cpu", "tf2onnx"),
)
