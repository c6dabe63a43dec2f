"""The models that tests of engines share."""

from __future__ import annotations

from engine_models import model  # noqa: F401  (a fixture)
