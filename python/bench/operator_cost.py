"""Prints what an operator costs on a small npu tensor beside the CPU's own time for it, and the medians.

Run it in an environment made by `set_env.sh`; torch loads the rest by itself. The times are of the calling thread and
include everything from the Python call down, so the CPU's own column carries the cost of PyTorch itself.
"""

import argparse
import statistics
import time

import torch
import torch_npu  # noqa: F401


def cases(device):
    """name -> a call that takes no argument"""
    generator = torch.Generator().manual_seed(1)

    def make(*shape):
        return torch.rand(*shape, generator=generator).to(device)

    x, y, square, bias = make(8, 16), make(8, 16), make(16, 16), make(16)
    index = torch.arange(8).to(device)
    target = torch.arange(8).to(device)
    image, weight = make(1, 3, 8, 8), make(4, 3, 3, 3)
    out = torch.empty(8, 16, device=device)
    batch, other_batch = make(2, 8, 16), make(2, 16, 8)
    mask = x > 0.5
    listed = [make(16) for _ in range(4)]
    sgd, adam = (optimizer([trainable(t) for t in (make(8, 16), make(16))]) for optimizer in (momentum, adam_of_lists))
    functional = torch.nn.functional
    return {
        "add": lambda: x + y,
        "add a number": lambda: x + 1.5,
        "mul in place": lambda: x.mul_(1.0),
        "add out=": lambda: torch.add(x, y, out=out),
        "sub": lambda: x - y,
        "div": lambda: x / y,
        "neg": lambda: -x,
        "relu": lambda: x.relu(),
        "gelu": lambda: functional.gelu(x),
        "sigmoid": lambda: x.sigmoid(),
        "exp": lambda: x.exp(),
        "pow": lambda: x**2,
        "eq": lambda: x == y,
        "where": lambda: torch.where(index > 3, index, target),
        "masked_fill": lambda: x.masked_fill(mask, 0.0),
        "sum": lambda: x.sum(),
        "mean of rows": lambda: x.mean(1),
        "max of rows": lambda: x.max(1),
        "argmax": lambda: x.argmax(1),
        "cumsum": lambda: x.cumsum(1),
        "sort": lambda: x.sort(1),
        "softmax": lambda: x.softmax(1),
        "mm": lambda: x @ square,
        "bmm": lambda: torch.bmm(batch, other_batch),
        "matmul of a batch": lambda: batch @ square,
        "linear": lambda: functional.linear(x, square, bias),
        "batch_norm": lambda: functional.batch_norm(x, None, None, training=True),
        "attention": lambda: functional.scaled_dot_product_attention(batch, batch, batch),
        "layer_norm": lambda: functional.layer_norm(x, (16,)),
        "cross_entropy": lambda: functional.cross_entropy(x, target),
        "dropout": lambda: functional.dropout(x, 0.5),
        "conv2d": lambda: functional.conv2d(image, weight),
        "embedding": lambda: functional.embedding(index, square),
        "gather rows": lambda: x[index],
        "index_put_": lambda: x.index_put_((index,), y),
        "scatter_add_": lambda: bias.scatter_add_(0, index, listed[0][:8]),
        "cat": lambda: torch.cat((x, y)),
        "transpose (view)": lambda: x.t(),
        "contiguous": lambda: x.t().contiguous(),
        "clone": lambda: x.clone(),
        "to half": lambda: x.half(),
        "arange": lambda: torch.arange(8, device=device),
        "rand": lambda: torch.rand(8, 16, device=device),
        "normal_": lambda: y.normal_(),
        "zeros": lambda: torch.zeros(8, 16, device=device),
        "copy_": lambda: x.copy_(y),
        "_foreach_add_ of 4": lambda: torch._foreach_add_(listed, 1.0),
        "_foreach_norm of 4": lambda: torch._foreach_norm(listed),
        "SGD, momentum": sgd.step,
        "Adam, foreach": adam.step,
        "item": lambda: bias[0].item(),
        "to host": lambda: x.cpu(),
    }


def trainable(tensor):
    tensor.requires_grad_().grad = torch.full_like(tensor, 1e-3)
    return tensor


def momentum(parameters):
    return torch.optim.SGD(parameters, 1e-3, momentum=0.9, foreach=True)


def adam_of_lists(parameters):
    return torch.optim.Adam(parameters, 1e-3, foreach=True)


def cost_us(call, seconds):
    """The best of several rounds, since everything that disturbs a round only makes it longer."""
    for _ in range(20):
        call()
    start = time.perf_counter()
    for _ in range(50):
        call()
    each = (time.perf_counter() - start) / 50
    count = max(20, int(seconds / 7 / each))
    best = float("inf")
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - start) / count)
    return best * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.15, help="time spent on each operator and device")
    parser.add_argument("--grad", action="store_true", help="leave autograd on (nothing requires a gradient)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(arguments.grad)
    on_cpu, on_npu = cases("cpu"), cases("npu:0")
    print(f"{'operator':<22}{'cpu us':>9}{'npu us':>9}{'more us':>9}")
    rows = []
    for name in on_cpu:
        cpu, npu = cost_us(on_cpu[name], arguments.seconds), cost_us(on_npu[name], arguments.seconds)
        rows.append((cpu, npu, npu - cpu))
        print(f"{name:<22}{cpu:9.1f}{npu:9.1f}{npu - cpu:9.1f}", flush=True)
    medians = [statistics.median(column) for column in zip(*rows)]
    print(f"{'median':<22}{medians[0]:9.1f}{medians[1]:9.1f}{medians[2]:9.1f}")


if __name__ == "__main__":
    main()
