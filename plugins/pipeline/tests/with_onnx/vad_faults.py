"""Stages of `vad_stages` with a fault each, called `STAGE_FAULT`."""

import numpy as np
import vad_stages as right


def waves_divided_by_32767(sound):
    return sound.astype(np.float32) / 32767


def waves_wrapped_around(sound):
    return right.waves((sound * 4).astype(np.int16))


def waves_eight_bits(sound):
    return right.waves(sound // 256 * 256)


def chunks_off_by_one(wave):
    return right.chunks(np.append(wave[1:], wave[:1]))


def chunks_without_context(wave):
    nothing = np.zeros((1, right.CONTEXT), np.float32)
    return [np.concatenate([nothing, item[:, right.CONTEXT :]], 1) for item in right.chunks(wave)]


def chunks_last_one_lost(wave):
    return right.chunks(wave)[:-1]


def start_other_state(wave):
    state, rate = right.start(wave)
    return state + np.float32(0.1), rate


def speech_one_less_it(probabilities):
    return [1 - float(item.ravel()[0]) for item in probabilities]


def smooth_one_frame_late(speech):
    return np.convolve(np.pad(np.asarray(speech), (2, 0), mode="edge"), np.ones(3) / 3, mode="valid")


def smooth_sum_for_mean(speech):
    return right.smooth(speech) * 3


def segments_other_threshold(smoothed):
    return right.segments(np.asarray(smoothed) - 0.3)


def segments_rounded_down(smoothed):
    return [item // 10 * 10 for item in right.segments(smoothed)]


def segments_one_frame_long(smoothed):
    return [item + np.array([0, 32]) for item in right.segments(smoothed)]
