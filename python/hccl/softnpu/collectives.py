"""Gives `all_gather` into a list, which DistributedDataParallel needs, tensors that the wheel need not pad.

The wheel pads them to a multiple of 512 bytes with the device's own operators `Fill` and `PadV3`. It calls these without
asking PyTorch's dispatcher, so that no kernel of ours can take their place. Tensors that are a multiple already
pass untouched; the others are padded here.
"""

import torch
from torch._C._distributed_c10d import Work

BLOCK_BYTES = 512


def wrap(register):
    """`register(name, kernel)` replaces an operator of `c10d`; the kernel gets the dispatch keys first."""
    register("allgather_", _allgather(torch.library.get_kernel("c10d::allgather_", "PrivateUse1")))


def _allgather(wheel):
    def allgather_(keys, outputs, inputs, *rest):
        if not _needs_padding(inputs, outputs):
            return wheel.call_boxed(keys, outputs, inputs, *rest)
        padded = [[torch.empty_like(_padded(one)) for one in row] for row in outputs]
        _, work = wheel.call_boxed(keys, padded, [_padded(one) for one in inputs], *rest)
        _deliver(work, outputs, padded)
        return outputs, work

    return allgather_


def _needs_padding(inputs, outputs):
    if all(one.nbytes % BLOCK_BYTES == 0 for one in inputs):
        return False
    # Other sizes than those of the input are an error, or a collective that the wheel makes of broadcasts.
    return all(one.numel() == inputs[0].numel() for row in outputs for one in row)


def _padded(tensor):
    block = BLOCK_BYTES // tensor.element_size()
    made = torch.zeros(-(-tensor.numel() // block) * block, dtype=tensor.dtype, device=tensor.device)
    made[: tensor.numel()].copy_(tensor.detach().reshape(-1))
    return made


def _deliver(work, outputs, padded):
    # The wheel copies out of its own buffer at this place as well, and with our copies that means waiting.
    Work.unbox(work).wait()
    for row, full in zip(outputs, padded):
        for one, value in zip(row, full):
            one.detach().copy_(value[: one.numel()].view(one.size()))
