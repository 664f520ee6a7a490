"""Data parallelism: each rank has the whole model and a part of every batch; gradients are averaged on the way.

torchrun --nproc-per-node 2 ddp.py [--device npu|cpu]
"""

import model
import ranks
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main():
    arguments = ranks.arguments(__doc__.splitlines()[0])
    with ranks.group(arguments.device) as device:
        rank, world = dist.get_rank(), dist.get_world_size()
        net = DistributedDataParallel(model.Transformer().to(device))
        optimizer = model.optimizer_of(net.parameters())
        for step, (tokens, targets) in enumerate(model.batches(arguments.steps + 1)):
            scores = net(tokens.chunk(world)[rank].to(device))
            loss = model.loss_of(scores, targets.chunk(world)[rank].to(device))
            ranks.say(step, ranks.mean(loss))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
