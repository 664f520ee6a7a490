"""All-reduce over all NPUs with PyTorch's own interface: one process a device, backend "hccl".

Every rank contributes the numbers 0, 1, ... N-1, where N is the number of devices, so every rank must end with
0, N, 2N, ... (N-1)N. Ends with 0 if all of them do, and with 1 otherwise. Nothing but torch and torch_npu is
imported: which implementation of HCCL is below is a matter of the environment.
"""

import argparse
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch_npu  # noqa: F401  (adds the device "npu" and the backend "hccl")


def run(rank, devices, port):
    """What one process does. Raises if its result is wrong."""
    torch.npu.set_device(rank)
    dist.init_process_group("hccl", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=devices)
    try:
        tensor = torch.arange(devices, dtype=torch.float32, device=f"npu:{rank}")
        say(f"[Rank {rank}] Input: {tensor}")
        dist.all_reduce(tensor, op=dist.ReduceOp.SUM)
        say(f"[Rank {rank}] Output: {tensor}")
        found = tensor.tolist()
        for index, value in enumerate(found):
            if value != devices * index:
                raise ValueError(f"element {index} is {value}, expected {devices * index}")
    finally:
        dist.destroy_process_group()


def worker(rank, devices, port):
    try:
        run(rank, devices, port)
    except Exception as error:
        say(f"[Rank {rank}] Error occurred: {error}")
        sys.exit(1)


def say(text):
    # One write for a whole message, so that the processes do not cut each other's lines.
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main():
    available = torch.npu.device_count()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", type=int, default=available, help="how many NPUs take part (default: all)")
    parser.add_argument(
        "--port",
        type=int,
        default=int(os.environ.get("MASTER_PORT", 50001)),
        help="port on this host where the processes meet (default: MASTER_PORT, else 50001)",
    )
    arguments = parser.parse_args()

    say("Executing AllReduce collective operation via HCCL backend")
    say(f"Listening on 127.0.0.1:{arguments.port}")
    say(f"Available NPU count: {available}")
    if not 1 <= arguments.devices <= available:
        say(f"--devices {arguments.devices}: there are {available}")
        return 1
    try:
        mp.spawn(worker, args=(arguments.devices, arguments.port), nprocs=arguments.devices)
    except Exception as error:
        say(f"A process failed: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
