"""`polycmp decide`: whether a model is worse at its task than another one, and how sure that is."""
