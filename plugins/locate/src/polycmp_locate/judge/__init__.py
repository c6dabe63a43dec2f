"""The third stage: which tensor is wrong, and whose operator makes it so."""
