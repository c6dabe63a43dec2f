"""Hold the shapes that a session declares against those of the runner, before a driving model is exported.

Found in: an exporter of driving models
"""

from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx

load_session = SessionFromOnnx("conv.onnx")
session = load_session()
with OnnxrtRunner(load_session) as runner:
    metadata = runner.get_input_metadata()
for declared in session.get_inputs():
    shape = metadata[declared.name].shape
    print(declared.name, declared.shape == shape, [*shape[1:], 1], isinstance(shape, list))
metadata["x"].shape[0] = 4
metadata.add("y", metadata["x"].dtype, shape=(1, 4))
print(metadata["x"].shape == [4, 3, 8, 8], metadata["y"].shape == [1, 4])
