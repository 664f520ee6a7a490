"""Tensor parallelism: each rank has some heads of every attention and some columns of every MLP.

All ranks see the whole batch. Between the parts of a block their results are summed; DTensor makes these calls.

    torchrun --nproc-per-node 2 tensor_parallel.py [--device npu|cpu]
"""

import model
import ranks
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

# Layers that are cut so that each rank computes some outputs, and those that take these as their inputs.
PLAN = {
    "attention.query": ColwiseParallel(),
    "attention.key": ColwiseParallel(),
    "attention.value": ColwiseParallel(),
    "attention.out": RowwiseParallel(),
    "mlp.up": ColwiseParallel(),
    "mlp.down": RowwiseParallel(),
}


def main():
    arguments = ranks.arguments(__doc__.splitlines()[0])
    with ranks.group(arguments.device) as device:
        mesh = init_device_mesh(device.type, (dist.get_world_size(),))
        net = model.Transformer().to(device)
        for block in net.blocks:
            parallelize_module(block, mesh, PLAN)
        # Where one optimizer call would mix weights that are cut with weights that are whole, it goes one by one.
        optimizer = model.optimizer_of(net.parameters(), foreach=False)
        for step, (tokens, targets) in enumerate(model.batches(arguments.steps + 1)):
            loss = model.loss_of(net(tokens.to(device)), targets.to(device))
            ranks.say(step, loss.item())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
