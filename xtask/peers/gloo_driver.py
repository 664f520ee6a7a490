"""Measures Gloo through torch.distributed, by the protocol of driver.h.

Arguments: number of ranks, seconds that the measured calls of a point may take, then points
`operator:dtype:bytes`. Rank 0 prints a line of JSON for each. Ranks are forked after torch was
imported, which takes seconds of a core and starts no threads, and meet over a file of a folder of
their own.
"""

import json
import os
import sys
import tempfile
import time
import traceback

CALLS_MAX = 1000
BLOCKS = ("allgather", "reducescatter", "alltoall")


def signed(number):
    """The same 32 bits as a signed number."""
    return (number + 2**31) % 2**32 - 2**31


def values(torch, rank, start, length, dtype):
    """What a rank has at elements from `start` on: 1 to 32, as in driver.h."""
    # Whole numbers of 32 bits wrap; the sign that the shift brings in is masked.
    i = torch.arange(start, start + length, dtype=torch.int32)
    i.mul_(signed(0x9E3779B9)).add_(signed(rank * 0x85EBCA6B % 2**32))
    return i.bitwise_right_shift_(16).bitwise_and_(31).add_(1).to(dtype)


class Point:
    """A point with its buffers."""

    def __init__(self, torch, text, rank, ranks):
        self.torch, self.rank, self.ranks = torch, rank, ranks
        self.op, self.dtype_name, size = text.split(":")
        self.bytes = int(size)
        self.dtype = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[self.dtype_name]
        blocks = ranks if self.op in BLOCKS else 1
        self.count = self.bytes // self.dtype.itemsize // blocks
        self.all = self.count * ranks
        self.input = values(torch, rank, 0, self.all if self.op in ("reducescatter", "alltoall") else self.count, self.dtype)
        self.output = torch.empty(self.all if self.op in ("allgather", "alltoall") else self.count, dtype=self.dtype)
        if self.op == "allreduce":
            # Gloo reduces in place only.
            self.output = self.input.clone()

    def call(self, dist):
        """One call, finished when it returns."""
        if self.op == "allreduce":
            dist.all_reduce(self.output)
        elif self.op == "allgather":
            dist.all_gather_into_tensor(self.output, self.input)
        elif self.op == "reducescatter":
            dist.reduce_scatter_tensor(self.output, self.input)
        elif self.op == "alltoall":
            dist.all_to_all_single(self.output, self.input)
        elif self.op == "broadcast":
            dist.broadcast(self.input, 0)
        elif self.op == "barrier":
            dist.barrier()
        elif self.op == "pingpong" and self.rank == 0:
            dist.send(self.input, 1)
            dist.recv(self.output, 1)
        elif self.op == "pingpong" and self.rank == 1:
            dist.recv(self.output, 0)
            dist.send(self.output, 0)

    def right(self):
        """Is every element what it must be?"""
        n, own = self.count, self.rank * self.count

        def given(rank, start):
            return values(self.torch, rank, start, n, self.dtype)

        peers = range(self.ranks)
        if self.op == "barrier" or (self.op == "pingpong" and self.rank > 1):
            return True
        if self.op == "broadcast":
            return self.torch.equal(self.input, given(0, 0))
        if self.op == "allreduce":
            expected = sum(given(peer, 0) for peer in peers)
        elif self.op == "reducescatter":
            expected = sum(given(peer, own) for peer in peers)
        elif self.op == "allgather":
            expected = self.torch.cat([given(peer, 0) for peer in peers])
        elif self.op == "alltoall":
            expected = self.torch.cat([given(peer, own) for peer in peers])
        else:
            expected = given(0, 0)
        return self.torch.equal(self.output, expected)


def measure(torch, dist, point, budget):
    """What a line of JSON says of a point."""

    def maximum(numbers):
        tensor = torch.tensor(numbers, dtype=torch.float64)
        dist.all_reduce(tensor, dist.ReduceOp.MAX)
        return tensor.tolist()

    begun = time.perf_counter()
    point.call(dist)
    each = time.perf_counter() - begun
    wrong, each = maximum([0.0 if point.right() else 1.0, each])
    if wrong:
        return {"error": "a wrong result"}
    if each > 30 * budget:
        return {"error": "too slow: one call takes seconds"}
    warm_up = 50 if point.bytes < 16 << 20 else 3
    if each * warm_up > 2 * budget:
        warm_up = 3
    begun = time.perf_counter()
    for _ in range(warm_up):
        point.call(dist)
    (each,) = maximum([(time.perf_counter() - begun) / warm_up])
    batch = 20 if point.bytes < 64 << 20 else 7
    if each * 200 < budget:
        batch = 100
    if each * batch > 20 * budget:
        batch = 3
    times, spent = [], 0.0
    while spent < budget and len(times) + batch <= CALLS_MAX:
        batch_begun = time.perf_counter()
        for _ in range(batch):
            begun = time.perf_counter()
            point.call(dist)
            times.append(time.perf_counter() - begun)
        (spent,) = maximum([spent + time.perf_counter() - batch_begun])
    times = sorted(maximum(times))
    scale = 0.5e6 if point.op == "pingpong" else 1e6
    return {
        "median_us": times[len(times) // 2] * scale,
        "p99_us": times[(len(times) - 1) * 99 // 100] * scale,
        "iterations": len(times),
        "checked": True,
    }


def be_rank(torch, dist, rank, ranks, budget, points, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    for text in points:
        try:
            point = Point(torch, text, rank, ranks)
            found = measure(torch, dist, point, budget)
        except (RuntimeError, NotImplementedError, ValueError) as error:
            found = {"error": (str(error).strip().splitlines() or ["failed"])[0]}
        if rank == 0:
            op, dtype, size = text.split(":")
            line = {"operator": op, "dtype": dtype, "bytes": int(size), "ranks": ranks, **found}
            print(json.dumps(line), flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    ranks, budget, points = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    # Nothing leaves this machine, and no other backend is loaded along.
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    import torch
    import torch.distributed as dist

    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "store")
        children = []
        for rank in range(1, ranks):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    be_rank(torch, dist, rank, ranks, budget, points, store)
                    code = 0
                except Exception:
                    traceback.print_exc()
                finally:
                    os._exit(code)
            children.append(child)
        be_rank(torch, dist, 0, ranks, budget, points, store)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    sys.exit(1 if any(codes) else 0)


main()
