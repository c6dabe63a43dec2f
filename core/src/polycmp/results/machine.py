"""What a machine and a Python environment are. Also a program that another interpreter runs to describe its own.

Only the standard library is imported, since the other environment need not have anything of polycmp's.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path

#: CPU features by which inference libraries choose kernels, as Linux names them: of x86-64, and of Arm.
_FLAGS = (
    *("sse4_2", "avx", "avx2", "fma", "f16c", "avx_vnni", "avx_vnni_int8", "avx_ne_convert"),
    *("avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16"),
    *("amx_tile", "amx_int8", "amx_bf16", "amx_fp16"),
    *("asimd", "asimdhp", "asimddp", "i8mm", "bf16", "sve", "sve2", "sme"),
)
#: Of those that lack, the ones worth naming: int8 models give other results without them.
_NAMED = {"avx512f": "AVX-512", "avx512_vnni": "AVX-512 VNNI", "avx_vnni": "AVX VNNI", "amx_int8": "AMX"}


def describe(modules: Iterable[str]) -> dict[str, str]:
    """Return versions, platform and processor in words, by what they are; nothing that names a person.

    Args:
        modules: Modules whose versions count.
    """
    facts = {
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        **{name: version for name in dict.fromkeys(modules) if (version := _version(name))},
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
    }
    return {**facts, **dict(_processor())}


def _version(module: str) -> str:
    loaded = str(getattr(sys.modules.get(module), "__version__", ""))
    if loaded:
        return loaded
    try:
        return metadata.version(module)
    except metadata.PackageNotFoundError:
        return ""


def processor_name() -> str:
    """Return the processor's model name, which Linux tells in a file only."""
    return _name(_linux_processor())


def _name(linux: Mapping[str, str]) -> str:
    return linux.get("model name") or platform.processor() or platform.machine()


def _linux_processor() -> dict[str, str]:
    """Return what Linux tells of the first processor; nothing elsewhere."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    lines = [line.partition(":") for line in text.splitlines()]
    return {key.strip(): value.strip() for key, _, value in reversed(lines)}


def _processor() -> Iterator[tuple[str, str]]:
    known = _linux_processor()
    yield "processor", _name(known)
    yield "cores", _cores()
    have = set((known.get("flags") or known.get("Features") or "").split())
    if have:
        yield "processor flags", " ".join(flag for flag in _FLAGS if flag in have) or "none of those that matter"
    if "sse2" in have:
        lacking = [words for flag, words in _NAMED.items() if flag not in have]
        yield from [("without", ", ".join(lacking))] if lacking else []


def _cores() -> str:
    """Return how many cores this process may use, and of how many: runtimes start a thread for each."""
    total = os.cpu_count() or 0
    try:
        usable = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        usable = total
    return str(total) if usable == total else f"{usable} of {total}"


def device_here() -> str:
    """Name the kind of machine that this is: its architecture, and the NVIDIA GPUs that Linux tells of."""
    names = []
    for path in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        names += [line.partition(":")[2].strip() for line in lines if line.startswith("Model:")]
    return " with ".join(filter(None, (platform.machine(), ", ".join(dict.fromkeys(names)))))


if __name__ == "__main__":
    print(json.dumps(describe(sys.argv[1:])))
