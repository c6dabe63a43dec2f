"""The stages of a detector of speech around a model of silero_vad."""

import numpy as np

RATE, CHUNK, CONTEXT = 16_000, 512, 64


def load():
    """Yield sounds like syllables, with pauses between them, as 16-bit numbers."""
    rng = np.random.default_rng(0)
    for syllables in (3, 5):
        parts = [rng.normal(0, 30, RATE // 4)]
        for number in range(syllables):
            time = np.arange(int(RATE * (0.15 + 0.05 * (number % 3)))) / RATE
            pitch = 2 * np.pi * np.cumsum(110 + 25 * np.sin(2 * np.pi * 3 * time)) / RATE
            vowel = sum(
                np.exp(-(((110 * harmonic - formant) / 180) ** 2)) * np.sin(harmonic * pitch)
                for harmonic in range(1, 30)
                for formant in ((700, 1200, 2500), (300, 2300, 3000), (400, 900, 2600))[number % 3]
            )
            parts += [9000 * vowel / np.abs(vowel).max() * np.hanning(len(time)), rng.normal(0, 30, RATE * 4 // 10)]
        yield {"sound": np.concatenate([*parts, rng.normal(0, 30, RATE // 2)]).astype(np.int16)}


def waves(sound):
    return sound.astype(np.float32) / 32768


def chunks(wave):
    padded = np.pad(wave, (CONTEXT, 0))
    return [padded[at : at + CHUNK + CONTEXT][None] for at in range(0, len(wave) - CHUNK + 1, CHUNK)]


def start(wave):
    return np.zeros((2, 1, 128), np.float32), np.array(RATE, np.int64)


def speech(probabilities):
    return [float(item.ravel()[0]) for item in probabilities]


def smooth(speech):
    return np.convolve(np.pad(np.asarray(speech), 1, mode="edge"), np.ones(3) / 3, mode="valid")


def segments(smoothed):
    found, begin = [], None
    for number, value in enumerate([*smoothed, 0.0]):
        if begin is None and value >= 0.5:
            begin = number
        elif begin is not None and value < 0.35:
            found.append([round(begin * CHUNK / RATE * 1000), round(number * CHUNK / RATE * 1000)])
            begin = None
    return [np.array(item) for item in found]
