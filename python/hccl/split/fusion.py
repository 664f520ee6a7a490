"""All-reduces the gradients of a model in the segments that `hccl.split.api` was told.

    loss.backward()
    fusion.all_reduce_gradients(model.parameters())

works with every backend of `torch.distributed`, on npu tensors and on CPU tensors.
"""

from collections.abc import Iterable

import torch
import torch.distributed as dist

from hccl.manage.api import WORLD_GROUP
from hccl.split import api


def all_reduce_gradients(
    parameters: Iterable[torch.Tensor], group: dist.ProcessGroup | None = None, strategy: str = WORLD_GROUP
) -> None:
    """Averages the gradients over the ranks of a process group.

    Gradients come to be from the last parameter to the first. A rank outside the group does nothing.
    """
    ranks = dist.get_world_size(group)
    if ranks < 0:
        return
    gradients = [one.grad for one in reversed(list(parameters)) if one.grad is not None]
    running = []
    for part in api.segments([grad.numel() * grad.element_size() for grad in gradients], strategy):
        # One all-reduce has values of one type.
        for dtype in dict.fromkeys(gradients[i].dtype for i in part):
            fused = [gradients[i] for i in part if gradients[i].dtype == dtype]
            flat = torch.cat([grad.reshape(-1) for grad in fused])
            # Shares of the mean: a sum of all may be more than the type holds.
            flat.div_(ranks)
            running.append((fused, flat, dist.all_reduce(flat, group=group, async_op=True)))
    for fused, flat, work in running:
        work.wait()
        for grad, part in zip(fused, flat.split([grad.numel() for grad in fused])):
            grad.copy_(part.view_as(grad))
