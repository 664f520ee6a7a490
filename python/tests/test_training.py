"""Training on npu tensors gives the losses of the same training on the CPU."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

NPU = torch.device("npu:0")


def train(model, inputs, targets, optimizer, device, steps=6, criterion=F.cross_entropy):
    """Losses and final weights of a copy of the model, trained on the device."""
    model = copy.deepcopy(model).to(device)
    inputs, targets = inputs.to(device), targets.to(device)
    chosen = optimizer(model.parameters())
    losses = []
    for _ in range(steps):
        chosen.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        chosen.step()
        losses.append(loss.item())
    return losses, {name: value.detach().cpu() for name, value in model.state_dict().items()}


def compare(model, inputs, targets, optimizer, rtol=2e-4, atol=2e-5, **more):
    losses, weights = train(model, inputs, targets, optimizer, torch.device("cpu"), **more)
    losses_npu, weights_npu = train(model, inputs, targets, optimizer, NPU, **more)
    assert losses[-1] < losses[0]
    torch.testing.assert_close(torch.tensor(losses_npu), torch.tensor(losses), rtol=rtol, atol=atol)
    # Weights drift further apart than losses: Adam divides by small numbers. (Where a gradient is nothing but
    # rounding, like that of the bias of attention keys, it must not be used at all.)
    torch.testing.assert_close(weights_npu, weights, rtol=1e-2, atol=1e-3)


def mlp():
    return nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 4))


def batch(*shape, classes=4):
    return torch.randn(*shape), torch.randint(0, classes, (shape[0],))


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=1e-3),
    "adam": lambda p: torch.optim.Adam(p, 1e-2),
    "adam loop": lambda p: torch.optim.Adam(p, 1e-2, foreach=False),
    "adam foreach": lambda p: torch.optim.Adam(p, 1e-2, foreach=True),
    "adam fused": lambda p: torch.optim.Adam(p, 1e-2, fused=True),
    "adamw": lambda p: torch.optim.AdamW(p, 1e-2, amsgrad=True),
    "adamw fused": lambda p: torch.optim.AdamW(p, 1e-2, fused=True),
    "sgd fused": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, fused=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, 1e-3),
    "adagrad": lambda p: torch.optim.Adagrad(p, 1e-2),
    "adadelta": lambda p: torch.optim.Adadelta(p, 1.0),
    "nadam": lambda p: torch.optim.NAdam(p, 1e-2),
    "radam": lambda p: torch.optim.RAdam(p, 1e-2),
    "adamax": lambda p: torch.optim.Adamax(p, 1e-2),
    "asgd": lambda p: torch.optim.ASGD(p, 1e-2),
    "rprop": lambda p: torch.optim.Rprop(p, 1e-3),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_mlp(name):
    compare(mlp(), *batch(16, 12), OPTIMIZERS[name])


class Block(nn.Module):
    """A transformer of one block over tokens, with a causal mask."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(11, 16), nn.Embedding(7, 16)
        self.first, self.second = nn.LayerNorm(16), nn.LayerNorm(16)
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
        self.inner = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
        self.head = nn.Linear(16, 11)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(7, device=tokens.device))
        mask = torch.full((7, 7), float("-inf"), device=tokens.device).triu(1)
        y = self.first(x)
        x = x + self.attention(y, y, y, attn_mask=mask, need_weights=False)[0]
        return self.head(x + self.inner(self.second(x))).flatten(0, 1)


def test_transformer_block():
    tokens = torch.randint(0, 11, (4, 7))
    compare(Block(), tokens, tokens.roll(-1, 1).flatten(), OPTIMIZERS["sgd"])


def test_transformer_layer_of_torch():
    model = nn.Sequential(nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0), nn.Flatten(), nn.Linear(80, 4))
    compare(model, *batch(6, 5, 16), OPTIMIZERS["sgd"])
    model.eval()
    x = torch.randn(3, 5, 16)
    with torch.no_grad():
        expected = model(x)
        torch.testing.assert_close(copy.deepcopy(model).to(NPU)(x.to(NPU)).cpu(), expected, rtol=1e-4, atol=1e-5)


def test_convolutions_with_batch_norm():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, groups=2),
        nn.BatchNorm2d(8),
        nn.SiLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 4),
    )
    compare(model, *batch(8, 3, 10, 10), OPTIMIZERS["sgd"], rtol=1e-3)


class Last(nn.Module):
    """The last output of a recurrent network, as class scores."""

    def __init__(self, net, features):
        super().__init__()
        self.net, self.head = net, nn.Linear(features, 4)

    def forward(self, x):
        return self.head(self.net(x)[0][:, -1])


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("two_ways", [False, True])
@pytest.mark.parametrize("bias", [True, False])
def test_recurrent(kind, two_ways, bias):
    net = kind(5, 6, num_layers=2, batch_first=True, bidirectional=two_ways, bias=bias)
    compare(Last(net, 12 if two_ways else 6), *batch(4, 7, 5), OPTIMIZERS["adam"])


@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.GRUCell, nn.RNNCell])
def test_recurrent_cells(kind):
    cell, x = kind(5, 6), torch.randn(3, 5)
    on_npu = copy.deepcopy(cell).to(NPU)

    def run(cell, x):
        state = cell(x)
        state = cell(x * 2, state)
        return state[0] * state[1] if isinstance(state, tuple) else state

    expected, found = run(cell, x), run(on_npu, x.to(NPU))
    torch.testing.assert_close(found.cpu(), expected, rtol=1e-4, atol=1e-6)
    expected.square().sum().backward()
    found.square().sum().backward()
    for one, other in zip(cell.parameters(), on_npu.parameters()):
        torch.testing.assert_close(other.grad.cpu(), one.grad, rtol=1e-4, atol=1e-6)


def test_clipping_and_accumulation():
    model = mlp()
    x, y = batch(16, 12)
    norms = []
    for device in (torch.device("cpu"), NPU):
        net = copy.deepcopy(model).to(device)
        for part in range(2):
            F.cross_entropy(net(x.to(device)), y.to(device)).backward()
        norms.append(nn.utils.clip_grad_norm_(net.parameters(), 0.1).item())
        norms.append(nn.utils.parameters_to_vector([p.grad for p in net.parameters()]).norm().item())
    assert norms[2:] == pytest.approx(norms[:2], rel=1e-4)


def test_checkpointing_repeats_dropout():
    layer = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5)).to(NPU)
    x = torch.randn(4, 8, device=NPU)
    gradients = []
    for wrapped in (False, True):
        torch.manual_seed(11)
        layer.zero_grad()
        y = checkpoint(layer, x, use_reentrant=False) if wrapped else layer(x)
        y.square().sum().backward()
        gradients.append(layer[0].weight.grad.clone())
    assert torch.equal(*gradients)


def test_mixed_precision_with_scaler():
    model = mlp().to(NPU)
    x, y = (t.to(NPU) for t in batch(16, 12))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    scaler = torch.amp.GradScaler("npu", init_scale=2.0**10)
    losses = []
    for step in range(8):
        optimizer.zero_grad()
        with torch.autocast("npu", dtype=torch.float16):
            scores = model(x)
            loss = F.cross_entropy(scores.float(), y)
        assert scores.dtype == torch.float16
        if step == 3:
            loss = loss * float("inf")
        before = model[0].weight.detach().clone()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        assert torch.equal(before, model[0].weight) == (step == 3)
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert scaler.get_scale() == 2.0**9


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_chooses_types(dtype):
    layer, x = nn.Linear(6, 5).to(NPU), torch.randn(3, 6, device=NPU)
    with torch.autocast("npu", dtype=dtype):
        y = layer(x)
        assert y.dtype == (x @ x.t()).dtype == torch.bmm(x[None], x.t()[None]).dtype == dtype
        # Sums of many small numbers stay in single precision, and what has one type keeps it.
        assert y.softmax(1).dtype == F.mse_loss(y, y.detach()).dtype == torch.float32
        assert torch.relu(y).dtype == dtype and (x + 1).dtype == torch.float32
        with torch.autocast("npu", enabled=False):
            assert layer(x).dtype == torch.float32
    assert layer(x).dtype == torch.float32
    torch.testing.assert_close(y.float(), layer(x), rtol=3e-2, atol=3e-2)


def test_training_under_autocast_with_bfloat16():
    model = nn.Sequential(nn.Linear(12, 32), nn.LayerNorm(32), nn.GELU(), nn.Dropout(0.1), nn.Linear(32, 4)).to(NPU)
    x, y = (t.to(NPU) for t in batch(16, 12))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    losses = []
    for _ in range(12):
        optimizer.zero_grad()
        with torch.autocast("npu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert all(p.dtype == p.grad.dtype == torch.float32 for p in model.parameters())


def test_bfloat16():
    model = mlp().to(NPU, torch.bfloat16)
    x, y = batch(16, 12)
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x.to(NPU, torch.bfloat16)), y.to(NPU))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_hooks_and_functions():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            context.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(context, gradient):
            (x,) = context.saved_tensors
            assert gradient.device == x.device == NPU
            return gradient * 2

    x = torch.arange(3.0, device=NPU, requires_grad=True)
    seen = []
    x.register_hook(lambda gradient: seen.append(gradient * 1))
    Double.apply(x).sum().backward()
    assert seen[0].tolist() == x.grad.tolist() == [2, 2, 2]


def test_second_derivatives():
    def hessian(device):
        x = torch.arange(1.0, 4.0, device=device)
        return torch.autograd.functional.hessian(lambda t: (t**3).sum() + t.prod(), x).cpu()

    torch.testing.assert_close(hessian(NPU), hessian("cpu"))


def test_functional_transforms():
    x = torch.randn(4, 3)
    function = torch.func.vmap(torch.func.grad(lambda t: (t.sin() * t).sum()))
    torch.testing.assert_close(function(x.to(NPU)).cpu(), function(x))


def test_inference_mode():
    model = mlp()
    x = torch.randn(3, 12)
    with torch.inference_mode():
        expected = model(x)
        found = model.to(NPU)(x.to(NPU))
        assert found.is_inference()
        torch.testing.assert_close(found.cpu(), expected, rtol=1e-4, atol=1e-5)
