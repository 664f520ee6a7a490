"""Finds and loads the shared libraries that `torch_npu` links against. Knows nothing of torch.

The environment decides first: whatever the dynamic linker finds under the name `libascendcl.so` is used, so
a vendor's installation on LD_LIBRARY_PATH is never displaced. Only when there is none are the libraries of
our own tree loaded by absolute path, which makes PYTHONPATH alone sufficient.
"""

import ctypes
import os

from hccl import places

# In the order of their needs: each depends on none after it.
NAMES = (
    "libascendcl.so",
    "libhccl.so",
    "libacl_op_compiler.so",
    "libge_runner.so",
    "libgraph.so",
    "libacl_tdt_channel.so",
)

# Data symbol that only our libascendcl.so has: the number of tasks queued and not finished in this process,
# plus failures that nobody was told of.
PENDING = "softnpuPendingTasks"

# True once it is certain that the wheel's own task queue is off, i.e. that the variable below was "0"
# before the wheel could read it. Only then does `pending()` see everything that is queued.
queue_is_off = False

_loaded = []


def preload():
    """Call before the wheel is executed. Missing libraries are left to the wheel to complain about."""
    global queue_is_off
    for name in NAMES:
        library = _open(name)
        if library is None:
            library = _open(places.library(name) or name)
        if library is None:
            return
        _loaded.append(library)
        if name == NAMES[0] and not _has_extension(library):
            return
    # The wheel's queue hands work to a thread, which may not have reached our streams when a kernel of ours
    # wants to know whether anything is pending. With it off, one load answers that question.
    queue_is_off = os.environ.setdefault("TASK_QUEUE_ENABLE", "0") == "0"


def are_ours():
    """Whether the libascendcl.so in this process is ours; a vendor's needs no help with operators."""
    library = _open(NAMES[0], os.RTLD_NOLOAD)
    return library is not None and _has_extension(library)


def pending():
    """A live view of that number; its `.value` is read without a call into the library."""
    return ctypes.c_uint64.in_dll(_open(NAMES[0], os.RTLD_NOLOAD), PENDING)


def _open(name, flags=0):
    try:
        return ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL | os.RTLD_LAZY | flags)
    except OSError:
        return None


def _has_extension(library):
    return hasattr(library, PENDING)
