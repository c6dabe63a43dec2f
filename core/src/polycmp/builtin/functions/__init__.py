"""Compare functions for all tensors: `indices`, `l2`, `cosine_similarity`, `psnr`, `snr`, `ulp`.

Nothing is imported here: the light module `plugin` is in one package with functions that need NumPy.
"""
