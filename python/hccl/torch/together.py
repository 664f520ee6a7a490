"""Lets our backend for CPU tensors stand in one process group beside the wheel's for npu tensors.

To PyTorch every backend that it does not bring itself has the type CUSTOM, and a process group holds one backend of
each type: the second one of `cpu:hccl_cpu,npu:hccl` is dropped without a word, and its device gets the first one. So
in a group of several devices ours has the type UNDEFINED. That is also the type of such a group's default backend,
which otherwise none would have.
"""

import functools

import torch.distributed as dist

from hccl.torch import library


def install():
    """Idempotent."""
    original = dist.ProcessGroup._register_backend
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def register_backend(self, device, backend_type, backend=None):
        # The name is that of the default backend's type: "custom" where ours is the only one.
        if library.is_ours(backend) and self.name() == "undefined":
            backend_type = dist.ProcessGroup.BackendType.UNDEFINED
        original(self, device, backend_type, backend)

    dist.ProcessGroup._register_backend = register_backend
