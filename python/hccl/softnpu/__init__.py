"""Runs PyTorch's operators on the software NPU, under the unmodified `torch_npu` wheel.

Device memory of the software NPU is host memory, so an npu tensor is viewed as a CPU tensor at the same
address and PyTorch's own CPU kernel does the work. Nothing here is called by users: the package is loaded
by `sitecustomize`, or by PyTorch through the entry-point group `torch.backends`, or by importing it by
hand, and whichever comes first wins. All three lead to `hook.install`.

Importing this package must stay cheap and must not import torch: `sitecustomize` does it in every Python
process that has us on its path.
"""

from hccl.softnpu import hook

hook.install()


def _autoload():
    """Entry point of `torch.backends`; PyTorch calls it near the end of `import torch`."""
    hook.install()
