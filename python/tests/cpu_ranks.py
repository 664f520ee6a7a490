"""Scenarios of the backend for CPU tensors. `cpu_ranks.py NAME RANKS` runs one in as many forked processes,
`cpu_ranks.py all` one after the other."""

import datetime
import importlib.util
import os
import signal
import socket
import sys
import threading
import time
import traceback

import hccl.torch
import torch
import torch.distributed as dist

SECONDS_MAX = 180


def value(rank, count, dtype=torch.float32, salt=0):
    """Numbers that differ from each other and between ranks."""
    return ((torch.arange(count) * 13 + rank * 101 + salt * 7) % 97).to(dtype)


def same(came, expected):
    assert came.shape == expected.shape and torch.equal(came, expected), f"came {came}, expected {expected}"


def collectives(rank, ranks):
    everybody = range(ranks)
    for count in (0, 1, 5, 1000, 70_001, 1_500_001):
        tensor = value(rank, count)
        dist.all_reduce(tensor)
        same(tensor, sum(value(other, count) for other in everybody))
        tensor = value(rank, count, torch.int64)
        dist.reduce(tensor, ranks - 1, dist.ReduceOp.MAX)
        if rank == ranks - 1:
            same(tensor, torch.stack([value(other, count, torch.int64) for other in everybody]).amax(0))
        else:
            same(tensor, value(rank, count, torch.int64))
        tensor = value(rank, count, torch.bfloat16)
        dist.broadcast(tensor, 1)
        same(tensor, value(1, count, torch.bfloat16))
        outputs = [torch.zeros(count) for _ in everybody]
        dist.all_gather(outputs, value(rank, count))
        for other in everybody:
            same(outputs[other], value(other, count))
        output = torch.zeros(ranks, count)
        dist.all_gather_into_tensor(output, value(rank, count))
        same(output, torch.stack([value(other, count) for other in everybody]))
        output = torch.zeros(count)
        dist.reduce_scatter_tensor(output, torch.cat([value(rank, count, salt=block) for block in everybody]))
        same(output, sum(value(other, count, salt=rank) for other in everybody))
        output = torch.zeros(count)
        dist.reduce_scatter(output, [value(rank, count, salt=block) for block in everybody])
        same(output, sum(value(other, count, salt=rank) for other in everybody))
        output = torch.zeros(ranks * count)
        dist.all_to_all_single(output, torch.cat([value(rank, count, salt=block) for block in everybody]))
        same(output, torch.cat([value(other, count, salt=rank) for other in everybody]))
        root = ranks // 2
        outputs = [torch.zeros(count) for _ in everybody] if rank == root else None
        dist.gather(value(rank, count), outputs, root)
        for other in everybody if rank == root else ():
            same(outputs[other], value(other, count))
        output = torch.zeros(count)
        dist.scatter(output, [value(root, count, salt=block) for block in everybody] if rank == root else None, root)
        same(output, value(root, count, salt=rank))
    # Lengths that differ by rank, and none.
    lengths = [3 * other for other in everybody]
    outputs = [torch.zeros(length) for length in lengths]
    dist.all_gather(outputs, value(rank, lengths[rank]))
    for other in everybody:
        same(outputs[other], value(other, lengths[other]))
    sends = [(rank + other) % 3 for other in everybody]
    outputs = [torch.zeros((other + rank) % 3) for other in everybody]
    dist.all_to_all(outputs, [value(rank, length, salt=other) for other, length in enumerate(sends)])
    for other in everybody:
        same(outputs[other], value(other, (other + rank) % 3, salt=rank))
    output = torch.zeros(sum((other + rank) % 3 for other in everybody), 2)
    rows = torch.cat([value(rank, 2 * length, salt=other).view(-1, 2) for other, length in enumerate(sends)])
    dist.all_to_all_single(output, rows, [(other + rank) % 3 for other in everybody], sends)
    same(output, torch.cat([value(other, 2 * ((other + rank) % 3), salt=rank).view(-1, 2) for other in everybody]))
    # Tensors whose elements do not lie in order.
    matrix = value(rank, 60).view(6, 10)
    whole = matrix.clone()
    dist.all_reduce(matrix.t()[2:5])
    whole[:, 2:5] = sum(value(other, 60).view(6, 10) for other in everybody)[:, 2:5]
    same(matrix, whole)
    tensor = value(rank, 8)
    dist.all_reduce(tensor, dist._make_nccl_premul_sum(0.5))
    same(tensor, sum(value(other, 8) * 0.5 for other in everybody))
    objects = [None] * ranks
    dist.all_gather_object(objects, {"rank": rank, "text": "x" * (1000 * rank)})
    assert objects == [{"rank": other, "text": "x" * (1000 * other)} for other in everybody]
    listed = [f"from {rank}", rank]
    dist.broadcast_object_list(listed, 1)
    assert listed == ["from 1", 1]
    received = [None]
    dist.scatter_object_list(received, [f"for {other}" for other in everybody] if rank == 0 else [None] * ranks, 0)
    assert received == [f"for {rank}"]


def messages(rank, ranks):
    right, left = (rank + 1) % ranks, (rank - 1) % ranks
    for count in (0, 1, 26, 27, 40_000, 1_000_000):
        received = torch.zeros(count)
        works = dist.batch_isend_irecv(
            [dist.P2POp(dist.isend, value(rank, count), right), dist.P2POp(dist.irecv, received, left)]
        )
        for work in works:
            work.wait()
        same(received, value(left, count))
    # Tags out of order, many at once, long and short.
    counts = [50_000, 3, 200_000, 0, 1000] * 4
    sends = [dist.isend(value(rank, count, salt=tag), right, tag=tag) for tag, count in enumerate(counts)]
    order = list(reversed(range(len(counts))))
    buffers = {tag: torch.zeros(counts[tag]) for tag in order}
    receives = [dist.irecv(buffers[tag], left, tag=tag) for tag in order]
    for work in receives + sends:
        work.wait()
    for tag in order:
        same(buffers[tag], value(left, counts[tag], salt=tag))
    # From whichever rank.
    if rank == 0:
        seen = set()
        for _ in range(ranks - 1):
            buffer = torch.zeros(5)
            source = dist.recv(buffer, tag=7)
            same(buffer, value(source, 5))
            seen.add(source)
        assert seen == set(range(1, ranks)), seen
    else:
        dist.send(value(rank, 5), 0, tag=7)
    # A receive into every second element.
    if rank == 0:
        dist.send(value(0, 6), 1)
    elif rank == 1:
        room = torch.zeros(12)
        dist.recv(room[::2], 0)
        same(room[::2], value(0, 6))
        same(room[1::2], torch.zeros(6))
    dist.barrier()


def handles(rank, ranks):
    works = []
    tensors = [value(rank, 10, salt=i) for i in range(1000)]
    for tensor in tensors:
        works.append(dist.all_reduce(tensor, async_op=True))
    # Handles that nobody keeps count too.
    dropped = [value(rank, 100_000, salt=i) for i in range(20)]
    for tensor in dropped:
        dist.all_reduce(tensor, async_op=True)
    dist.barrier()
    assert all(work.is_completed() for work in works)
    for i, tensor in enumerate(tensors):
        same(tensor, sum(value(other, 10, salt=i) for other in range(ranks)))
    for i, tensor in enumerate(dropped):
        same(tensor, sum(value(other, 100_000, salt=i) for other in range(ranks)))
    tensor = value(rank, 50_000)
    work = dist.all_reduce(tensor, async_op=True)
    chained = work.get_future().then(lambda future: future.value()[0] + 1)
    same(chained.wait(), sum(value(other, 50_000) for other in range(ranks)) + 1)
    assert work.wait() and work.wait() and work.is_success()
    work = dist.all_reduce(torch.zeros(0), async_op=True)
    assert [len(one) for one in work.get_future().wait()] == [0]
    # The same tensor in calls behind each other.
    tensor = torch.ones(200_000)
    works = [dist.all_reduce(tensor, async_op=True) for _ in range(5)]
    works[-1].wait()
    same(tensor, torch.full((200_000,), float(ranks) ** 5))
    # A callback that makes a call of its own.
    tensor = torch.ones(3)
    work = dist.all_reduce(torch.ones(70_000), async_op=True)
    work.get_future().then(lambda future: dist.all_reduce(tensor)).wait()
    same(tensor, torch.full((3,), float(ranks)))
    # Progress without anybody who waits.
    work = dist.all_reduce(torch.ones(500_000), async_op=True)
    end = time.monotonic() + 60
    while not work.is_completed():
        assert time.monotonic() < end, "nobody goes on with it"
        time.sleep(0.01)


def callbacks(rank, ranks):
    """What hangs on a future may wait for other calls, other futures, and other threads."""

    def late(index):
        # The others are at different places.
        if rank == index % ranks:
            time.sleep(0.02)

    def future_of(count):
        return dist.all_reduce(torch.ones(count), async_op=True).get_future()

    for index in range(20):
        late(index)
        inner = future_of(4).then(lambda future: future_of(2).wait()[0])
        same(inner.wait(), torch.full((2,), float(ranks)))
        late(index)
        work = dist.all_reduce(torch.ones(4), async_op=True)
        nested = work.get_future().then(lambda future: future_of(3).then(lambda last: future_of(1).wait()[0]).wait())
        work.wait()
        same(nested.wait(), torch.full((1,), float(ranks)))
    # One that waits for this thread, which goes on with calls meanwhile.
    told = threading.Event()
    waits = future_of(70_000).then(lambda future: told.wait(SECONDS_MAX))
    future_of(5).wait()
    work = dist.all_reduce(torch.ones(6), async_op=True, group=dist.new_group(list(range(ranks))))
    while not work.is_completed():
        time.sleep(0.001)
    told.set()
    assert waits.wait()
    # Whoever waited for a handle finds that what hung on it has run.
    seen = []
    for index in range(50):
        work = dist.all_reduce(torch.ones(50_000), async_op=True)
        work.get_future().then(lambda future, index=index: seen.append((time.sleep(0.001), index)[1]))
        work.wait()
        assert seen[-1] == index
    # A callback that waits for its own handle, and one that raises.
    work = dist.all_reduce(torch.ones(9), async_op=True)
    assert work.get_future().then(lambda future: work.wait()).wait()
    raising = future_of(3).then(lambda future: 1 // 0)
    refused(RuntimeError, "ZeroDivisionError", raising.wait)
    dist.barrier()


def power(rank, ranks):
    """A hook of DDP whose callbacks start calls and wait for them."""
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

    torch.manual_seed(2)
    net = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(60, 80), torch.nn.Linear(80, 60)), bucket_cap_mb=0.02
    )
    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2)
    net.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    for index in range(6):
        if rank == index % ranks:
            time.sleep(0.02)
        net(value(rank, 120).view(2, 60)).square().mean().backward()
    for parameter in net.parameters():
        gathered = torch.zeros(ranks, parameter.numel())
        dist.all_gather_into_tensor(gathered, parameter.grad.reshape(-1))
        same(gathered, gathered[:1].expand(ranks, -1))


def overlap(rank, ranks):
    """Input and output that have bytes in common, at every place, in private memory and where others reach them."""
    overlapping(rank, ranks)
    with hccl.torch.shareable(1):
        overlapping(rank, ranks)


def overlapping(rank, ranks):
    everybody = range(ranks)
    for count in (5, 1000, 40_000):
        whole = torch.cat([value(other, count) for other in everybody])
        for shift in (0, 1, 3, count // 2, rank * count, (ranks - 1) * count):
            output = torch.full((ranks * count,), -1.0)
            mine = output[shift : shift + count]
            mine.copy_(value(rank, count))
            dist.all_gather_into_tensor(output, mine)
            same(output, whole)
            output = torch.full((ranks * count,), -1.0)
            mine = output[shift : shift + count]
            mine.copy_(value(rank, count))
            dist.all_gather(list(output.chunk(ranks)), mine)
            same(output, whole)
            source = value(rank, ranks * count)
            mine = source[shift : shift + count]
            dist.reduce_scatter_tensor(mine, source)
            total = sum(value(other, ranks * count) for other in everybody)
            same(mine, total[rank * count : (rank + 1) * count])
            room = torch.zeros(ranks * count + shift)
            source = room[shift:]
            source.copy_(value(rank, ranks * count))
            dist.all_to_all_single(room[: ranks * count], source)
            parts = [value(other, ranks * count)[rank * count : (rank + 1) * count] for other in everybody]
            same(room[: ranks * count], torch.cat(parts))
            room = torch.full((ranks * count,), -1.0)
            mine = room[shift : shift + count]
            mine.copy_(value(rank, count))
            dist.gather(mine, list(room.chunk(ranks)) if rank == 0 else None, 0)
            if rank == 0:
                same(room, whole)
            source = value(0, ranks * count)
            mine = source[shift : shift + count]
            dist.scatter(mine, list(source.chunk(ranks)) if rank == 0 else None, 0)
            same(mine, value(0, ranks * count)[rank * count : (rank + 1) * count])


def groups(rank, ranks):
    for _ in range(20):
        group = dist.new_group(list(range(ranks)))
        tensor = value(rank, 9)
        dist.all_reduce(tensor, group=group)
        same(tensor, sum(value(other, 9) for other in range(ranks)))
        dist.destroy_process_group(group)
    pairs = [dist.new_group([0, other]) for other in range(1, ranks)]
    for other, pair in enumerate(pairs, start=1):
        if rank in (0, other):
            tensor = torch.ones(2) * (rank + 1)
            dist.all_reduce(tensor, group=pair)
            same(tensor, torch.ones(2) * (other + 2))
    # Two groups, called in another order on each rank.
    first, second = dist.new_group(list(range(ranks))), dist.new_group(list(range(ranks)))
    one, other = value(rank, 100_000), value(rank, 100_000, salt=1)
    order = [(one, first), (other, second)]
    works = [
        dist.all_reduce(tensor, group=group, async_op=True) for tensor, group in (order if rank % 2 else order[::-1])
    ]
    for work in works:
        work.wait()
    same(one, sum(value(r, 100_000) for r in range(ranks)))
    same(other, sum(value(r, 100_000, salt=1) for r in range(ranks)))


def split(rank, ranks):
    # What torch.distributed.split_group calls, which itself wants an accelerator.
    half = [r for r in range(ranks) if r % 2 == rank % 2]
    part = dist.group.WORLD.split_group(half, group_name=f"half {rank % 2}", group_desc="half")
    assert (part.rank(), part.size()) == (half.index(rank), len(half))
    tensor = value(rank, 5)
    part.allreduce([tensor], dist.AllreduceOptions()).wait()
    same(tensor, sum(value(other, 5) for other in half))


def refused(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), f"{text!r} is not in {error}"
    else:
        raise AssertionError(f"{text!r} was not refused")


def arguments(rank, ranks):
    group = dist.group.WORLD._get_backend(torch.device("cpu"))
    tensor = torch.ones(4)
    refused(
        ValueError, "invalid root rank", lambda: group.broadcast([tensor], _options(dist.BroadcastOptions, rootRank=9))
    )
    refused(ValueError, "requires non-empty tensor list", lambda: group.allreduce([], dist.AllreduceOptions()))
    refused(
        ValueError,
        "invalid tensor type",
        lambda: group.allreduce([tensor, torch.ones(4, dtype=torch.int64)], dist.AllreduceOptions()),
    )
    for call, options in ((group.broadcast, dist.BroadcastOptions()), (group.allreduce, dist.AllreduceOptions())):
        refused(ValueError, "requires a single-element", lambda: call([tensor, tensor], options))
    refused(ValueError, "invalid tensor size", lambda: dist.all_gather_into_tensor(torch.ones(5), tensor))
    refused(
        ValueError, "unsupported layout", lambda: group.broadcast([torch.ones(4).to_sparse()], dist.BroadcastOptions())
    )
    refused(
        ValueError,
        "unsupported device type",
        lambda: group.allreduce([torch.ones(4, device="meta")], dist.AllreduceOptions()),
    )
    refused(ValueError, "share memory", lambda: dist.all_reduce(torch.ones(1).expand(4)))
    refused(ValueError, "BAND", lambda: dist.all_reduce(tensor, dist.ReduceOp.BAND))
    refused(ValueError, "PRODUCT", lambda: dist.all_reduce(torch.ones(2, dtype=torch.complex64), dist.ReduceOp.PRODUCT))
    splits = [1] * (ranks - 1) + [5 - ranks]
    for wrong in ([-1] * (ranks - 1) + [3 + ranks], [3] * ranks, [1] * (ranks + 1)):
        refused(ValueError, "output_split_sizes", lambda: dist.all_to_all_single(tensor, torch.ones(4), wrong, splits))
    # Messages of a batch.
    to_itself = dist.P2POp(dist.isend, tensor, rank)
    refused(ValueError, "", lambda: dist.batch_isend_irecv([to_itself]))
    negative = dist.P2POp(dist.isend, tensor, (rank + 1) % ranks, tag=-1)
    refused(ValueError, "the tag is -1", lambda: dist.batch_isend_irecv([negative]))
    # The group is none the worse for it.
    dist.all_reduce(tensor)
    same(tensor, torch.full((4,), float(ranks)))
    output = torch.zeros(ranks)
    dist.all_gather_into_tensor(output, torch.full((1,), float(rank)))
    same(output, torch.arange(ranks, dtype=torch.float32))


def _options(kind, **fields):
    made = kind()
    for name, content in fields.items():
        setattr(made, name, content)
    return made


def sparse(rank, ranks):
    def made(other):
        return torch.sparse_coo_tensor([[0, 2 + other], [1, other]], [1.5 + other, 4.0], (6, 4))

    tensor = made(rank)
    dist.all_reduce(tensor)
    same(tensor.to_dense(), sum(made(other).to_dense() for other in range(ranks)))
    empty = torch.sparse_coo_tensor(torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0), (6, 4))
    wider = torch.sparse_coo_tensor([[0], [rank]], [1.0], (6, 4 + rank))
    refused(ValueError, "[2, 2, 6, ", lambda: dist.all_reduce(wider))
    tensor = made(0) if rank == 0 else empty.clone()
    dist.all_reduce(tensor)
    same(tensor.to_dense(), made(0).to_dense())


def shareable(rank, ranks):
    assert not hccl.torch.is_shareable(torch.ones(100_000))
    tensor = hccl.torch.empty(100_000)
    assert hccl.torch.is_shareable(tensor) and hccl.torch.is_shareable(tensor[5:])
    for shared in (range(ranks), [0], []):
        for count in (3, 100_000, 900_000):
            tensor = value(rank, count)
            if rank in shared:
                tensor = hccl.torch.to_shareable(tensor)
            dist.all_reduce(tensor)
            same(tensor, sum(value(other, count) for other in range(ranks)))
            output = torch.zeros(ranks * count)
            dist.all_gather_into_tensor(output, tensor)
            same(output, tensor.repeat(ranks))
    with hccl.torch.shareable():
        assert hccl.torch.is_shareable(torch.ones(10_000)) and not hccl.torch.is_shareable(torch.ones(10))
    assert not hccl.torch.is_shareable(torch.ones(10_000))
    hccl.torch.share_everything()
    model = torch.nn.Linear(300, 300)
    assert hccl.torch.is_shareable(model.weight)
    model(torch.ones(2, 300)).sum().backward()
    assert hccl.torch.is_shareable(model.weight.grad)
    hccl.torch.share_everything(None)
    assert not hccl.torch.is_shareable(torch.ones(10_000))
    before = _resident()
    for _ in range(50):
        hccl.torch.zeros(1 << 20)
    assert _resident() - before < 32 << 20, "memory of tensors that went stays"


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def fsdp_buffers(rank, ranks):
    """FSDP2's buffers come from the group, in memory that ranks share."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    cpu = torch.device("cpu")
    assert backend.supports_tensor_alloc(cpu)
    made = []

    class Noting:
        supports_tensor_alloc = backend.supports_tensor_alloc

        def allocate_tensor(self, *arguments, **options):
            made.append(backend.allocate_tensor(*arguments, **options))
            return made[-1]

    tensor = backend.allocate_tensor(3, dtype=torch.bfloat16, device=cpu)
    assert hccl.torch.is_shareable(tensor) and tensor.dtype == torch.bfloat16 and tensor.shape == (3,)
    assert backend.allocate_tensor(0, dtype=torch.float32, device=cpu).numel() == 0
    refused(
        ValueError,
        "for CPU tensors",
        lambda: backend.allocate_tensor(3, dtype=torch.float32, device=torch.device("meta")),
    )
    torch.manual_seed(5)
    net = torch.nn.Linear(300, 70)
    whole = net.weight.detach().clone()
    mesh = init_device_mesh("cpu", (ranks,))
    fully_shard(net, mesh=mesh).set_allocate_memory_from_process_group_for_comm(True)
    group = mesh.get_group()
    real = type(group)._get_backend
    type(group)._get_backend = lambda self, device: Noting()
    try:
        rows = value(rank, 600).view(2, 300)
        net(rows).sum().backward()
    finally:
        type(group)._get_backend = real
    # One for the gathered weights, one for the gradients to be reduced.
    assert len(made) >= 2 and all(hccl.torch.is_shareable(one) for one in made), made
    same(net.weight.full_tensor().detach(), whole)
    grads = sum(value(other, 600).view(2, 300).sum(0) for other in range(ranks)) / ranks
    torch.testing.assert_close(net.weight.grad.full_tensor(), grads.expand(70, 300))


def coalescing(rank, ranks):
    tensors = [value(rank, 10 + i, salt=i) for i in range(5)]
    with dist._coalescing_manager():
        for tensor in tensors:
            dist.all_reduce(tensor)
    for i, tensor in enumerate(tensors):
        same(tensor, sum(value(other, 10 + i, salt=i) for other in range(ranks)))
    outputs = [torch.zeros(ranks * (i + 1)) for i in range(3)]
    with dist._coalescing_manager(async_ops=True) as manager:
        for i, output in enumerate(outputs):
            dist.all_gather_into_tensor(output, value(rank, i + 1, salt=i))
    manager.wait()
    for i, output in enumerate(outputs):
        same(output, torch.cat([value(other, i + 1, salt=i) for other in range(ranks)]))
    tensor = value(rank, 7)
    with dist._coalescing_manager(device=torch.device("cpu")):
        dist.all_reduce(tensor)
    same(tensor, sum(value(other, 7) for other in range(ranks)))
    outputs = [torch.zeros(i + 1) for i in range(3)]
    with dist._coalescing_manager():
        for i, output in enumerate(outputs):
            dist.reduce_scatter_tensor(output, value(rank, ranks * (i + 1), salt=i))
    for i, output in enumerate(outputs):
        whole = sum(value(other, ranks * (i + 1), salt=i) for other in range(ranks))
        same(output, whole[rank * (i + 1) : (rank + 1) * (i + 1)])


def ddp(rank, ranks):
    def model():
        torch.manual_seed(3)
        return torch.nn.Sequential(torch.nn.Linear(40, 50), torch.nn.ReLU(), torch.nn.Linear(50, 7))

    data = value(0, 40 * 8 * ranks).view(8 * ranks, 40) / 97
    alone, ours = model(), torch.nn.parallel.DistributedDataParallel(model(), gradient_as_bucket_view=True)
    for net, rows in ((alone, data), (ours, data[rank * 8 : rank * 8 + 8])):
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(5):
            optimizer.zero_grad()
            net(rows).square().mean().backward()
            optimizer.step()
    for one, other in zip(alone.parameters(), ours.module.parameters()):
        torch.testing.assert_close(one, other)


def fusion(rank, ranks):
    from hccl.split import api
    from hccl.split import fusion as fused

    api.set_split_strategy_by_size([30, 0, 70])
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(30, 40), torch.nn.Linear(40, 5).double())
    for parameter in net.parameters():
        parameter.grad = value(rank, parameter.numel(), parameter.dtype).view_as(parameter)
    fused.all_reduce_gradients(net.parameters())
    for parameter in net.parameters():
        whole = sum(value(other, parameter.numel(), parameter.dtype) for other in range(ranks)) / ranks
        same(parameter.grad, whole.view_as(parameter))


def detail(rank, ranks):
    """TORCH_DISTRIBUTED_DEBUG=DETAIL: PyTorch puts a wrapper around the backend, with a group of Gloo beside it."""
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    group = dist.new_group(list(range(ranks)))
    assert "Wrapper" in type(group._get_backend(torch.device("cpu"))).__name__
    tensor = value(rank, 1000)
    dist.all_reduce(tensor, group=group)
    same(tensor, sum(value(other, 1000) for other in range(ranks)))
    output = torch.zeros(ranks, 10)
    dist.all_gather_into_tensor(output, value(rank, 10), group=group)
    same(output, torch.stack([value(other, 10) for other in range(ranks)]))
    work = dist.all_reduce(value(rank, 10), group=group, async_op=True)
    work.wait()
    dist.barrier(group=group)
    refused(RuntimeError, "mismatch", lambda: dist.all_reduce(torch.ones(3 + rank), group=group))


def alone(rank, ranks):
    tensor = value(0, 9)
    dist.all_reduce(tensor)
    same(tensor, value(0, 9))
    output = torch.zeros(9)
    dist.reduce_scatter_tensor(output, tensor, dist.ReduceOp.AVG)
    dist.all_to_all_single(output, tensor)
    same(output, tensor)
    dist.barrier()


def timeout(rank, ranks):
    group = dist.new_group(list(range(ranks)), timeout=datetime.timedelta(seconds=1))
    dist.all_reduce(torch.ones(1), group=group)
    if rank == 0:
        work = dist.all_reduce(torch.ones(1), async_op=True)
        refused(RuntimeError, "timed out", lambda: work.wait(datetime.timedelta(milliseconds=100)))
        begun = time.monotonic()
        refused(dist.DistBackendError, "rank 1", lambda: dist.all_reduce(torch.ones(1), group=group))
        assert 0.9 < time.monotonic() - begun < 30
        refused(dist.DistBackendError, "time", lambda: dist.barrier(group=group))
        work.wait()
    else:
        time.sleep(3)
        dist.all_reduce(torch.ones(1))
        # The call in which rank 0 gave up has all it needs of rank 0.
        refused(dist.DistBackendError, "", lambda: [dist.all_reduce(torch.ones(1), group=group) for _ in range(2)])


def death(rank, ranks):
    dist.all_reduce(torch.ones(1))
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    begun = time.monotonic()
    refused(dist.DistBackendError, "rank 1", lambda: dist.all_reduce(torch.ones(1 << 20)))
    refused(dist.DistBackendError, "", lambda: dist.recv(torch.ones(1), 1))
    assert time.monotonic() - begun < 20


def mismatch(rank, ranks):
    refused(dist.DistBackendError, "AllReduce of 5 float32", lambda: dist.all_reduce(torch.ones(4 + rank)))


def limits(rank, ranks):
    """A call has the time-out that it was made with, whatever is made while it waits."""
    if rank == 0:
        group = dist.group.WORLD._get_backend(torch.device("cpu"))
        limit = datetime.timedelta(seconds=1)
        work = group.allreduce([torch.ones(100_000)], _options(dist.AllreduceOptions, timeout=limit))
        sent = dist.isend(torch.ones(100_000), 1)
        begun = time.monotonic()
        refused(dist.DistBackendError, "ran into the time-out", work.wait)
        assert time.monotonic() - begun < 20
        refused(dist.DistBackendError, "", sent.wait)
    else:
        time.sleep(4)


def too_much(rank, ranks):
    """A message for which there is no memory ends with an error at both ends."""
    if rank == 0:
        # Its elements do not lie in order, so a row of them is needed; the tensor itself is a word.
        work = dist.isend(torch.ones(1).expand(1 << 40), 1)
        refused(ValueError, "shared memory", work.wait)
    else:
        refused(dist.DistBackendError, "rank 0", lambda: dist.recv(torch.ones(1), 0))


def late_message(rank, ranks):
    """A message that its receiver asks for later than one behind it, and one that is not what is asked for."""
    if rank == 0:
        works = [dist.isend(value(0, 300_000, salt=tag), 1, tag=tag) for tag in (1, 2)]
        for work in works:
            work.wait()
        refused(dist.DistBackendError, "", lambda: (dist.isend(torch.ones(3), 1, tag=3), dist.barrier()))
    else:
        for tag in (2, 1):
            buffer = torch.zeros(300_000)
            dist.recv(buffer, 0, tag=tag)
            same(buffer, value(0, 300_000, salt=tag))
        refused(dist.DistBackendError, "rank 0 sends 3 float32", lambda: dist.recv(torch.ones(4), 0, tag=3))


def monitored(rank, ranks):
    """The barrier that names who is missing."""
    barrier = dist.group.WORLD.monitored_barrier
    for _ in range(3):
        barrier(datetime.timedelta(seconds=60))
    if rank == 0:
        refused(RuntimeError, "Rank 1 failed to pass", lambda: barrier(datetime.timedelta(seconds=1), True))
    elif rank == 2:
        refused(RuntimeError, "rank 0", lambda: barrier(datetime.timedelta(seconds=1), True))
    dist.barrier()


def abort(rank, ranks):
    group = dist.new_group(list(range(ranks)))
    if rank == 0:
        work = dist.all_reduce(torch.ones(1), group=group, async_op=True)
        receive = dist.irecv(torch.ones(1), 1, group=group)
        time.sleep(0.2)
        begun = time.monotonic()
        group.abort()
        assert time.monotonic() - begun < 5
        refused(dist.DistBackendError, "aborted", work.wait)
        refused(dist.DistBackendError, "aborted", receive.wait)
    else:
        time.sleep(0.5)
        refused(
            dist.DistBackendError,
            "told to stop",
            lambda: [dist.all_reduce(torch.ones(1), group=group) for _ in range(2)],
        )
    dist.barrier()


def destroyed(rank, ranks):
    """A group that goes while a call waits for others, and one that is used after it was shut down."""
    group = dist.new_group(list(range(ranks)))
    if rank == 0:
        work = dist.all_reduce(torch.ones(1), group=group, async_op=True)
        begun = time.monotonic()
        dist.destroy_process_group(group)
        del group
        refused(dist.DistBackendError, "left while calls were under way", work.wait)
        assert time.monotonic() - begun < 5
    dist.barrier()
    group = dist.new_group(list(range(ranks)))
    backend = group._get_backend(torch.device("cpu"))
    dist.barrier(group=group)
    backend.shutdown()
    refused(dist.DistBackendError, "shut down", lambda: dist.all_reduce(torch.ones(1), group=group))


def exit_in_flight(rank, ranks):
    """The process ends with calls under way and without destroying anything; main() looks at how."""
    dist.all_reduce(torch.ones(1 << 22), async_op=True)
    if rank == 0:
        dist.isend(value(0, 1000), 1)
    else:
        received = torch.zeros(1000)
        dist.recv(received, 0)
        same(received, value(0, 1000))
    work = dist.all_reduce(torch.ones(1 << 22), async_op=True)
    work.get_future().then(lambda future: future.value()[0] + 1)
    raise KeepGroups


def fork(rank, ranks):
    tensor = hccl.torch.zeros(10_000)
    children = []
    for i in range(500):
        dist.all_reduce(tensor)
        if i % 100 == 0:
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    refused(dist.DistBackendError, "parent", lambda: dist.all_reduce(torch.ones(1)))
                    own = dist.TCPStore("127.0.0.1", 0, 1, True, wait_for_workers=False)
                    group = hccl.torch.library.module().CpuBackend.create(
                        own, 0, 1, datetime.timedelta(seconds=9), "own", "own", [0]
                    )
                    group.allreduce([torch.ones(1)], dist.AllreduceOptions()).wait()
                    code = 0
                except BaseException:
                    traceback.print_exc()
                os._exit(code)
            children.append(child)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    dist.barrier()


class KeepGroups(Exception):
    """Ends a scenario without a barrier and without destroying groups."""


# Numbers of ranks that each is run with.
SCENARIOS = {
    collectives: (2, 3, 4),
    messages: (2, 3, 4),
    handles: (2, 3),
    callbacks: (2, 3),
    power: (2,),
    overlap: (2, 4),
    groups: (2, 3),
    split: (2, 3),
    arguments: (2,),
    sparse: (2, 3),
    shareable: (2,),
    fsdp_buffers: (2, 3),
    coalescing: (2, 3),
    ddp: (2,),
    fusion: (2,),
    alone: (1,),
    timeout: (2,),
    death: (3,),
    mismatch: (2,),
    limits: (2,),
    too_much: (2,),
    detail: (2,),
    late_message: (2,),
    monitored: (3,),
    abort: (2,),
    destroyed: (2,),
    exit_in_flight: (2,),
    fork: (2,),
}


def main():
    torch.set_num_threads(1)
    if sys.argv[1:] == ["all"]:
        runs = [(scenario.__name__, ranks) for scenario, numbers in SCENARIOS.items() for ranks in numbers]
    else:
        runs = [(sys.argv[1], int(sys.argv[2]))]
    failed = []
    for name, ranks in runs:
        begun = time.monotonic()
        bad = run(name, ranks)
        print(f"{name} {ranks}: {time.monotonic() - begun:.1f} s", f"ranks ended with {bad}" if bad else "", flush=True)
        failed += [f"{name} {ranks}"] if bad else []
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def run(name, ranks):
    """Runs a scenario in forked processes; how those ended that did not end as they should."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free.getsockname()[1]))
    children = []
    for rank in range(ranks):
        child = os.fork()
        if child == 0:
            rank_main(name, rank, ranks)
            # As a program ends, with all that is to be done then.
            sys.exit(0)
        children.append(child)
    ends = {rank: os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for rank, child in enumerate(children)}
    expected = {1: -signal.SIGKILL} if name == "death" else {}
    return {rank: end for rank, end in ends.items() if end != expected.get(rank, 0)}


def rank_main(name, rank, ranks):
    import faulthandler

    faulthandler.dump_traceback_later(SECONDS_MAX, exit=True)
    # Where there is no torch_npu, the name that it uses is ours.
    backend = "hccl" if importlib.util.find_spec("torch_npu") is None else "hccl_cpu"
    dist.init_process_group(backend, rank=rank, world_size=ranks, timeout=datetime.timedelta(seconds=60))
    try:
        globals()[name](rank, ranks)
    except KeepGroups:
        return
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    if name not in ("death", "mismatch", "limits", "too_much", "late_message"):
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
