"""Names under which `torch.distributed` finds the backend."""

import importlib.util

import torch.distributed as dist

from hccl.torch import pipelining, together

# The name that is ours alone, and the one that we share with torch_npu.
NAME = "hccl_cpu"
SHARED_NAME = "hccl"


def register():
    """Idempotent. A name that somebody else took stays theirs."""
    if not dist.is_available():
        return
    pipelining.install()
    together.install()
    _register(NAME)
    if importlib.util.find_spec("torch_npu") is None:
        _register(SHARED_NAME)


def _register(name):
    if name.upper() in dist.Backend._plugins:
        return

    def create(options, wishes):
        from hccl.torch import group

        return group.create(name, options, wishes)

    _without_taking_cpu(lambda: dist.Backend.register_backend(name, create, extended_api=True, devices=["cpu"]))


def _without_taking_cpu(register):
    """Registering a backend may make it the default of its devices; that of CPU tensors stays what it was."""
    defaults = dist.Backend.default_device_backend_map
    before = defaults.get("cpu")
    register()
    if before is not None:
        defaults["cpu"] = before
