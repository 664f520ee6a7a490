"""Scenarios of the wheel's backend for npu tensors. `npu_ranks.py RANKS NAME...` runs each in as many forked processes.

Results are held against their definitions, in small numbers that every order of summing gives exactly.
"""

import datetime
import faulthandler
import os
import signal
import socket
import sys
import time
import traceback

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

SECONDS_MAX = 180
# Scenarios in which a rank's group is broken at the end.
BREAKING = ("timeout", "receive_timeout", "watchdog", "abort", "destroy_in_flight")
# Seconds after which HCCL gives up, where a scenario waits for that.
EXEC_TIMEOUTS = {"timeout": "3", "receive_timeout": "3"}


def value(rank, count, dtype=torch.float32, salt=0):
    """Numbers that differ from each other and between ranks, on the host."""
    return ((torch.arange(count) * 13 + rank * 101 + salt * 7) % 97).to(dtype)


def same(came, expected):
    came = came.cpu()
    assert came.shape == expected.shape and torch.equal(came, expected), f"came {came}, expected {expected}"


def collectives(rank, ranks):
    everybody = range(ranks)
    for count in (1, 5, 1000, 300_001):
        inputs = [value(rank, count, salt=block).npu() for block in everybody]
        whole = torch.cat(inputs)
        summed = sum(value(other, count, salt=rank) for other in everybody)
        output = torch.zeros(count).npu()
        dist.reduce_scatter(output, inputs)
        same(output, summed)
        dist.reduce_scatter_tensor(output, whole, dist.ReduceOp.MAX)
        same(output, torch.stack([value(other, count, salt=rank) for other in everybody]).amax(0))
        tensor = value(rank, count).npu()
        dist.all_reduce(tensor, dist._make_nccl_premul_sum(0.5))
        same(tensor, sum(value(other, count) * 0.5 for other in everybody))
        tensor = (value(rank, count, torch.int32) % 3 + 1).npu()
        dist.all_reduce(tensor, dist.ReduceOp.PRODUCT)
        same(tensor, torch.stack([value(other, count, torch.int32) % 3 + 1 for other in everybody]).prod(0).int())
        output = torch.zeros(count).npu()
        dist.scatter(output, inputs if rank == 1 else None, 1)
        same(output, value(1, count, salt=rank))
        outputs = [torch.zeros(count).npu() for _ in everybody]
        dist.all_to_all(outputs, inputs)
        for other in everybody:
            same(outputs[other], value(other, count, salt=rank))
        output = torch.zeros(ranks * count).npu()
        dist.all_to_all_single(output, whole)
        same(output, torch.cat([value(other, count, salt=rank) for other in everybody]))
    # Lengths that differ by rank.
    lengths = [3 * other + 1 for other in everybody]
    outputs = [torch.zeros(length).npu() for length in lengths]
    dist.all_gather(outputs, value(rank, lengths[rank]).npu())
    for other in everybody:
        same(outputs[other], value(other, lengths[other]))
    output = torch.zeros(lengths[rank]).npu()
    dist.reduce_scatter(output, [value(rank, length, salt=7).npu() for length in lengths])
    same(output, sum(value(other, lengths[rank], salt=7) for other in everybody))
    # The wheel pads what it gathers in ways that depend on the type.
    for dtype in (torch.complex128, torch.complex64, torch.float64, torch.bfloat16, torch.int8, torch.bool):
        outputs = [torch.zeros(5, dtype=dtype).npu() for _ in everybody]
        dist.all_gather(outputs, value(rank, 5, dtype).npu())
        for other in everybody:
            same(outputs[other], value(other, 5, dtype))
    # A matrix by rows, and into a stack.
    output = torch.zeros(ranks, 6).npu()
    dist.all_gather_into_tensor(output, value(rank, 6).npu())
    same(output, torch.stack([value(other, 6) for other in everybody]))
    # Nothing at all.
    tensor = torch.zeros(0).npu()
    dist.all_reduce(tensor)
    dist.broadcast(tensor, 0)


def objects(rank, ranks):
    things = [{"rank": other, "text": "x" * (1000 * other), "tensor": value(other, 3)} for other in range(ranks)]
    plain = lambda thing: (thing["rank"], thing["text"], thing["tensor"].tolist())  # noqa: E731
    expected = [plain(thing) for thing in things]
    found = [None] * ranks
    dist.all_gather_object(found, things[rank])
    assert [plain(thing) for thing in found] == expected
    found = [None] * ranks if rank == 1 else None
    dist.gather_object(things[rank], found, 1)
    assert rank != 1 or [plain(thing) for thing in found] == expected
    listed = [f"from {rank}", rank, value(rank, 2).npu().tolist()]
    dist.broadcast_object_list(listed, 1)
    assert listed[:2] == ["from 1", 1]
    received = [None]
    dist.scatter_object_list(received, [f"for {other}" for other in range(ranks)] if rank == 0 else [None] * ranks, 0)
    assert received == [f"for {rank}"]
    if rank == 0:
        dist.send_object_list(["a", {"b": 2}], 1)
    elif rank == 1:
        received = [None, None]
        dist.recv_object_list(received, 0)
        assert received == ["a", {"b": 2}]


def coalescing(rank, ranks):
    everybody = range(ranks)
    tensors = [value(rank, 10 + i, salt=i).npu() for i in range(5)]
    with dist._coalescing_manager(device=torch.device("npu", rank)):
        for tensor in tensors:
            dist.all_reduce(tensor)
    for i, tensor in enumerate(tensors):
        same(tensor, sum(value(other, 10 + i, salt=i) for other in everybody))
    outputs = [torch.zeros(ranks * (i + 1)).npu() for i in range(3)]
    with dist._coalescing_manager(device=torch.device("npu", rank), async_ops=True) as manager:
        for i, output in enumerate(outputs):
            dist.all_gather_into_tensor(output, value(rank, i + 1, salt=i).npu())
    manager.wait()
    for i, output in enumerate(outputs):
        same(output, torch.cat([value(other, i + 1, salt=i) for other in everybody]))
    outputs = [torch.zeros(i + 1).npu() for i in range(3)]
    with dist._coalescing_manager(device=torch.device("npu", rank)):
        for i, output in enumerate(outputs):
            dist.reduce_scatter_tensor(output, value(rank, ranks * (i + 1), salt=i).npu())
    for i, output in enumerate(outputs):
        whole = sum(value(other, ranks * (i + 1), salt=i) for other in everybody)
        same(output, whole[rank * (i + 1) : (rank + 1) * (i + 1)])


def messages(rank, ranks):
    right, left = (rank + 1) % ranks, (rank - 1) % ranks
    for count in (1, 26, 27, 40_000, 1_000_000):
        received, sent = torch.zeros(count).npu(), value(rank, count).npu()
        operations = [dist.P2POp(dist.isend, sent, right), dist.P2POp(dist.irecv, received, left)]
        for work in dist.batch_isend_irecv(operations):
            work.wait()
        same(received, value(left, count))
    # Several messages each way, in one batch.
    counts = [50_000, 3, 200_000, 1000]
    sends = [value(rank, count, salt=i).npu() for i, count in enumerate(counts)]
    buffers = [torch.zeros(count).npu() for count in counts]
    operations = [dist.P2POp(dist.isend, tensor, right) for tensor in sends]
    operations += [dist.P2POp(dist.irecv, buffer, left) for buffer in buffers]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    for i, count in enumerate(counts):
        same(buffers[i], value(left, count, salt=i))
    # One after the other, asynchronous, between two ranks.
    if rank < 2:
        pairs = []
        for i in range(20):
            tensor = value(0, 100 + i, salt=i).npu() if rank == 0 else torch.zeros(100 + i).npu()
            pairs.append((tensor, dist.isend(tensor, 1) if rank == 0 else dist.irecv(tensor, 0)))
        for i, (tensor, work) in enumerate(pairs):
            work.wait()
            same(tensor, value(0, 100 + i, salt=i))
    dist.barrier()


def groups(rank, ranks):
    """Several groups, each on a stream of the program's own, at once."""
    everybody = list(range(ranks))
    made = [dist.new_group(everybody) for _ in range(4)]
    pairs = [dist.new_group([first, (first + 1) % ranks]) for first in everybody] if ranks > 2 else []
    streams = [torch.npu.Stream() for _ in made]
    results = []
    for turn in range(20):
        for number, (group, stream) in enumerate(zip(made, streams)):
            stream.wait_stream(torch.npu.current_stream())
            with torch.npu.stream(stream):
                tensor = value(rank, 1000 + 70_000 * (turn % 2), salt=number + turn).npu(non_blocking=True)
                dist.all_reduce(tensor, group=group, async_op=turn % 3 == 0)
                results.append((tensor, number + turn, turn % 3 != 0))
    torch.npu.synchronize()
    for tensor, salt, _ in results:
        same(tensor, sum(value(other, tensor.numel(), salt=salt) for other in everybody))
    for first, group in zip(everybody, pairs):
        members = {first, (first + 1) % ranks}
        if rank in members:
            tensor = value(rank, 50).npu()
            dist.all_reduce(tensor, group=group)
            same(tensor, sum(value(other, 50) for other in members))
    # A group that is gone leaves the others as they were.
    dist.destroy_process_group(made[0])
    tensor = value(rank, 50).npu()
    dist.all_reduce(tensor, group=made[1])
    same(tensor, sum(value(other, 50) for other in everybody))
    if ranks > 2:
        part, _ = dist.new_subgroups(2) if ranks % 2 == 0 else (None, None)
        if part is not None:
            tensor = value(rank, 50).npu()
            dist.all_reduce(tensor, group=part)
            base = rank // 2 * 2
            same(tensor, value(base, 50) + value(base + 1, 50))


def handles(rank, ranks):
    tensors = [value(rank, 10, salt=i).npu() for i in range(1000)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    dropped = [value(rank, 100_000, salt=i).npu() for i in range(20)]
    for tensor in dropped:
        dist.all_reduce(tensor, async_op=True)
    dist.barrier()
    torch.npu.synchronize()
    assert all(work.is_completed() for work in works)
    for i, tensor in enumerate(tensors):
        same(tensor, sum(value(other, 10, salt=i) for other in range(ranks)))
    for i, tensor in enumerate(dropped):
        same(tensor, sum(value(other, 100_000, salt=i) for other in range(ranks)))
    tensor = value(rank, 50_000).npu()
    work = dist.all_reduce(tensor, async_op=True)
    chained = work.get_future().then(lambda future: future.value()[0] + 1)
    same(chained.wait(), sum(value(other, 50_000) for other in range(ranks)) + 1)
    assert work.wait() and work.wait()


def events(rank, ranks):
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    tensor = value(rank, 1_000_000).npu()
    begin.record()
    if rank == 1:
        time.sleep(0.2)
    dist.all_reduce(tensor)
    end.record()
    if rank == 0:
        # The others are not there yet, so what was recorded behind the call has not happened.
        assert not end.query()
    end.synchronize()
    assert end.query() and (rank == 1 or begin.elapsed_time(end) > 100)
    same(tensor, sum(value(other, 1_000_000) for other in range(ranks)))
    # Another stream goes on once the call is through.
    side = torch.npu.Stream()
    tensor = value(rank, 100_000).npu()
    dist.all_reduce(tensor)
    done = torch.npu.current_stream().record_event()
    with torch.npu.stream(side):
        side.wait_event(done)
        doubled = tensor * 2
    side.synchronize()
    same(doubled, sum(value(other, 100_000) for other in range(ranks)) * 2)


def memory(rank, ranks):
    torch.npu.empty_cache()
    torch.npu.reset_peak_memory_stats()
    before = torch.npu.memory_allocated()
    # The wheel's allocator gives a tensor a little more than it asks for.
    near = lambda bytes: 0 <= torch.npu.memory_allocated() - before - bytes < 4096  # noqa: E731
    tensor = torch.ones(1 << 20).npu()
    assert near(4 << 20)
    gathered = torch.empty(ranks << 20).npu()
    dist.all_gather_into_tensor(gathered, tensor)
    held = torch.npu.memory_allocated()
    assert near((ranks + 1) * (4 << 20))
    assert gathered.sum().item() == ranks << 20
    del gathered
    assert near(4 << 20)
    assert torch.npu.max_memory_allocated() >= held
    stats = torch.npu.memory_stats()
    assert stats["allocated_bytes.all.current"] == torch.npu.memory_allocated()
    assert stats["allocated_bytes.all.peak"] == torch.npu.max_memory_allocated()
    reserved = torch.npu.memory_reserved()
    torch.npu.empty_cache()
    assert torch.npu.memory_reserved() < reserved
    free, total = torch.npu.mem_get_info()
    assert 0 < free <= total
    assert "allocated" in torch.npu.memory_summary().lower()
    # A tensor that is dropped while a call works on it is not given to anybody else before the call is through.
    for turn in range(20):
        dropped = torch.full((100_000,), float(turn)).npu()
        dist.all_reduce(dropped, async_op=True)
        del dropped
        other = torch.full((100_000,), -1.0).npu()
        assert (other == -1).all().item()
    dist.barrier()


def functional_collectives(rank, ranks):
    everybody, group = list(range(ranks)), dist.group.WORLD
    total = sum(value(other, 12) for other in everybody)
    tensor = value(rank, 12).npu()
    same(functional.all_reduce(tensor, "sum", group), total)
    same(tensor, value(rank, 12))
    gathered = functional.all_gather_tensor(tensor, 0, group)
    same(gathered, torch.cat([value(other, 12) for other in everybody]))
    whole = value(rank, 5 * ranks).npu()
    share = sum(value(other, 5 * ranks) for other in everybody)[5 * rank :][:5]
    same(functional.reduce_scatter_tensor(whole, "sum", 0, group), share)
    same(functional.broadcast(tensor, 1, group), value(1, 12))
    exchanged = functional.all_to_all_single(whole, None, None, group)
    same(exchanged, torch.cat([value(other, 5 * ranks)[5 * rank :][:5] for other in everybody]))
    several = functional.all_reduce_coalesced([tensor, whole], "sum", group)
    same(several[0], total)
    same(several[1], sum(value(other, 5 * ranks) for other in everybody))
    several = functional.all_gather_into_tensor_coalesced([tensor, whole], group)
    same(several[0], torch.cat([value(other, 12) for other in everybody]))
    several = functional.reduce_scatter_tensor_coalesced([whole, whole], "sum", [0, 0], group)
    same(several[1], sum(value(other, 5 * ranks) for other in everybody)[5 * rank :][:5])
    # Through autograd, as DTensor does it. (Of a bare sum the gradient is one number shown many times, which PyTorch
    # does not hand to a collective.)
    tensor = value(rank, 12).npu().requires_grad_()
    (functional.all_gather_tensor_autograd(tensor, 0, group) * 2).sum().backward()
    same(tensor.grad, torch.full((12,), 2.0 * ranks))


def both(rank, ranks):
    """Tensors of both kinds in one group, and in groups of a part of the ranks."""
    for group in (dist.group.WORLD, dist.new_group([0, 1])):
        members = range(dist.get_world_size(group)) if dist.get_rank(group) >= 0 else ()
        for turn in range(3) if members else ():
            on_cpu, on_npu = value(rank, 1000, salt=turn), value(rank, 1000, salt=turn + 5).npu()
            works = [dist.all_reduce(tensor, group=group, async_op=True) for tensor in (on_cpu, on_npu)]
            for work in works:
                work.wait()
            same(on_cpu, sum(value(other, 1000, salt=turn) for other in members))
            same(on_npu, sum(value(other, 1000, salt=turn + 5) for other in members))
    found = [None] * ranks
    dist.all_gather_object(found, rank)
    assert found == list(range(ranks))
    dist.barrier()


def timeout(rank, ranks):
    """A rank that stays away is noticed, and the error has the text by which HCCL's time-outs are known."""
    tensor = torch.ones(4).npu()
    dist.all_reduce(tensor)
    torch.npu.synchronize()
    if rank == 0:
        begun = time.monotonic()
        try:
            dist.all_reduce(tensor)
            torch.npu.synchronize()
        except RuntimeError as error:
            text = str(error)
            assert "EI0002" in text or "Communication_Error_Timeout" in text, text
            assert 2 < time.monotonic() - begun < 60
        else:
            raise AssertionError("an all-reduce of one rank came to an end")
        # What comes next on the device does not pretend that all is well.
        try:
            (tensor + 1).cpu()
        except RuntimeError:
            pass
        else:
            raise AssertionError("a device goes on behind a failed call")
    else:
        time.sleep(8)


def receive_timeout(rank, ranks):
    """The same of a message that nobody sends, behind one that came."""
    tensor = torch.ones(4).npu()
    if rank == 1:
        dist.send(tensor, 0)
        time.sleep(8)
        return
    dist.recv(tensor, 1)
    torch.npu.synchronize()
    try:
        dist.recv(tensor, 1)
        torch.npu.synchronize()
    except RuntimeError as error:
        assert "EI0002" in str(error) or "Communication_Error_Timeout" in str(error), error
    else:
        raise AssertionError("a message came that nobody sent")


def watchdog(rank, ranks):
    """The wheel's own time-out, that of a group, ends the process; main() looks at how."""
    group = dist.new_group(list(range(ranks)), timeout=datetime.timedelta(seconds=3))
    tensor = torch.ones(4).npu()
    dist.all_reduce(tensor, group=group)
    torch.npu.synchronize()
    if rank == 0:
        dist.all_reduce(tensor, group=group)
        torch.npu.synchronize()
    time.sleep(10)


def abort(rank, ranks):
    """A group that is aborted with work in flight ends at once, and other groups do not notice."""
    group = dist.new_group(list(range(ranks)))
    tensor = torch.ones(4).npu()
    dist.all_reduce(tensor, group=group)
    torch.npu.synchronize()
    if rank == 0:
        dist.all_reduce(tensor, group=group, async_op=True)
        time.sleep(0.3)
        begun = time.monotonic()
        group._get_backend(torch.device("npu")).abort()
        assert time.monotonic() - begun < 20
    else:
        time.sleep(1)


def destroy_in_flight(rank, ranks):
    """Destroying with work in flight lets the work end first."""
    tensors = [value(rank, 1_000_000, salt=i).npu() for i in range(5)]
    torch.npu.synchronize()
    for tensor in tensors:
        dist.all_reduce(tensor, async_op=True)
    if rank == 1:
        time.sleep(0.3)
    dist.destroy_process_group()
    torch.npu.synchronize()
    for i, tensor in enumerate(tensors):
        same(tensor, sum(value(other, 1_000_000, salt=i) for other in range(ranks)))


def again(rank, ranks):
    """A default group after a default group."""
    for turn in range(3):
        tensor = value(rank, 10, salt=turn).npu()
        dist.all_reduce(tensor)
        same(tensor, sum(value(other, 10, salt=turn) for other in range(ranks)))
        store = dist.distributed_c10d._get_default_store()
        dist.destroy_process_group()
        dist.init_process_group("hccl", store=dist.PrefixStore(str(turn), store), rank=rank, world_size=ranks)


def main():
    ranks, names = int(sys.argv[1]), sys.argv[2:]
    torch.set_num_threads(1)
    bad = [name for name in names if not passes(name, ranks)]
    sys.exit(f"failed: {', '.join(bad)}" if bad else 0)


def passes(name, ranks):
    """Runs a scenario."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free.getsockname()[1]))
    os.environ.pop("HCCL_EXEC_TIMEOUT", None)
    if name in EXEC_TIMEOUTS:
        os.environ["HCCL_EXEC_TIMEOUT"] = EXEC_TIMEOUTS[name]
    begun, children = time.monotonic(), []
    for rank in range(ranks):
        child = os.fork()
        if child == 0:
            rank_main(name, rank, ranks)
        children.append(child)
    ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    expected = [-signal.SIGABRT if name == "watchdog" and rank == 0 else 0 for rank in range(ranks)]
    print(f"{name} on {ranks} ranks: {ends}, {time.monotonic() - begun:.1f} s", flush=True)
    return ends == expected


def rank_main(name, rank, ranks):
    """What a forked process does; it never returns."""
    faulthandler.dump_traceback_later(SECONDS_MAX, exit=True)
    try:
        torch.npu.set_device(rank)
        backend = "cpu:hccl_cpu,npu:hccl" if name == "both" else "hccl"
        dist.init_process_group(backend, rank=rank, world_size=ranks, timeout=datetime.timedelta(seconds=60))
        globals()[name](rank, ranks)
        if name not in BREAKING:
            dist.barrier()
            dist.destroy_process_group()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
