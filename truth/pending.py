"""Scenarios that polycmp does not judge rightly yet, each with its reason; a test fails as soon as one is right."""

from __future__ import annotations

from collections.abc import Mapping

PENDING: Mapping[str, str] = {}
