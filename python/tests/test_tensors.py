"""What is special about npu tensors: who owns the memory, what is returned, which device, which numbers."""

import copy
import ctypes
import gc
import io
import math
import threading
import time
import warnings

import numpy
import pytest
import torch
import torch.nn.functional as F
import torch_npu

NPU = torch.device("npu:0")


def same(found, expected):
    assert found.device.type == "npu"
    torch.testing.assert_close(found.cpu(), expected)


def numbers(*shape):
    return torch.arange(math.prod(shape), dtype=torch.float32).reshape(shape) - 3


# Results that are arguments


def test_in_place_operators_return_their_argument():
    x, y = numbers(3, 4).to(NPU), numbers(3, 4)
    address = x.data_ptr()
    for change in (
        lambda t: t.add_(1),
        lambda t: t.mul_(t),
        lambda t: t.clamp_(min=2),
        lambda t: t.sqrt_(),
        lambda t: t.masked_fill_(t > 3, 0.5),
        lambda t: t.index_fill_(0, torch.tensor([1], device=t.device), 9),
        lambda t: t.zero_(),
        lambda t: t.fill_(2.5),
        lambda t: F.relu_(t),
        lambda t: t.copy_(numbers(4)),
    ):
        assert change(x) is x
        change(y)
        same(x, y)
    assert x.data_ptr() == address


def test_writing_through_views():
    x, y = numbers(4, 6).to(NPU), numbers(4, 6)
    for t in (x, y):
        t[1:3, ::2] = 7
        t.t()[2].add_(1)
        t[:, 5] = t[:, 0]
        t.view(-1)[3:5] *= 2
        t[t > 10] = -1
        t.diagonal().fill_(4)
        t[torch.tensor([0, 1]), torch.tensor([1, 2])] += 5
    same(x, y)


def test_a_view_shares_memory_and_keeps_it_alive():
    x = numbers(4, 6).to(NPU)
    row = x[2]
    assert row.data_ptr() == x.data_ptr() + 2 * 6 * 4
    row.zero_()
    assert x[2].sum().item() == 0
    expected = x[3].tolist()
    last = x[3]
    del x, row
    for _ in range(4):
        torch.full((4, 6), 99.0, device=NPU)
    assert last.tolist() == expected


def test_arguments_that_nobody_else_holds_live_as_long_as_the_operator():
    # A script hands its temporaries over, so the kernel has the last reference to them.
    @torch.jit.script
    def chain(a: torch.Tensor, b: torch.Tensor):
        return torch.cat([a + 1, b * 2, (a - b).relu_()]).sum(0) + torch.add(a + 1, b * 2)[0]

    a, b = numbers(3, 4), numbers(3, 4) * 2
    for _ in range(4):
        same(chain(a.to(NPU), b.to(NPU)), chain(a, b))


def test_version_counter_notices_writes():
    x = numbers(3).to(NPU).requires_grad_()
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (0,), (2, 2)])
def test_out_takes_the_shape_of_the_result(shape):
    a, b = numbers(3, 4), numbers(3, 4) * 2
    out = torch.empty(shape, device=NPU)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert torch.add(a.to(NPU), b.to(NPU), out=out) is out
    same(out, a + b)
    assert len([w for w in seen if "was resized" in str(w.message)]) == (shape in [(4, 3), (2, 2)])


def test_out_that_is_strided_or_of_another_type():
    a, b = numbers(3, 4), numbers(4, 3)
    whole = torch.zeros(3, 8, device=NPU)
    torch.add(a.to(NPU), 1, out=whole[:, ::2])
    same(whole[:, ::2], a + 1)
    assert whole[:, 1::2].abs().sum().item() == 0
    double = torch.empty(3, 3, dtype=torch.double, device=NPU)
    torch.mul(a.to(NPU)[:, :3], 2, out=double)
    same(double, (a[:, :3] * 2).double())
    integer = torch.empty(3, 3, dtype=torch.int32, device=NPU)
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.mul(a.to(NPU)[:, :3], 2.5, out=integer)
    square = torch.eye(3, device=NPU)
    torch.mm(a.to(NPU), b.to(NPU), out=square)
    same(square, a @ b)
    torch.mm(square, square, out=square)
    same(square, (a @ b) @ (a @ b))


def test_out_of_two_results():
    a = numbers(3, 4).flip(1)
    values, places = torch.empty(0, device=NPU), torch.empty(0, dtype=torch.long, device=NPU)
    result = torch.sort(a.to(NPU), 1, out=(values, places))
    assert result[0] is values and result[1] is places
    same(values, a.sort(1)[0])
    same(places, a.sort(1)[1])


def test_in_place_operator_that_resizes():
    batch = numbers(2, 5, 3)
    x, y = torch.ones(1), torch.ones(1, device=NPU)
    neighbour = torch.zeros(64, device=NPU)
    x.addbmm_(batch, batch.transpose(1, 2))
    y.addbmm_(batch.to(NPU), batch.transpose(1, 2).to(NPU))
    same(y, x)
    assert neighbour.abs().sum().item() == 0


def test_overlapping_memory_is_refused():
    x = torch.arange(6.0, device=NPU)
    with pytest.raises(RuntimeError, match="single memory location|overlap"):
        x[1:].add_(x[:-1])


# Devices


def test_other_devices_than_the_current_one():
    last = torch.npu.device_count() - 1
    x = torch.arange(4.0, device=f"npu:{last}")
    y = (x * 2).sum() + torch.ones(1, device=f"npu:{last}")
    assert y.device.index == last and y.item() == 13
    assert torch.npu.current_device() == 0
    assert x.to("npu:0").device == NPU and x.to("npu:0").tolist() == [0, 1, 2, 3]
    same(torch.zeros(2, device=x.device).copy_(torch.ones(2, device=NPU)), torch.ones(2))
    assert torch.empty(2, device="npu").device == NPU
    with torch.npu.device(last):
        assert torch.ones(2, device="npu").device.index == last


def test_mixing_devices_is_an_error():
    x, far, host = numbers(3).to(NPU), numbers(3).to("npu:1"), numbers(3)
    for mix in (
        lambda: x + far,
        lambda: x + host,
        lambda: host * x,
        lambda: torch.cat((x, host)),
        lambda: F.linear(x, torch.ones(2, 3)),
        lambda: torch.add(x, x, out=host.clone()),
        lambda: x + far.sum(),
        lambda: host.sum().add_(x.sum()),
    ):
        with pytest.raises(RuntimeError, match="same device"):
            mix()
    same(x + host.sum(), host + host.sum())


def test_gradients_on_two_devices():
    x = torch.arange(3.0, requires_grad=True)
    y = (x.to("npu:0") * 2).to("npu:1").exp().cpu().sum()
    y.backward()
    torch.testing.assert_close(x.grad, 2 * (2 * x.detach()).exp())


def test_threads_with_a_device_each():
    results, errors = {}, []

    def work(index):
        try:
            torch.npu.set_device(index % torch.npu.device_count())
            x = torch.full((64,), float(index), device="npu", requires_grad=True)
            for _ in range(50):
                (x * x).sum().backward()
            results[index] = (x.grad.device.index, x.grad.sum().item())
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors
    count = torch.npu.device_count()
    assert results == {i: (i % count, 50.0 * 64 * 2 * i) for i in range(6)}


# Making and copying


@pytest.mark.parametrize(
    "make",
    [
        lambda d: torch.arange(7, device=d),
        lambda d: torch.arange(1.0, 3.0, 0.25, device=d),
        lambda d: torch.linspace(-1, 1, 9, device=d),
        lambda d: torch.logspace(0, 2, 5, device=d),
        lambda d: torch.zeros(2, 3, device=d),
        lambda d: torch.ones(2, dtype=torch.int16, device=d),
        lambda d: torch.full((2, 2), 7, device=d),
        lambda d: torch.full((2, 2), True, device=d),
        lambda d: torch.eye(3, 4, device=d),
        lambda d: torch.tensor([[1.5, 2], [3, 4]], device=d),
        lambda d: torch.as_tensor(numpy.arange(5), device=d),
        lambda d: torch.scalar_tensor(3.5, device=d),
        lambda d: torch.tril_indices(3, 3, device=d),
        lambda d: torch.hann_window(6, device=d),
        lambda d: torch.kaiser_window(6, device=d),
        lambda d: torch.empty(3, device=d).fill_(2),
        lambda d: torch.empty_strided((2, 3), (1, 2), device=d).zero_(),
        lambda d: torch.zeros(0, 3, device=d),
        lambda d: torch.complex(torch.ones(2, device=d), torch.zeros(2, device=d)),
    ],
)
def test_factories(make):
    expected, found = make("cpu"), make(NPU)
    assert found.dtype == expected.dtype and found.stride() == expected.stride()
    same(found, expected)


@pytest.mark.parametrize(
    "dtype", "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64".split()
)
def test_copies_of_every_type(dtype):
    values = (numbers(4, 6) + 3).to(getattr(torch, dtype))
    moved = values.to(NPU)
    assert moved.dtype == values.dtype
    assert torch.equal(moved.cpu(), values)
    assert torch.equal(moved.t().cpu(), values.t())
    assert torch.equal(values.t().to(NPU).cpu(), values.t())
    assert torch.equal(moved[::2, 1::2].clone().cpu(), values[::2, 1::2])
    target = torch.zeros(6, 4, dtype=torch.float32).to(NPU)
    real = values.real if values.is_complex() else values
    target.t().copy_(moved.real if values.is_complex() else moved)
    same(target, real.float().t())


def test_strides_are_those_of_the_cpu():
    x = torch.randn(2, 3, 4, 5)
    y = x.to(NPU)
    for change in (
        lambda t: t.to(memory_format=torch.channels_last),
        lambda t: t.to(torch.float64, memory_format=torch.channels_last),
        lambda t: t.contiguous(memory_format=torch.channels_last),
        lambda t: t.transpose(1, 2).clone(),
        lambda t: t.transpose(1, 2).double(),
        lambda t: torch.zeros_like(t.transpose(0, 1)),
        lambda t: torch.empty_like(t.permute(3, 1, 0, 2)).zero_(),
        lambda t: t[:, ::2].to(torch.int32),
        lambda t: t.expand(2, 2, 3, 4, 5).clone(),
        lambda t: t.permute(0, 2, 3, 1) * 2,
    ):
        expected, found = change(x), change(y)
        assert found.stride() == expected.stride()
        same(found, expected)


def test_host_memory():
    x = numbers(4, 6)
    pinned = x.pin_memory()
    assert pinned.is_pinned() and not x.is_pinned()
    y = pinned.to(NPU, non_blocking=True)
    same(y, x)
    back = y.to("cpu", non_blocking=True)
    torch.npu.synchronize()
    assert torch.equal(back, x)
    host = torch.empty(6, 4)
    host.t().copy_(y)
    assert torch.equal(host, x.t())
    assert numpy.array_equal(y.cpu().numpy(), x.numpy())


def test_saving_loading_and_copying():
    x = numbers(3, 4).to(NPU)
    file = io.BytesIO()
    torch.save({"x": x, "view": x[1]}, file)
    file.seek(0)
    loaded = torch.load(file)
    same(loaded["x"], x.cpu())
    same(loaded["view"], x[1].cpu())
    file.seek(0)
    assert torch.load(file, map_location="cpu")["x"].device.type == "cpu"
    other = copy.deepcopy(x)
    other.zero_()
    assert x.abs().sum().item() > 0


def test_storage_operations():
    x = numbers(6).to(NPU)
    x.resize_(2, 3)
    assert x.tolist() == [[-3, -2, -1], [0, 1, 2]]
    y = torch.empty(0, device=NPU).set_(x)
    assert y.data_ptr() == x.data_ptr()
    y.resize_(100).zero_()
    assert y.sum().item() == 0
    p = torch.nn.Parameter(x)
    p.data = p.data.double()
    assert p.dtype == torch.double
    assert torch_npu.npu_format_cast(x, 29).tolist() == x.tolist()
    assert torch_npu.get_npu_format(x) is not None


# Above the size where a result is made in device memory at once, instead of moved there.
LARGE = {
    "sum": lambda x: x * 2 + 1,
    "transposed": lambda x: x.reshape(500, 600).t() + 1,
    "channels last": lambda x: x.reshape(4, 3, 50, 500).to(memory_format=torch.channels_last) * 2,
    "two results": lambda x: x.reshape(500, 600).sort(1, descending=True),
    "part of what was made": lambda x: x[x % 2 == 0],
    "list": lambda x: torch._foreach_mul([x, x[:5]], 2.0),
    "another type": lambda x: x > 5,
    "convolution": lambda x: F.conv2d(x.reshape(1, 3, 250, 400), torch.ones(3, 3, 3, 3, device=x.device)),
    "transposed convolution": lambda x: F.conv_transpose2d(
        x.reshape(1, 3, 250, 400), torch.ones(3, 2, 3, 3, device=x.device)
    ),
    "product": lambda x: x.reshape(500, 600) @ x.reshape(500, 600).t(),
    "complex": lambda x: torch.fft.rfft(x.reshape(500, 600)),
    "dropout of none": lambda x: F.dropout(x, 0.0),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_results(name):
    def listed(results):
        return results if isinstance(results, (list, tuple)) else [results]

    x = torch.arange(300_000, dtype=torch.float32) * 1e-3
    y = x.to(NPU)
    LARGE[name](y)
    # Results, and what a kernel made for itself, go back. (Other tests may have left cycles.)
    gc.collect()
    before = torch.npu.memory_allocated()
    LARGE[name](y)
    assert torch.npu.memory_allocated() == before
    results = listed(LARGE[name](y))
    for one, other in zip(results, listed(LARGE[name](x))):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-3, atol=1e-3)
        assert one.stride() == other.stride() and one.untyped_storage().nbytes() == other.untyped_storage().nbytes()
        assert torch_npu.get_storage_size(one) == one.numel()
        file = io.BytesIO()
        torch.save(one, file)
        file.seek(0)
        assert torch.equal(torch.load(file), one)


def test_large_results_on_another_device_and_from_threads():
    def work(index):
        x = torch.ones(100_000, device=f"npu:{index % 2}")
        for _ in range(20):
            y = (x + index).mul(2)
        results[index] = (y.device.index, y.sum().item())

    results = {}
    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == {index: (index % 2, 200_000.0 * (1 + index)) for index in range(4)}


@pytest.mark.parametrize("count", [6, 200_000])
def test_out_that_overlaps_an_argument(count):
    whole = torch.arange(float(count + 1), device=NPU)
    torch.add(whole[:-1], 1, out=whole[1:])
    assert whole[0].item() == 0 and torch.equal(whole[1:].cpu(), torch.arange(float(count)) + 1)
    torch.cumsum(whole, 0, out=whole)
    assert whole[3].item() == 6
    x = torch.arange(float(count), device=NPU)
    address = x.data_ptr()
    assert torch.neg(torch.ones(count, device=NPU), out=x) is x
    assert x.data_ptr() == address and x.sum().item() == -count
    with pytest.raises(RuntimeError):
        torch.topk(x, count + 1, out=(torch.empty(0, device=NPU), torch.empty(0, dtype=torch.long, device=NPU)))


def test_out_does_not_run_over_its_neighbours():
    parts = torch.zeros(4, 8, device=NPU)
    row = parts.clone()[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = torch.zeros(8, device=NPU)
        neighbours = [torch.zeros(8, device=NPU) for _ in range(64)]
        torch.add(torch.ones(5000, device=NPU), 1, out=out)
        torch.add(torch.ones(3, device=NPU), 1, out=row)
    assert out.shape == (5000,) and out.sum().item() == 10_000
    assert row.tolist() == [2, 2, 2]
    assert all(neighbour.abs().sum().item() == 0 for neighbour in neighbours)


# Printing


@pytest.mark.parametrize(
    "values",
    [
        torch.tensor([0.0, 8.0, 16.0]),
        torch.tensor([[1.5, -2.25], [1e-8, 3e7]]),
        torch.tensor([1, -20, 300]),
        torch.tensor([True, False]),
        torch.tensor([float("nan"), float("inf"), 1.0]),
        torch.tensor(3.25),
        torch.empty(0),
        torch.arange(5000.0),
        torch.ones(2, dtype=torch.bfloat16),
        torch.tensor([1 + 2j, 3 - 4j]),
    ],
)
def test_printing(values):
    text = repr(values.to(NPU))
    assert "device='npu:0'" in text
    assert text.replace(" ", "").replace("\n", "").replace("device='npu:0',", "").replace(
        ",device='npu:0'", ""
    ) == repr(values).replace(" ", "").replace("\n", "")


# Random numbers


def draws(device):
    return [
        torch.rand(5, device=device),
        torch.randn(4, 3, device=device),
        torch.randint(0, 100, (6,), device=device),
        torch.randperm(9, device=device),
        torch.empty(5, device=device).normal_(2, 3),
        torch.empty(5, device=device).uniform_(-1, 1),
        torch.empty(5, device=device).exponential_(),
        torch.full((8,), 0.5, device=device).bernoulli(),
        torch.ones(6, device=device).multinomial(4),
        torch.normal(torch.zeros(3, device=device), 1.0),
        torch.rand_like(torch.ones(3, device=device)),
        torch.randn_like(torch.ones(3, device=device)),
        torch.poisson(torch.full((4,), 3.0, device=device)),
        F.dropout(torch.ones(16, device=device), 0.5),
        F.rrelu(-torch.ones(8, device=device), training=True),
        torch.distributions.Gamma(torch.ones(3, device=device), 1.0).sample(),
    ]


@pytest.mark.parametrize("seed", [torch.manual_seed, torch.npu.manual_seed, torch.npu.manual_seed_all])
def test_seeds_repeat_the_numbers(seed):
    seed(5)
    first = draws(NPU)
    second = draws(NPU)
    seed(5)
    third = draws(NPU)
    for one, two, three in zip(first, second, third):
        assert torch.equal(one, three)
        assert one.device == NPU
    assert sum(torch.equal(one, two) for one, two in zip(first, second)) <= 3


def test_random_state_can_be_saved():
    torch.rand(3, device=NPU)
    state = torch.npu.get_rng_state()
    one = draws(NPU)
    torch.npu.set_rng_state(state)
    assert all(torch.equal(a, b) for a, b in zip(one, draws(NPU)))


def test_the_first_numbers_after_a_seed_are_those_of_the_cpu():
    for draw in (
        lambda d: torch.rand(5, device=d),
        lambda d: torch.randn(20, device=d),
        lambda d: torch.randperm(9, device=d),
        lambda d: torch.ones(6, device=d).multinomial(4),
        lambda d: F.rrelu(-torch.ones(8, device=d), training=True),
    ):
        torch.manual_seed(7)
        expected = draw("cpu")
        torch.manual_seed(7)
        same(draw(NPU), expected)


def test_each_device_has_its_own_numbers():
    torch.manual_seed(2)
    states = torch.npu.get_rng_state_all()
    one = [torch.rand(3, device=f"npu:{index}") for index in (0, 1, 1)]
    assert torch.equal(one[0].cpu(), one[1].cpu()) and not torch.equal(one[1], one[2])
    with torch.random.fork_rng(devices=[0], device_type="npu"):
        torch.rand(100, device=NPU)
    torch.npu.set_rng_state_all(states)
    assert torch.equal(torch.rand(3, device="npu:1"), one[1])
    torch.npu.manual_seed(9)
    two = torch.rand(3, device=NPU)
    assert torch.npu.initial_seed() == 9
    torch.npu.manual_seed(9)
    with torch.random.fork_rng(devices=[0], device_type="npu"):
        torch.rand(100, device=NPU)
    assert torch.equal(torch.rand(3, device=NPU), two)


def test_a_generators_state_can_be_saved():
    generator = torch.Generator(device=NPU).manual_seed(3)
    torch.rand(4, device=NPU, generator=generator)
    state = generator.get_state()
    one = torch.rand(4, device=NPU, generator=generator)
    generator.set_state(state)
    assert torch.equal(torch.rand(4, device=NPU, generator=generator), one)


def test_devices_and_host_draw_apart():
    torch.manual_seed(1)
    host = torch.rand(3)
    torch.manual_seed(1)
    F.dropout(torch.ones(100, device=NPU), 0.3)
    torch.rand(7, device="npu:1")
    assert torch.equal(torch.rand(3), host)


def test_generators():
    generator = torch.Generator(device=NPU).manual_seed(3)
    one = torch.rand(4, device=NPU, generator=generator)
    two = torch.rand(4, device=NPU, generator=generator)
    generator.manual_seed(3)
    assert torch.equal(torch.rand(4, device=NPU, generator=generator), one)
    assert not torch.equal(one, two)
    with pytest.raises(RuntimeError, match="generator"):
        torch.rand(4, device=NPU, generator=torch.Generator())


def test_distributions():
    x = torch.randn(100_000, device=NPU)
    assert abs(x.mean().item()) < 0.02 and abs(x.std().item() - 1) < 0.02
    means = [F.dropout(torch.ones(1000, device=NPU), 0.25).mean().item() for _ in range(40)]
    assert abs(sum(means) / len(means) - 1) < 0.02
    few = torch.stack([torch.rand(2, device=NPU) for _ in range(2000)])
    assert abs(few.mean().item() - 0.5) < 0.02
    assert abs(numpy.corrcoef(few[:-1, 0].cpu(), few[1:, 0].cpu())[0, 1]) < 0.08


# What does not work says so


def test_refusals_name_the_operator():
    x = numbers(2, 3).to(NPU)
    with pytest.raises(NotImplementedError, match="npu_rotary_mul"):
        torch_npu.npu_rotary_mul(x, x, x)
    with pytest.raises(NotImplementedError, match="_to_sparse"):
        x.to_sparse()
    with pytest.raises(NotImplementedError, match="quantize_per_tensor"):
        torch.quantize_per_tensor(x, 1.0, 0, torch.qint8)
    with pytest.raises((NotImplementedError, RuntimeError), match="_cudnn_init_dropout_state|_fused_dropout"):
        torch._fused_dropout(x, 0.5)


# Order with the work on streams


class Slow:
    """Puts a function of the host on torch's current stream: it sleeps, then writes zeros over a tensor."""

    def __init__(self, tensor, seconds):
        address, size = tensor.data_ptr(), tensor.nbytes
        self.done = False

        def body(_):
            time.sleep(seconds)
            ctypes.memset(address, 0, size)
            self.done = True

        self.function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(body)

    def launch(self):
        library = ctypes.CDLL("libascendcl.so")
        stream = ctypes.c_void_p(torch.npu.current_stream().npu_stream)
        assert library.aclrtLaunchHostFunc(stream, self.function, None) == 0


READERS = {
    "operator": lambda x: x + 1,
    "reduction": lambda x: x.sum().reshape(1) + 1,
    "host copy": lambda x: x.cpu() + 1,
    "copy_": lambda x: torch.empty_like(x).copy_(x) + 1,
    "clone": lambda x: x.clone().cpu() + 1,
    "item": lambda x: torch.tensor(x[3].item() + 1),
    "cast": lambda x: x.double() + 1,
    "list": lambda x: torch._foreach_add([x], 1)[0],
    "in place": lambda x: x.add_(1),
    "out": lambda x: torch.add(x, 1, out=torch.empty_like(x)),
}


@pytest.mark.parametrize("name", READERS)
def test_operators_wait_for_their_stream(name):
    x = torch.full((8,), 5.0, device=NPU)
    slow = Slow(x, 0.05)
    slow.launch()
    result = READERS[name](x)
    assert slow.done
    assert (result.cpu() == 1).all()


def test_operators_wait_only_for_their_stream():
    x, y = torch.full((8,), 5.0, device=NPU), torch.ones(8, device=NPU)
    slow = Slow(x, 0.4)
    side = torch.npu.Stream()
    with torch.npu.stream(side):
        slow.launch()
    assert (y + 1).sum().item() == 16
    assert not slow.done
    torch.npu.current_stream().wait_stream(side)
    assert (x + 1).sum().item() == 8
    assert slow.done


def test_waiting_in_the_backward_pass():
    x = torch.full((8,), 5.0, device=NPU, requires_grad=True)
    weight = torch.full((8,), 5.0, device=NPU)
    y = (x * weight).sum()
    slow = Slow(weight, 0.05)
    slow.launch()
    y.backward()
    assert x.grad.sum().item() == 0
