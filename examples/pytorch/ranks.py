"""How an example becomes one of several ranks: which device, which backend, and what all ranks print together."""

import argparse
import os
from contextlib import contextmanager

import torch
import torch.distributed as dist

# With torch_npu, `import torch` adds the device "npu" and the backend "hccl"; "hccl_cpu" is that for CPU tensors.
BACKENDS = {"npu": "hccl", "cpu": "hccl_cpu"}


def arguments(description, steps=40):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--device", choices=BACKENDS, default=default_device(), help="default: %(default)s")
    parser.add_argument("--steps", type=int, default=steps, help="default: %(default)s")
    return parser.parse_args()


def default_device():
    return "npu" if hasattr(torch, "npu") and torch.npu.is_available() else "cpu"


@contextmanager
def group(kind):
    """Joins the other ranks that torchrun started; gives this rank's device."""
    device = torch.device("cpu")
    if kind == "npu":
        device = torch.device("npu", int(os.environ["LOCAL_RANK"]))
        torch.npu.set_device(device)
    dist.init_process_group(BACKENDS[kind])
    try:
        yield device
    finally:
        dist.destroy_process_group()


def mean(value):
    """The mean over all ranks of a tensor with one element, as a number."""
    total = value.detach().clone()
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()


def say(step, loss):
    """The first rank prints every tenth loss."""
    if dist.get_rank() == 0 and step % 10 == 0:
        print(f"step {step:3}  loss {loss:.6f}", flush=True)
