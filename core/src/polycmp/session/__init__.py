"""Carrying a plan out: runs in lockstep, compared as they go, in memory that does not grow with the iterations."""
