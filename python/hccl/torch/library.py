"""Loads `libhccl_torch.so` and the module that stands between it and the torch that is there."""

import atexit
import ctypes
import os
import threading

from hccl import native, places

LIBRARY = "libhccl_torch.so"
# How long calls that are under way when Python ends may take.
EXIT_MS = 1000

_lock = threading.Lock()
_module = None


def module():
    """The extension module `hccl.native.c10d`, ready to use."""
    global _module
    with _lock:
        if _module is None:
            library = ctypes.CDLL(_path())
            library.hccl_torch_table.restype = ctypes.c_void_p
            loaded = native.load("c10d")
            loaded.init(library.hccl_torch_table())
            # A thread of the library may enter Python when a call ends, which must not be once Python has gone.
            process = os.getpid()
            atexit.register(lambda: os.getpid() == process and loaded.quiesce(EXIT_MS))
            _module = loaded
    return _module


def is_ours(backend):
    """Whether a backend is one that we made; loads nothing."""
    return _module is not None and isinstance(backend, _module.CpuBackend)


def _path():
    path = places.library(LIBRARY)
    if path is None:
        places_tried = f"{places.PACKAGE} and {places.PREFIX}"
        raise ImportError(f"{LIBRARY} is missing under {places_tried}: the installation is not whole")
    return path
