"""Comparing: kernels, compare functions, and the verdicts they give."""
