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
#: Two compiled models in eight threads at once, time and again, after the thread that starts them has run both. Where a
#: thread never comes back, the alarm ends the process.
THREADS = f"""
import signal, threading
from openvino import Core
signal.alarm(20)
core = Core()
network = core.read_model(model)
several = [core.compile_model(network, "CPU", {{"INFERENCE_PRECISION_HINT": "f32"}}) for _ in range(2)]
def infer(compiled):
    compiled.create_infer_request().infer({{port.any_name: feed[port.any_name] for port in compiled.inputs}})
for _ in range(100):
    for compiled in several:
        infer(compiled)
    threads = [threading.Thread(target=infer, args=(several[number % 2],)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
compiled = several[0]
{_INFER}"""
