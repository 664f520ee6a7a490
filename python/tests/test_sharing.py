"""Tensors and events that processes share, and limits of cores: torch turns these on when the runtime has them."""

import queue

import pytest
import torch
import torch.multiprocessing as multiprocessing

LIMIT = 120


def double(requests, answers, handle):
    """In another process: doubles what it is given, in place, behind an event of the giver."""
    torch.npu.set_device(1)
    event = torch.npu.Event.from_ipc_handle(torch.device("npu:0"), handle)
    torch.npu.set_device(0)
    event.wait()
    while True:
        tensor = requests.get(timeout=LIMIT)
        if tensor is None:
            break
        tensor *= 2
        torch.npu.synchronize()
        answers.put((str(tensor.device), tensor.sum().item()))
        del tensor


def test_tensors_and_events_are_shared_between_processes():
    context = multiprocessing.get_context("spawn")
    event = torch.npu.Event(interprocess=True)
    event.record()
    requests, answers = context.Queue(), context.Queue()
    process = context.Process(target=double, args=(requests, answers, event.ipc_handle()))
    process.start()
    try:
        large = torch.arange(3_000_000, device="npu", dtype=torch.float32)
        # Part of a larger block, with an offset of its own.
        part = large[1000:2000]
        for tensor in (part, torch.full((5,), 1.5, device="npu")):
            before = tensor.clone()
            requests.put(tensor)
            device, total = answers.get(timeout=LIMIT)
            assert device == "npu:0"
            assert torch.equal(tensor, 2 * before) and total == (2 * before).sum().item()
        assert large[999].item() == 999 and large[2000].item() == 2000
        requests.put(None)
        process.join(LIMIT)
        assert process.exitcode == 0
    except queue.Empty:
        pytest.fail("the other process does not answer")
    finally:
        process.kill()
        process.join()


def test_an_event_without_a_handle_is_refused():
    with pytest.raises(RuntimeError):
        torch.npu.Event.from_ipc_handle(torch.device("npu:0"), b"x" * 64)
    torch.npu.synchronize()


def test_limits_of_cores():
    whole = torch.npu.get_device_limit(0)
    assert whole == {"cube_core_num": 24, "vector_core_num": 48}
    stream = torch.npu.Stream()
    torch.npu.set_stream_limit(stream, 3, 4)
    assert torch.npu.get_stream_limit(stream) == {"cube_core_num": 3, "vector_core_num": 4}
    torch.npu.reset_stream_limit(stream)
    assert torch.npu.get_stream_limit(stream) == whole
