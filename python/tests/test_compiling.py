"""`torch.compile` on npu tensors: backends that run operator by operator work, the one that writes kernels says so."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

NPU = torch.device("npu:0")


@pytest.fixture(autouse=True)
def forgetful():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def block(x, weight):
    y = F.gelu(x @ weight)
    if y.shape[0] > 2:
        y = y + x.sin()
    return F.dropout(y, 0.25).sum(1), y.mean()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_operator_by_operator(backend):
    results = []
    for function in (block, torch.compile(block, backend=backend)):
        torch.manual_seed(3)
        x = torch.randn(4, 4, device=NPU, requires_grad=True)
        rows, mean = function(x, torch.ones(4, 4, device=NPU))
        (rows.sum() + mean).backward()
        results.append((rows.detach(), mean.detach(), x.grad))
    for one, other in zip(*results):
        assert other.device == NPU
        torch.testing.assert_close(one, other)


def test_a_compiled_module_trains():
    model = torch.compile(nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).to(NPU), backend="aot_eager")
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    x, y = torch.randn(12, 6, device=NPU), torch.randint(0, 3, (12,), device=NPU)
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


@pytest.mark.parametrize(
    "function",
    [lambda x: x * 2 + 1, lambda x: torch.ones(3, device="npu") + 1, lambda x: x.cpu() + 1],
    ids=["argument", "made inside", "moved"],
)
@pytest.mark.parametrize("chosen", [{}, {"backend": "inductor"}], ids=["default", "by name"])
def test_the_default_backend_says_what_to_use(function, chosen):
    with pytest.raises(Exception, match='backend="aot_eager"'):
        torch.compile(function, **chosen)(torch.ones(3, device=NPU))


def test_the_default_backend_still_compiles_for_the_cpu(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    x = torch.randn(16)
    torch.testing.assert_close(torch.compile(lambda t: (t.sin() + 1).sum())(x), (x.sin() + 1).sum())
