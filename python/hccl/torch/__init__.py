"""The backend of `torch.distributed` for CPU tensors.

    torch.distributed.init_process_group("hccl_cpu")

is all that a program needs; `import torch` registers the name. Where `torch_npu` is not installed, `hccl` is
the same backend; with it, `hccl` is the one for npu tensors, and `cpu:hccl_cpu,npu:hccl` asks for both.

Importing this package registers the names too, for programs that run with TORCH_DEVICE_BACKEND_AUTOLOAD=0.
"""

from hccl.torch import registration
from hccl.torch.memory import empty, is_shareable, shareable, share_everything, to_shareable, zeros

__all__ = ["empty", "is_shareable", "share_everything", "shareable", "to_shareable", "zeros"]

registration.register()


def _autoload():
    """Entry point of `torch.backends`; PyTorch calls it near the end of `import torch`."""
    registration.register()
