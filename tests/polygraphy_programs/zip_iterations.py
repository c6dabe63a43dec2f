"""Walk over saved inputs and the outputs of two runners, iteration by iteration.

Found in: triton-inference-server/model_navigator docs on the conversion of models
"""

from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, DataLoader, RunResults
from polygraphy.json import load_json

runners = [OnnxrtRunner(SessionFromOnnx(f"{name}.onnx"), name=f"{name}-runner") for name in ("conv", "conv_off")]
Comparator.run(runners, data_loader=DataLoader(iterations=2), save_inputs_path="in.json").save("out.json")
inputs_data = load_json("in.json")
results = RunResults.load("out.json")
for input_data, first, second in zip(inputs_data, results["conv-runner"], results["conv_off-runner"]):
    print(input_data["x"].shape, first["y"].round(4).tolist(), second["y"].round(4).tolist())
