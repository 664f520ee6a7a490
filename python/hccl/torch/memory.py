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

import torch

from hccl.torch import library

# Below this many bytes calls take the same way whatever memory they get.
MIN_BYTES = 1 << 14


@contextlib.contextmanager
def shareable(min_bytes=MIN_BYTES):
    """New CPU tensors of this thread of at least so many bytes lie in shareable memory."""
    module = library.module()
    before = module.place_in_thread(_bytes(min_bytes))
    try:
        yield
    finally:
        module.place_in_thread(before)


def share_everything(min_bytes=MIN_BYTES):
    """New CPU tensors of the process of at least so many bytes lie in shareable memory; None: none any more."""
    module = library.module()
    module.place_everywhere(module.NEVER if min_bytes is None else _bytes(min_bytes))


def empty(*size, **options):
    """As `torch.empty`, for a CPU tensor in shareable memory."""
    with shareable(1):
        return torch.empty(*size, **options)


def zeros(*size, **options):
    """As `torch.zeros`, for a CPU tensor in shareable memory."""
    with shareable(1):
        return torch.zeros(*size, **options)


def to_shareable(tensor):
    """The tensor itself if it is in shareable memory, else a copy there."""
    if is_shareable(tensor):
        return tensor
    with shareable(1):
        return torch.empty_like(tensor, device="cpu").copy_(tensor)


def is_shareable(tensor):
    """Whether a tensor lies in memory that other ranks reach where it is."""
    return library.module().is_shareable(tensor)


def _bytes(count):
    if not isinstance(count, int) or count < 1:
        raise ValueError(f"min_bytes is {count!r}; allowed are whole numbers from 1 on")
    return count
