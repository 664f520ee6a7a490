"""What only shows after many times: groups made and dropped, processes that end in the middle of a call.

python endurance.py groups --count 10000      memory, descriptors and threads stay flat
python endurance.py exits --count 200         Python ends cleanly with a call in flight and no destroy
python endurance.py fork                      data loader workers beside 500 all-reduces
"""

import argparse
import os
import socket
import subprocess
import sys

RANKS = 2
GROUPS = """
import os, sys, torch, torch.distributed as dist
import hccl.torch

count = int(sys.argv[1])


def usage():
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * 4
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), resident


dist.init_process_group("hccl_cpu")
own = dist.get_rank()
before = None
for index in range(count):
    group = dist.new_group([0, 1])
    tensor = torch.tensor([own + index])
    dist.all_reduce(tensor, group=group)
    assert tensor.item() == 2 * index + 1
    dist.destroy_process_group(group)
    if index == count // 10:
        before = usage()
last = usage()
print("descriptors, threads, resident KiB:", before, last, flush=True)
dist.destroy_process_group()
after = usage()
# What torch.distributed itself keeps of a group is a few bytes.
kept = (last[2] - before[2]) / (count - count // 10)
sys.exit(after[0] > before[0] or after[1] > before[1] or kept > 1)
"""
EXIT = """
import torch, torch.distributed as dist
import hccl.torch

dist.init_process_group("hccl_cpu")
work = dist.all_reduce(torch.ones(1 << 20), async_op=True)
work.get_future().then(lambda future: future.value()[0] + 1)
dist.isend(torch.ones(100_000), 1) if dist.get_rank() == 0 else dist.irecv(torch.ones(100_000), 0)
"""
LOADER = """
import torch, torch.distributed as dist
import hccl.torch


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 500

    def __getitem__(self, index):
        return torch.full((100,), float(index))


dist.init_process_group("hccl_cpu")
seen = 0
hccl.torch.share_everything()
for batch in torch.utils.data.DataLoader(Numbers(), num_workers=4, multiprocessing_context="fork"):
    sum = batch.clone()
    dist.all_reduce(sum)
    assert torch.equal(sum, 2 * batch)
    seen += 1
assert seen == 500
dist.destroy_process_group()
"""


def run(program, *arguments, limit, npu=False):
    """Runs a program on all ranks; how each ended, and what they said. `npu`: with torch_npu, where it is installed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    environment = dict(
        os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=port, WORLD_SIZE=str(RANKS), OMP_NUM_THREADS="1"
    )
    environment["TORCH_DEVICE_BACKEND_AUTOLOAD"] = str(int(npu))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            env=dict(environment, RANK=str(rank)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(RANKS)
    ]
    said = []
    for process in processes:
        try:
            said.append(process.communicate(timeout=limit)[0])
        except subprocess.TimeoutExpired:
            for other in processes:
                other.kill()
            said.append(process.communicate()[0] + "\nit did not end")
    return [process.returncode for process in processes], said


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("groups", "exits", "fork"))
    parser.add_argument("--count", type=int)
    arguments = parser.parse_args()
    if arguments.what == "groups":
        ends, said = run(GROUPS, str(arguments.count or 10_000), limit=3600)
    elif arguments.what == "fork":
        ends, said = run(LOADER, limit=600)
    else:
        for index in range(arguments.count or 200):
            # torch_npu takes seconds to import; it has much to do at the end, too.
            ends, said = run(EXIT, limit=120, npu=index % 4 == 0)
            # Not a word of complaint, either.
            if any(ends) or any(text for text in said):
                break
    print(*said, sep="\n")
    if any(ends):
        sys.exit(f"ranks ended with {ends}")
    if arguments.what == "exits" and any(said):
        sys.exit("Python had something to say at its end")


if __name__ == "__main__":
    main()
