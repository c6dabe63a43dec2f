"""Configurations of the builder under the names of `polygraphy.backend.trt`."""

from __future__ import annotations

from polycmp_trt import CreateConfig as CreateConfig
from polycmp_trt import PostprocessConfig as PostprocessConfig
from polycmp_trt import create_config as create_config
from polycmp_trt import postprocess_config as postprocess_config
