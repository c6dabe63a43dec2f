"""The values that the stages of a search hand on: what was swept, measured, judged, and the report of it.

They hold figures and operators, no backend and no later stage; each module is one stage's.
"""
