"""Fully sharded data parallelism: each rank keeps a share of the weights, of their gradients and of Adam's state.

A block's weights are gathered just before it runs, and given up behind it; its gradients are reduced and scattered.

    torchrun --nproc-per-node 2 fsdp2.py [--device npu|cpu]
"""

import model
import ranks
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def main():
    arguments = ranks.arguments(__doc__.splitlines()[0])
    with ranks.group(arguments.device) as device:
        rank, world = dist.get_rank(), dist.get_world_size()
        mesh = init_device_mesh(device.type, (world,))
        net = model.Transformer().to(device)
        for block in net.blocks:
            fully_shard(block, mesh=mesh)
        fully_shard(net, mesh=mesh)
        if rank == 0:
            kept = sum(weight.to_local().numel() for weight in net.parameters())
            print(f"rank 0 keeps {kept} of {sum(weight.numel() for weight in net.parameters())} weights", flush=True)
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
