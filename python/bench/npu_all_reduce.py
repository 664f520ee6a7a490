"""Measures all_reduce on npu tensors of 4 bytes beside one of no elements: the difference is what our side takes.

Run it after `set_env.sh`. The call is made and waited for on the stream; of an iteration the slower rank counts.
"""

import os
import socket
import statistics
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

RANKS = 2


def rank_main(rank, port):
    import torch_npu  # noqa: F401

    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.npu.set_device(rank)
    dist.init_process_group("cpu:hccl_cpu,npu:hccl", rank=rank, world_size=RANKS)
    tensors = {0: torch.zeros(0).npu(), 4: torch.zeros(1).npu()}
    found = {size: [] for size in tensors}
    for _ in range(5):
        for size, tensor in tensors.items():
            times = torch.zeros(500)
            for _ in range(50):
                dist.all_reduce(tensor)
            dist.barrier()
            for index in range(len(times)):
                begun = time.perf_counter()
                dist.all_reduce(tensor)
                torch.npu.current_stream().synchronize()
                times[index] = (time.perf_counter() - begun) * 1e6
            dist.all_reduce(times, dist.ReduceOp.MAX)
            found[size].append(times.median().item())
    if rank == 0:
        nothing, four = (statistics.median(found[size]) for size in (0, 4))
        print(f"all_reduce of nothing {nothing:.1f} us, of 4 bytes {four:.1f} us, more {four - nothing:.1f} us, aim 20")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        chosen = free.getsockname()[1]
    mp.spawn(rank_main, (chosen,), RANKS)
