"""A backend in a process of its own by `EngineRunner`, as an author of one writes it."""

from __future__ import annotations

import numpy as np
import pytest
from toy_runner import runner

from polycmp.errors import BackendError, ModelError


def test_outputs_come_back_in_the_types_that_the_model_declares():
    with runner("Neg", options=2.0) as active:
        assert active.backend_version == "1.0"
        result = active.infer({"x": np.float32([[1, 2]])})["y"]
    assert result.dtype == np.float32 and result.tolist() == [[-2, -4]]


def test_a_model_that_the_engine_refuses_is_an_error_with_what_it_printed():
    with pytest.raises(ModelError) as caught, runner("Sin"):
        pass
    assert "Toy cannot take the model" in str(caught.value)
    assert caught.value.why == "it has no Sin; toy: error: no Sin today"


def test_an_engine_that_ends_is_an_error_in_words():
    with runner("Cos") as active, pytest.raises(BackendError, match="ended with exit status 7"):
        active.infer({"x": np.ones((1, 2), np.float32)})
