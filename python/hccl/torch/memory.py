"""CPU tensors in memory that the ranks of a host share, so that collectives read and write them where they are.

    x = hccl.torch.empty(1024, 1024)         one tensor
    with hccl.torch.shareable():             all that this thread makes in the block
        model = Model()
    hccl.torch.share_everything()            all that the process makes from now on: gradients, buckets of DDP ...

A tensor is private memory or shareable memory for its whole life; calls take both, and ranks may differ. After a call
that failed, other ranks may still be at work in the memory for a moment, so what is in such a tensor then is not
defined. A process that was forked shares such memory with its parent, instead of having a copy.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from hccl.torch import library

# Below this many bytes calls take the same way whatever memory they get.
MIN_BYTES = 1 << 14


@contextlib.contextmanager
def shareable(min_bytes: int = MIN_BYTES) -> Iterator[None]:
    """New CPU tensors of this thread of at least so many bytes lie in shareable memory."""
    module = library.module()
    before = module.place_in_thread(_bytes(min_bytes))
    try:
        yield
    finally:
        module.place_in_thread(before)


def share_everything(min_bytes: int | None = MIN_BYTES) -> None:
    """New CPU tensors of the process of at least so many bytes lie in shareable memory; None: none any more."""
    module = library.module()
    module.place_everywhere(module.NEVER if min_bytes is None else _bytes(min_bytes))


def empty(*size: Any, **options: Any) -> torch.Tensor:
    """As `torch.empty`, for a CPU tensor in shareable memory."""
    with shareable(1):
        return torch.empty(*size, **options)


def zeros(*size: Any, **options: Any) -> torch.Tensor:
    """As `torch.zeros`, for a CPU tensor in shareable memory."""
    with shareable(1):
        return torch.zeros(*size, **options)


def to_shareable(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor itself if it is in shareable memory, else a copy there."""
    if tensor.layout != torch.strided:
        raise ValueError(f"the tensor is {tensor.layout}; allowed are strided ones, such as the values of a sparse one")
    if is_shareable(tensor):
        return tensor
    with shareable(1):
        return torch.empty_like(tensor, device="cpu").copy_(tensor)


def is_shareable(tensor: torch.Tensor) -> bool:
    """Whether a tensor lies in memory that other ranks reach where it is."""
    return library.module().is_shareable(tensor)


def _bytes(count: int) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ValueError(f"min_bytes is {count!r}; allowed are whole numbers from 1 on")
    return count
