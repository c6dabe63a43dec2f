"""Small networks of three kinds in Keras, with random weights that keep the numbers alive."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

LAYERS = tf.keras.layers


def _inverted(x: Any, width: int) -> Any:
    inner = LAYERS.Conv2D(4 * width, 1, use_bias=False)(x)
    inner = LAYERS.ReLU(6.0)(LAYERS.BatchNormalization()(inner))
    inner = LAYERS.DepthwiseConv2D(3, padding="same", use_bias=False)(inner)
    inner = LAYERS.ReLU(6.0)(LAYERS.BatchNormalization()(inner))
    return LAYERS.Add()([x, LAYERS.BatchNormalization()(LAYERS.Conv2D(width, 1, use_bias=False)(inner))])


def _residual(x: Any, width: int) -> Any:
    inner = LAYERS.ReLU()(LAYERS.BatchNormalization()(LAYERS.Conv2D(width, 3, padding="same")(x)))
    inner = LAYERS.BatchNormalization()(LAYERS.Conv2D(width, 3, padding="same")(inner))
    return LAYERS.ReLU()(LAYERS.Add()([x, inner]))


def _encoder(x: Any, width: int) -> Any:
    query, key, value = (LAYERS.Dense(width)(x) for _ in range(3))
    scores = LAYERS.Softmax()(LAYERS.Dot((2, 2))([query, key]))
    x = LAYERS.LayerNormalization()(LAYERS.Add()([x, LAYERS.Dense(width)(LAYERS.Dot((2, 1))([scores, value]))]))
    inner = LAYERS.Dense(width)(LAYERS.Activation("gelu")(LAYERS.Dense(4 * width)(x)))
    return LAYERS.LayerNormalization()(LAYERS.Add()([x, inner]))


def networks() -> dict[str, Any]:
    """Return the networks by name."""
    tf.keras.utils.set_random_seed(0)
    made = {}
    for name, layer in (("mobilenet", _inverted), ("resnet", _residual)):
        picture = LAYERS.Input((32, 32, 3), batch_size=1, name="picture")
        x = LAYERS.ReLU(6.0)(LAYERS.BatchNormalization()(LAYERS.Conv2D(16, 3, strides=2, padding="same")(picture)))
        x = LAYERS.MaxPooling2D()(x) if name == "resnet" else x
        x = LAYERS.GlobalAveragePooling2D()(layer(layer(x, 16), 16))
        made[name] = tf.keras.Model(picture, LAYERS.Dense(10)(x))
    text = LAYERS.Input((12, 32), batch_size=1, name="text")
    x = _encoder(_encoder(text, 32), 32)
    made["bert"] = tf.keras.Model(text, LAYERS.Dense(10)(x))
    random = np.random.default_rng(0)
    for model in made.values():
        for layer in model.layers:
            if isinstance(layer, (LAYERS.BatchNormalization, LAYERS.LayerNormalization)):
                low_high = ((0.6, 1.4), (-0.2, 0.2), (-0.2, 0.2), (0.3, 1.2))
                layer.set_weights(
                    [random.uniform(*ends, w.shape) for ends, w in zip(low_high, layer.get_weights(), strict=False)]
                )
    return made


def convert(model: Any, *, codes: bool) -> bytes:
    """Return a network as a .tflite file.

    Args:
        model: The network.
        codes: Whether it is to calculate with codes of int8.
    """
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    if codes:
        random = np.random.default_rng(1)
        shape = model.inputs[0].shape
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: ([random.random(shape, np.float32)] for _ in range(20))
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    return bytes(converter.convert())
