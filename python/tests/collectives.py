"""Two ranks call the collectives of torch.distributed on npu tensors; every result is compared with its definition.

Sizes are such that the wheel has to pad some of them. Ends with 0 if all is well, else with 1.
Run by hand after `set_env.sh`: `python collectives.py`. The port is MASTER_PORT, or any free one.
"""

# xtask: run

import os
import socket
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch_npu  # noqa: F401

RANKS = 2


def values(rank, count, dtype=torch.float32):
    """Distinct for every rank and place."""
    return ((torch.arange(count) * 7 + rank * 100) % 101 - 20).to(dtype)


def same(name, found, expected):
    found = found.cpu()
    if not torch.equal(found, expected):
        raise AssertionError(f"{name}: {found} instead of {expected}")


def reductions(rank, place):

    def every(count, dtype):
        return torch.stack([values(r, count, dtype) for r in range(RANKS)])

    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int32, torch.int64):
        for count in (1, 5, 1000):
            for op, expected in ((dist.ReduceOp.SUM, "sum"), (dist.ReduceOp.MAX, "amax"), (dist.ReduceOp.MIN, "amin")):
                tensor = values(rank, count, dtype).to(place)
                dist.all_reduce(tensor, op)
                wide = every(count, dtype).to(torch.float64 if dtype.is_floating_point else torch.int64)
                same(f"all_reduce {op} of {dtype}", tensor, getattr(wide, expected)(0).to(dtype))
    tensor = values(rank, 9).to(place)
    dist.reduce(tensor, 1)
    if rank == 1:
        same("reduce", tensor, values(0, 9) + values(1, 9))
    tensor = (values(rank, 9) > 0).to(place)
    dist.all_reduce(tensor)
    same("all_reduce of bool", tensor, (values(0, 9) > 0) | (values(1, 9) > 0))
    scattered = torch.empty(3, device=place)
    dist.reduce_scatter_tensor(scattered, values(rank, 6).to(place))
    same("reduce_scatter_tensor", scattered, (values(0, 6) + values(1, 6))[3 * rank : 3 * rank + 3])


def moves(rank, place):
    tensor = values(rank, 11).to(place)
    dist.broadcast(tensor, 1)
    same("broadcast", tensor, values(1, 11))
    for count in (1, 3, 128, 1001):
        gathered = [torch.empty(count, device=place) for _ in range(RANKS)]
        dist.all_gather(gathered, values(rank, count).to(place))
        for r in range(RANKS):
            same(f"all_gather of {count}", gathered[r], values(r, count))
        whole = torch.empty(count * RANKS, device=place)
        dist.all_gather_into_tensor(whole, values(rank, count).to(place))
        same(f"all_gather_into_tensor of {count}", whole, torch.cat([values(r, count) for r in range(RANKS)]))
        gathered = [torch.empty(count, device=place) for _ in range(RANKS)] if rank == 0 else None
        dist.gather(values(rank, count).to(place), gathered, 0)
        for r in range(RANKS if rank == 0 else 0):
            same(f"gather of {count}", gathered[r], values(r, count))
    things = [None] * RANKS
    dist.all_gather_object(things, {"rank": rank, "text": "x" * (rank + 3)})
    if things != [{"rank": r, "text": "x" * (r + 3)} for r in range(RANKS)]:
        raise AssertionError(f"all_gather_object: {things}")


def messages(rank, place):
    other = 1 - rank
    received = torch.empty(17, device=place)
    if rank == 0:
        dist.send(values(rank, 17).to(place), other)
        dist.recv(received, other)
    else:
        dist.recv(received, other)
        dist.send(values(rank, 17).to(place), other)
    same("send and recv", received, values(other, 17))
    received = torch.empty(1000, device=place)
    sent = values(rank, 1000).to(place)
    operations = [dist.P2POp(dist.isend, sent, other), dist.P2POp(dist.irecv, received, other)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    same("batch_isend_irecv", received, values(other, 1000))
    # What rank r sends to rank d: r + 2d + 1 elements.

    def count(source, target):
        return source + 2 * target + 1

    def cut(source, target):
        return values(source, 50)[10 * target : 10 * target + count(source, target)]

    outputs = [torch.empty(count(r, rank), device=place) for r in range(RANKS)]
    dist.all_to_all(outputs, [cut(rank, r).to(place) for r in range(RANKS)])
    for r in range(RANKS):
        same("all_to_all", outputs[r], cut(r, rank))
    output = torch.empty(sum(count(r, rank) for r in range(RANKS)), device=place)
    into = [count(r, rank) for r in range(RANKS)]
    out_of = [count(rank, r) for r in range(RANKS)]
    dist.all_to_all_single(output, torch.cat([cut(rank, r) for r in range(RANKS)]).to(place), into, out_of)
    same("all_to_all_single, uneven", output, torch.cat([cut(r, rank) for r in range(RANKS)]))
    output = torch.empty(6, device=place)
    dist.all_to_all_single(output, values(rank, 6).to(place))
    same("all_to_all_single", output, torch.cat([values(r, 6)[3 * rank : 3 * rank + 3] for r in range(RANKS)]))


def asynchronous(rank, place):
    tensors = [values(rank, 100 + i).to(place) for i in range(50)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for i, (work, tensor) in enumerate(zip(works, tensors)):
        work.wait()
        # The next operator is queued behind the collective.
        same("all_reduce, asynchronous", tensor * 2, (values(0, 100 + i) + values(1, 100 + i)) * 2)
    dist.barrier()


def run(rank, port):
    torch.npu.set_device(rank)
    dist.init_process_group("hccl", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
    place = torch.device("npu", rank)
    for part in (reductions, moves, messages, asynchronous):
        part(rank, place)
    again = dist.new_group([0, 1])
    tensor = values(rank, 4).to(place)
    dist.all_reduce(tensor, group=again)
    same("all_reduce in a second group", tensor, values(0, 4) + values(1, 4))
    dist.destroy_process_group()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    port = int(os.environ.get("MASTER_PORT") or free_port())
    try:
        mp.spawn(run, args=(port,), nprocs=RANKS)
    except Exception as error:
        print(f"failed: {error}", file=sys.stderr)
        return 1
    print("every collective equals its definition")
    return 0


if __name__ == "__main__":
    sys.exit(main())
