"""Measures the backend for CPU tensors beside Gloo, through torch, in one run; ratios are what counts.

    python collectives.py                  operators and sizes on 2 ranks
    python collectives.py --ddp            a step of DistributedDataParallel, 25 million parameters, 4 ranks
    python collectives.py --small          20,000 all-reduces of 4 bytes, each backend in processes of its own
    python collectives.py --small --busy   the same beside a program that always wants a core

Backends take turns in rounds. Of an iteration the slowest rank counts, of a round the median, of the rounds the median.
The last column is what the project aims at. Each size is checked once.
"""

import argparse
import os
import signal
import socket
import statistics
import sys
import time
import traceback

import torch
import torch.distributed as dist

ROUNDS = 3
SMALL_CALLS = 20_000
KIB, MIB = 1 << 10, 1 << 20


def cases():
    """(operator, dtype, memory, bytes, ratio to Gloo's time that is aimed at)"""
    for size in (4, KIB, 8 * KIB, 64 * KIB):
        yield "all_reduce", torch.float32, "private", size, 0.15
    for size in (512 * KIB, 4 * MIB, 64 * MIB, 256 * MIB):
        yield "all_reduce", torch.float32, "private", size, 0.45
        yield "all_reduce", torch.float32, "shareable", size, 0.2
    for operator in ("all_gather", "reduce_scatter", "all_to_all", "broadcast"):
        for size in (64 * KIB, 4 * MIB, 64 * MIB):
            yield operator, torch.float32, "private", size, 0.45
    for size in (4 * KIB, 4 * MIB, 64 * MIB):
        yield "all_reduce", torch.bfloat16, "private", size, 0.35


def call_of(operator, dtype, memory, size, rank, ranks, group):
    """A call without arguments, and a check of its result. Sizes are those of the larger side."""
    import hccl.torch

    make = hccl.torch.zeros if memory == "shareable" else torch.zeros
    count = max(1, size // dtype.itemsize)
    whole, part = make(count, dtype=dtype), make(max(1, count // ranks), dtype=dtype)
    if operator == "all_reduce":

        def check():
            whole.fill_(rank + 1)
            dist.all_reduce(whole, group=group)
            assert (whole == ranks * (ranks + 1) / 2).all()
            whole.zero_()

        return lambda: dist.all_reduce(whole, group=group), check
    if operator == "broadcast":

        def check():
            whole.fill_(rank + 1)
            dist.broadcast(whole, 0, group=group)
            assert (whole == 1).all()

        return lambda: dist.broadcast(whole, 0, group=group), check
    if operator == "all_gather":

        def check():
            part.fill_(rank + 1)
            dist.all_gather_into_tensor(whole, part, group=group)
            assert (whole.view(ranks, -1) == torch.arange(1, ranks + 1)[:, None]).all()

        return lambda: dist.all_gather_into_tensor(whole, part, group=group), check
    if operator == "reduce_scatter":

        def check():
            whole.fill_(rank + 1)
            dist.reduce_scatter_tensor(part, whole, group=group)
            assert (part == ranks * (ranks + 1) / 2).all()

        return lambda: dist.reduce_scatter_tensor(part, whole, group=group), check
    other = make(count, dtype=dtype)

    def check():
        whole.fill_(rank + 1)
        dist.all_to_all_single(other, whole, group=group)
        assert (other.view(ranks, -1) == torch.arange(1, ranks + 1)[:, None]).all()

    return lambda: dist.all_to_all_single(other, whole, group=group), check


def iterations(size):
    return 300 if size <= 64 * KIB else 60 if size <= MIB else 20 if size <= 8 * MIB else 7


def round_us(call, size, rank, ranks, timing_group):
    times = torch.zeros(iterations(size))
    for _ in range(3 if size > MIB else 20):
        call()
    dist.barrier(group=timing_group)
    for index in range(len(times)):
        begun = time.perf_counter()
        call()
        times[index] = (time.perf_counter() - begun) * 1e6
    dist.all_reduce(times, dist.ReduceOp.MAX, group=timing_group)
    return times.median().item()


def operators(rank, ranks, groups, wanted):
    if rank == 0:
        print(f"{'operator':<16}{'type':<10}{'memory':<11}", end="")
        print(f"{'bytes':>11}{'Gloo us':>11}{'hccl us':>11}{'ratio':>8}{'aim':>7}")
    missed = 0
    for operator, dtype, memory, size, aim in cases():
        if wanted and operator not in wanted:
            continue
        calls = {name: call_of(operator, dtype, memory, size, rank, ranks, group) for name, group in groups.items()}
        for _, check in calls.values():
            check()
        found = {name: [] for name in groups}
        for _ in range(ROUNDS):
            for name, (call, _) in calls.items():
                found[name].append(round_us(call, size, rank, ranks, groups["hccl_cpu"]))
        gloo, ours = (statistics.median(found[name]) for name in ("gloo", "hccl_cpu"))
        missed += ours / gloo > aim
        if rank == 0:
            kind = str(dtype).split(".")[1]
            print(f"{operator:<16}{kind:<10}{memory:<11}", end="")
            print(f"{size:>11}{gloo:>11.1f}{ours:>11.1f}{ours / gloo:>8.3f}{aim:>7.2f}", flush=True)
    if rank == 0:
        print(f"{missed} rows miss their aim" if missed else "all rows reach their aim")


def ddp(rank, ranks, groups):
    """What a step takes beyond one without communication, for a model of 25 million parameters."""
    import hccl.torch

    found = {}
    for name in ("gloo", "hccl_cpu", "shared"):
        group = groups["gloo" if name == "gloo" else "hccl_cpu"]
        if name == "shared":
            hccl.torch.share_everything()
        torch.manual_seed(0)
        net = torch.nn.Sequential(*(torch.nn.Linear(2500, 2500) for _ in range(4)))
        net = torch.nn.parallel.DistributedDataParallel(net, process_group=group)
        data = torch.randn(8, 2500)

        def step():
            net(data).square().mean().backward()

        times = {True: [], False: []}
        for index in range(12):
            for alone in (True, False):
                dist.barrier(group=groups["hccl_cpu"])
                begun = time.perf_counter()
                if alone:
                    with net.no_sync():
                        step()
                else:
                    step()
                passed = torch.tensor([time.perf_counter() - begun])
                dist.all_reduce(passed, dist.ReduceOp.MAX, group=groups["hccl_cpu"])
                if index >= 2:
                    times[alone].append(passed.item() * 1e3)
        found[name] = {alone: statistics.median(each) for alone, each in times.items()}
    if rank == 0:
        parameters = sum(one.numel() for one in net.parameters())
        print(f"DDP step, {parameters / 1e6:.0f} million parameters, {ranks} ranks; ms")
        print(f"{'':<12}{'alone':>9}{'with':>9}{'communication':>15}")
        for name, each in found.items():
            print(f"{name:<12}{each[True]:>9.1f}{each[False]:>9.1f}{each[False] - each[True]:>15.1f}")
        gloo, ours, shared = (each[False] - each[True] for each in found.values())
        print(f"ratio of communication {ours / gloo:.3f}, aim 0.50; with share_everything() {shared / gloo:.3f}")


def small(rank, ranks, name):
    """Many all-reduces of 4 bytes in a row."""
    tensor = torch.ones(1)
    times = []
    for _ in range(SMALL_CALLS):
        begun = time.perf_counter()
        dist.all_reduce(tensor, dist.ReduceOp.MAX)
        times.append((time.perf_counter() - begun) * 1e6)
    times.sort()
    if rank == 0:
        middle, most = times[len(times) // 2], times[len(times) * 99 // 100]
        print(f"{name:<10} mean {statistics.mean(times):8.1f} us, median {middle:8.1f}, 99 of 100 below {most:8.1f}")


def small_all(ranks, busy):
    own = os.getpid()
    other = os.fork() if busy else 0
    if busy and other == 0:
        while os.getppid() == own:
            pass
        os._exit(0)
    try:
        return any(run(ranks, lambda rank, name=name: small_rank(rank, ranks, name)) for name in ("gloo", "hccl_cpu"))
    finally:
        if busy:
            os.kill(other, signal.SIGKILL)


def small_rank(rank, ranks, name):
    import hccl.torch  # noqa: F401

    dist.init_process_group(name, rank=rank, world_size=ranks)
    small(rank, ranks, name)
    dist.barrier()
    dist.destroy_process_group()


def rank_main(rank, ranks, arguments):
    import hccl.torch  # noqa: F401

    dist.init_process_group("hccl_cpu", rank=rank, world_size=ranks)
    groups = {"gloo": dist.new_group(backend="gloo"), "hccl_cpu": dist.new_group(backend="hccl_cpu")}
    if arguments.ddp:
        ddp(rank, ranks, groups)
    else:
        operators(rank, ranks, groups, arguments.operator)
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ddp", action="store_true")
    parser.add_argument("--ranks", type=int, help="2; 4 for --ddp")
    parser.add_argument("--operator", action="append", help="only this one (may be repeated)")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--busy", action="store_true")
    arguments = parser.parse_args()
    ranks = arguments.ranks or (4 if arguments.ddp else 2)
    torch.set_num_threads(1)
    torch.set_grad_enabled(arguments.ddp)
    if arguments.small:
        sys.exit(small_all(ranks, arguments.busy))
    sys.exit(run(ranks, lambda rank: rank_main(rank, ranks, arguments)))


def run(ranks, work):
    """Runs it in as many forked processes; whether any of them failed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free.getsockname()[1]))
    children = []
    sys.stdout.flush()
    for rank in range(ranks):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                work(rank)
                code = 0
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            os._exit(code)
        children.append(child)
    return any([os.waitpid(child, 0)[1] for child in children])


if __name__ == "__main__":
    main()
