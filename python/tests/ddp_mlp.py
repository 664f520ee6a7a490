"""Two ranks train an MLP with DistributedDataParallel on npu tensors; losses must equal a CPU run's.

Each rank takes one half of every batch, so the mean of the two losses is the loss of the whole batch, and the
averaged gradients are those of the whole batch. The rank starts from weights of its own, which DDP must replace
by those of rank 0. Ends with 0 if all is well, else with 1.

Run by hand after `set_env.sh`: `python ddp_mlp.py`. The port is MASTER_PORT, or any free one.
"""

# xtask: run

import os
import socket
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch_npu  # noqa: F401
from torch import nn

RANKS = 2
STEPS = 12
BATCH = 32
# Sums are formed in another order than in the single process; the rest is fp32 rounding over the steps.
TOLERANCE = 2e-5


def model(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 5))


def batches():
    generator = torch.Generator().manual_seed(7)
    for _ in range(STEPS):
        inputs = torch.randn(BATCH, 20, generator=generator)
        yield inputs, inputs[:, :5].argmax(1)


def train(net, share, place):
    """Losses of the steps; `share` cuts a batch to what this process works on."""
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()
    losses = []
    for inputs, targets in batches():
        optimizer.zero_grad()
        loss = criterion(net(share(inputs).to(place)), share(targets).to(place))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def run(rank, port):
    torch.npu.set_device(rank)
    dist.init_process_group("hccl", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
    try:
        place = torch.device("npu", rank)
        # Small buckets, so that several of them are on their way while the backward pass goes on.
        net = nn.parallel.DistributedDataParallel(model(seed=rank).to(place), device_ids=[rank], bucket_cap_mb=0.02)
        losses = train(net, lambda whole: whole.chunk(RANKS)[rank], place)
        gathered = [torch.empty_like(losses) for _ in range(RANKS)]
        dist.all_gather(gathered, losses)
        found = torch.stack(gathered).mean(0).cpu()

        weights = torch.cat([p.detach().flatten() for p in net.parameters()])
        others = [torch.empty_like(weights) for _ in range(RANKS)]
        dist.all_gather(others, weights)
        if not all(torch.equal(other, weights) for other in others):
            raise AssertionError("the ranks ended with different weights")

        expected = train(model(seed=0), lambda whole: whole, torch.device("cpu"))
        worst = (found - expected).abs().max().item()
        if not worst <= TOLERANCE:
            raise AssertionError(f"losses differ by {worst}: {found.tolist()} and {expected.tolist()}")
        if not expected[-1] < expected[0]:
            raise AssertionError("the model learns nothing")
        print(f"[Rank {rank}] {STEPS} losses, worst difference {worst:.2e}", flush=True)
    finally:
        dist.destroy_process_group()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def main():
    if torch.npu.device_count() < RANKS:
        print(f"{RANKS} devices are needed, there are {torch.npu.device_count()}")
        return 1
    port = int(os.environ.get("MASTER_PORT") or free_port())
    try:
        mp.spawn(run, args=(port,), nprocs=RANKS)
    except Exception as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
