"""Pipelining: each rank has some blocks; parts of a batch go from rank to rank, forwards and then backwards.

torchrun --nproc-per-node 2 pipeline.py [--device npu|cpu]
"""

import model
import ranks
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B


def stage_of(net, index, count):
    """What one of `count` ranks has of the model."""
    per_stage = -(-len(net.blocks) // count)
    net.blocks = nn.ModuleList(list(net.blocks)[index * per_stage : (index + 1) * per_stage])
    if index > 0:
        net.embedding = None
    if index < count - 1:
        net.head = None
    return net


def main():
    arguments = ranks.arguments(__doc__.splitlines()[0])
    with ranks.group(arguments.device) as device:
        rank, world = dist.get_rank(), dist.get_world_size()
        net = stage_of(model.Transformer(), rank, world).to(device)
        stage = PipelineStage(net, rank, world, device)
        # Twice as many parts as ranks: the more there are, the less a rank waits for its first and after its last.
        schedule = Schedule1F1B(stage, n_microbatches=2 * world, loss_fn=model.loss_of)
        optimizer = model.optimizer_of(net.parameters())
        for step, (tokens, targets) in enumerate(model.batches(arguments.steps + 1)):
            optimizer.zero_grad()
            # The first rank brings the data, the last one knows the losses of the parts.
            given = [tokens.to(device)] if rank == 0 else []
            losses = []
            schedule.step(*given, target=targets.to(device) if rank == world - 1 else None, losses=losses)
            optimizer.step()
            loss = torch.stack(losses).mean() if losses else torch.zeros((), device=device)
            dist.broadcast(loss, world - 1)
            ranks.say(step, loss.item())


if __name__ == "__main__":
    main()
