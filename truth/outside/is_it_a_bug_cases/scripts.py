"""How scripts run a model in OpenVINO: `model` is its file, `feed` its inputs, `made` what comes out, by name."""

from __future__ import annotations

#: Releases of 2021 have another interface.
OLD_INTERFACE = """
from openvino.inference_engine import IECore
core = IECore()
made = core.load_network(core.read_network(model), "CPU", {"ENFORCE_BF16": "NO"}).infer(feed)
"""
_INFER = """
request = compiled.create_infer_request()
request.infer({port.any_name: feed[port.any_name] for port in compiled.inputs})
made = {port.any_name: request.get_tensor(port).data for port in compiled.outputs}
"""
INTERFACE = f"""
from openvino.runtime import Core
core = Core()
compiled = core.compile_model(core.read_model(model), "CPU", {{"INFERENCE_PRECISION_HINT": "f32"}})
{_INFER}"""
#: Nothing but the compiled model is kept.
CORE_GONE = f"""
from openvino.runtime import Core
def compiled_alone():
    core = Core()
    return core.compile_model(core.read_model(model), "CPU")
compiled = compiled_alone()
{_INFER}"""
#: As a program with its user's language does; what it compiles is kept beside the script.
GERMAN_CACHE = f"""
import locale, os, pathlib, subprocess, sys
beside = pathlib.Path(sys.argv[0]).parent
if not (beside / "de_DE.UTF-8").exists():
    subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(beside / "de_DE.UTF-8")], check=True)
os.environ["LOCPATH"] = str(beside)
locale.setlocale(locale.LC_NUMERIC, "de_DE.UTF-8")
from openvino import Core
core = Core()
core.set_property({{"CACHE_DIR": str(beside / "cache")}})
compiled = core.compile_model(core.read_model(model), "CPU", {{"INFERENCE_PRECISION_HINT": "f32"}})
{_INFER}"""
