"""Facts about a Python environment and its machine. Also a program that another interpreter runs to describe its own.

Only the standard library is imported, since the other environment need not have anything of polycmp's.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterable, Iterator
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


def _processor() -> Iterator[tuple[str, str]]:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    lines = [line.partition(":") for line in text.splitlines()]
    known = {key.strip(): value.strip() for key, _, value in reversed(lines)}
    yield "processor", known.get("model name") or platform.processor() or platform.machine()
    yield "cores", str(os.cpu_count() or 0)
    have = set((known.get("flags") or known.get("Features") or "").split())
    if have:
        yield "processor flags", " ".join(flag for flag in _FLAGS if flag in have) or "none of those that matter"
    if "sse2" in have:
        lacking = [words for flag, words in _NAMED.items() if flag not in have]
        yield from [("without", ", ".join(lacking))] if lacking else []


if __name__ == "__main__":
    print(json.dumps(describe(sys.argv[1:])))
