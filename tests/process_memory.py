"""How much memory of a device this process has taken: other programs may use the device, too."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable

#: What NVML says where it does not tell.
_UNKNOWN = (1 << 64) - 1
_MOST = 1024


class _Process(ctypes.Structure):
    """`nvmlProcessInfo_t`."""

    _fields_ = (
        ("pid", ctypes.c_uint),
        ("used", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


def used_by_process(device: int = 0) -> int | None:
    """Return the bytes of a device's memory that this process has; None where the driver does not tell.

    In a container the driver may know the process by another number; then it does not tell.
    """
    from polycmp_trt.run.cuda import current

    with current(device):
        number = _pci_of(device)
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        running = nvml.nvmlDeviceGetComputeRunningProcesses_v3
    except (OSError, AttributeError):
        return None
    handle, count, found = ctypes.c_void_p(), ctypes.c_uint(_MOST), (_Process * _MOST)()
    if nvml.nvmlInit_v2() or nvml.nvmlDeviceGetHandleByPciBusId_v2(number, ctypes.byref(handle)):
        return None
    if running(handle, ctypes.byref(count), found):
        return None
    mine = [item.used for item in found[: count.value] if item.pid == os.getpid()]
    return None if not mine or _UNKNOWN in mine else sum(mine)


def _pci_of(device: int) -> bytes:
    text = ctypes.create_string_buffer(32)
    library = ctypes.CDLL("libcuda.so.1")
    ordinal = ctypes.c_int()
    library.cuDeviceGet(ctypes.byref(ordinal), device)
    library.cuDeviceGetPCIBusId(text, 32, ordinal)
    return text.value


def used(device: int = 0) -> int:
    """Return the bytes that this process has, or else those that all programs have."""
    from polycmp_trt.run.cuda import current, driver

    mine = used_by_process(device)
    if mine is not None:
        return mine
    with current(device):
        free, total = driver().mem_get_info()
    return int(total - free)


def least_growth(once: Callable[[], None], rounds: int, device: int = 0) -> int:
    """Return by how many bytes the memory in use grew in the round in which it grew least.

    What leaks, leaks in every round; what other programs take, where only the device can be asked, they do not take in
    each of them.

    Args:
        once: One round.
        rounds: How many there are.
        device: The device.
    """
    grown = []
    for _ in range(rounds):
        before = used(device)
        once()
        grown.append(used(device) - before)
    return min(grown)
