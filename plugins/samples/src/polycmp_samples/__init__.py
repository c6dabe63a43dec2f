"""The data loader `sample`: small real pictures, speech and text, and their use where random numbers reach nothing."""
