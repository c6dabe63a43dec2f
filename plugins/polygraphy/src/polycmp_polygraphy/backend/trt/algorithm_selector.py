"""Tactics that are recorded and replayed under the names of `polygraphy.backend.trt`."""

from __future__ import annotations

from polycmp_trt import Algorithm as Algorithm
from polycmp_trt import TacticRecorder as TacticRecorder
from polycmp_trt import TacticReplayData as TacticReplayData
from polycmp_trt import TacticReplayer as TacticReplayer
from polycmp_trt import TensorInfo as TensorInfo
