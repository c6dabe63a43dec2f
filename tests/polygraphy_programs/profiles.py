"""Build the optimization profile of a diffusion model's text encoder.

Found in: NVIDIA/TensorRT demo/Diffusion
"""

from polygraphy.backend.trt import Profile

input_profile = {"input_ids": [(1, 77), (1, 77), (4, 77)], "latent": [(2, 4, 32, 32), (2, 4, 64, 64), (8, 4, 96, 96)]}
p = Profile()
for name, dims in input_profile.items():
    assert len(dims) == 3
    p.add(name, min=dims[0], opt=dims[1], max=dims[2])
for name, shapes in p.items():
    print(name, tuple(shapes.min), tuple(shapes.opt), tuple(shapes.max))
print("latent" in p, p["latent"].opt, len(p))
