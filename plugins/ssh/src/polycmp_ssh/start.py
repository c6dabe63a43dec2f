"""What runs first on the other machine, in any Python 3: says what is there, unpacks what is sent, and starts `remote`.

It is sent as text and imports nothing but the standard library.
"""

import importlib.util
import io
import json
import os
import platform
import shutil
import signal
import sys
import tempfile
import zipfile
from typing import BinaryIO

#: Ends what the shell's start files printed.
READY = b"polycmp is ready\n"


def start(reading: BinaryIO, names: "list[str]") -> None:
    """Answer over the standard streams until the other side is gone, and leave nothing behind.

    Args:
        reading: Standard input as a binary stream, from which this text was read.
        names: The modules to look for.
    """
    writing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no message
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    hello = {"python": platform.python_version(), "machine": platform.machine(), "missing": missing}
    writing.write(READY + json.dumps(hello).encode() + b"\n")
    writing.flush()
    size = reading.readline()
    if not size:
        return
    folder = tempfile.mkdtemp(prefix="polycmp-")
    try:
        for number in (signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, lambda *_: sys.exit(1))
        zipfile.ZipFile(io.BytesIO(reading.read(int(size)))).extractall(folder)
        sys.path.insert(0, folder + "/ours")
        sys.path.append(folder + "/theirs")
        from polycmp_ssh.remote import serve

        serve(reading, writing, folder + "/models")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
