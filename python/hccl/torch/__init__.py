"""The backend of `torch.distributed` for CPU tensors.

    torch.distributed.init_process_group("hccl_cpu")

is all that a program needs; `import torch` registers the name. Where `torch_npu` is not installed, `hccl` is
the same backend; with it, `hccl` is the one for npu tensors, and `cpu:hccl_cpu,npu:hccl` asks for both.

Importing this package registers the names too, for programs that run with TORCH_DEVICE_BACKEND_AUTOLOAD=0.
"""

_ready = False


def _autoload():
    """Entry point of `torch.backends`; PyTorch calls it near the end of `import torch`."""
    # Where it is the import below that imports torch, the names are registered a moment later.
    if _ready:
        registration.register()


import torch as _torch  # noqa: E402,F401  (before anything of ours is half imported)

from hccl.torch import registration  # noqa: E402
from hccl.torch.memory import empty, is_shareable, share_everything, shareable, to_shareable, zeros  # noqa: E402

__all__ = ["empty", "is_shareable", "share_everything", "shareable", "to_shareable", "zeros"]

_ready = True
registration.register()
