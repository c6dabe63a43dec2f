"""Latency and verdict of many settings of one model, and the fastest that is right."""
