"""Every row is an expression that must give the same on npu tensors as on CPU tensors, with its gradients.

The arguments have distinct values and odd strides. What the results are compared with is PyTorch on the CPU.
"""

import pytest
import torch
import torch.nn.functional as F

NPU = torch.device("npu:0")


def spread(*shape, dtype=torch.float32, low=-2.0, high=2.0):
    """Distinct values in a fixed, unsorted order."""
    count = 1
    for length in shape:
        count *= length
    order = torch.randperm(count, generator=torch.Generator().manual_seed(count + len(shape)))
    return torch.linspace(low, high, max(count, 1))[order].reshape(shape).to(dtype)


A = spread(4, 6)
B = spread(6, 4).t()  # not contiguous
P = spread(4, 6, low=0.1, high=3.0)
SQUARE = spread(5, 5) + 3 * torch.eye(5)
BATCHED = spread(2, 4, 6)
IMAGE = spread(2, 3, 8, 8)
VOLUME = spread(1, 2, 5, 6, 4)
ROW = spread(6)
INTS = torch.arange(24).reshape(4, 6) * 7 % 11
ROWS = torch.tensor([3, 0, 2])
LABELS = torch.tensor([1, 0, 5, 2])
MASK = INTS > 4
HALF = A.half()
BRAIN = A.bfloat16()
COMPLEX = torch.complex(A, P)
EMPTY = torch.empty(0, 6)


UNARY = """
abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix
floor frac i0 isfinite isinf isnan isneginf isposinf isreal lgamma log log10 log1p log2 logical_not logit nan_to_num neg
positive rad2deg reciprocal relu round rsqrt sgn sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc
""".split()
BINARY = """
add atan2 copysign div eq floor_divide fmax fmin fmod ge greater gt heaviside hypot le ldexp less logaddexp logaddexp2
logical_and logical_or logical_xor lt maximum minimum mul ne nextafter pow remainder sub xlogy
""".split()
NOT_DIFFERENTIABLE = ("floor_divide", "heaviside", "nextafter")
REDUCTIONS = """
sum mean prod var std amax amin argmax argmin max min all any logsumexp median nanmean nansum norm count_nonzero
""".split()

# name -> (function, its arguments as CPU tensors, whether gradients are compared as well)
CASES = {}


def case(name, function, *arguments, constant=False):
    """`constant`: PyTorch has no derivative with respect to one of the arguments."""
    CASES[name] = (function, arguments, not constant)


for _name in UNARY:
    _unary = getattr(torch, _name)
    if _name == "bitwise_not":
        case(_name, _unary, INTS)
        continue
    case(_name, _unary, P * 0.3 if _name in ("acos", "asin", "atanh", "erfinv", "logit") else P)
    if _name == "acosh":
        case(_name, _unary, P + 1)
for _name in BINARY:
    _constant = _name in NOT_DIFFERENTIABLE
    case(_name, getattr(torch, _name), P, B if _name != "pow" else ROW, constant=_constant)
    case(_name + " number", getattr(torch, _name), P, torch.tensor(1.5), constant=_constant)
for _name in REDUCTIONS:
    _reduce = getattr(torch, _name)
    case(_name, (lambda a: torch.logsumexp(a, (0, 1))) if _name == "logsumexp" else _reduce, A)
    case(_name + " of rows", lambda a, f=_reduce: f(a, dim=1), A.t())

case("add alpha", lambda a, b: torch.add(a, b, alpha=3) - b.sub(a, alpha=2), A, B)
case("scalar right", lambda a: a * 2.5 + 1, A)
case("scalar left", lambda a: 2 - a / 3, A)
case("int + float", lambda i: i + 1.5, INTS)
case("int / int", lambda i: i / 3, INTS)
case("power of number", lambda a: 2**a, A)
case("bit operations", lambda i: (i & 3) | (i ^ 5) | (i << 1) | (~i >> 1), INTS)
case("broadcast", lambda a, r: a[:, None, :] + r, A, ROW)
case("number on the host", lambda a: a + torch.tensor(2.0), A)
case("clamp", lambda a, r: (a.clamp(-1, 1), a.clamp(min=r), a.clamp_max(0.3)), A, ROW)
case("lerp", lambda a, b: torch.lerp(a, b, 0.3), A, B)
case("addcmul", lambda a, b, p: torch.addcmul(a, b, p, value=0.5) + torch.addcdiv(a, b, p), A, B, P)
case("where", lambda m, a, b: torch.where(m, a, b), MASK, A, B)
case("where one", lambda m: torch.where(m), MASK)
case("where number", lambda m, a: torch.where(m, a, 0.0), MASK, A)
case("masked_fill", lambda a, m: a.masked_fill(m, -9.0), A, MASK)
case("masked_select", lambda a, m: a.masked_select(m), A, MASK)
case("masked_scatter", lambda a, m, b: a.masked_scatter(m, b), A, MASK, B)
case("cumulative", lambda a: (a.cumsum(0), a.cumprod(1), a.cummax(1)[0], a.logcumsumexp(0)), A)
case("diff", lambda a: a.diff(dim=1), A)
case("var_mean", lambda a: torch.var_mean(a, 1), A)
case("aminmax", lambda a: torch.aminmax(a, dim=0), A, constant=True)
case("quantile", lambda a: a.quantile(0.3, dim=1), A)
case("sort", lambda a: a.sort(1, descending=True), A)
case("argsort", lambda a: a.argsort(0), A)
case("topk", lambda a: a.topk(3, 1), A)
case("kthvalue", lambda a: a.kthvalue(2, 1), A)
case("mode", lambda i: i.mode(1), INTS)
case("median of rows", lambda a: a.median(1), A)
case("unique", lambda i: torch.unique(i, return_inverse=True, return_counts=True), INTS)
case("unique rows", lambda i: torch.unique(i, dim=1), INTS)
case("unique_consecutive", lambda i: i.flatten().sort()[0].unique_consecutive(), INTS)
case("bincount", lambda i: i.flatten().bincount(), INTS)
case("histc", lambda a: a.histc(5), A)
case("searchsorted", lambda r, a: torch.searchsorted(r.sort()[0], a.contiguous()), ROW, A)
case("bucketize", lambda a, r: torch.bucketize(a, r.sort()[0]), A, ROW)
case("isin", lambda i, r: torch.isin(i, r), INTS, ROWS)
case("nonzero", lambda m: m.nonzero(), MASK)
case("equal", lambda a, b: [torch.equal(a, b), torch.equal(a, a), a.allclose(a + 1e-9)], A, B)
case("isclose", lambda a, b: torch.isclose(a, b), A, B)
case("item", lambda a: [a[1, 2].item(), a.argmax().item(), bool((a > 0).any()), int(a[0, 0])], A)
case("tolist", lambda a: a.tolist(), A)

case("index", lambda a, i: a[i], A, ROWS)
case("index on the host", lambda a: a[torch.tensor([1, 0]), torch.tensor([2, 3])], A)
case("index mixed", lambda a, i: a[i, 1:4], A, ROWS)
case("index mask", lambda a, m: a[m], A, MASK)
case("index pair", lambda a, i: a[i, i + 1], A, ROWS)
case("index_select", lambda a, i: a.index_select(1, i), A, ROWS)
case("take", lambda a, i: a.take(i), A, ROWS)
case("take_along_dim", lambda a: a.take_along_dim(a.argsort(1), 1), A)
case("gather", lambda a, i: a.gather(1, i % 6), A, INTS)
case("scatter", lambda a, i, b: a.scatter_add(1, i % 6, b), A, INTS, B)
case("scatter number", lambda a, i: a.scatter(0, i % 4, 3.0), A, INTS)
case("scatter_reduce", lambda a, i, b: a.scatter_reduce(1, i % 6, b, "amax"), A, INTS, B)
case("index_add", lambda a, i, b: a.index_add(0, i, b[:3]), A, ROWS, B)
case("index_copy", lambda a, i, b: a.index_copy(0, i, b[:3]), A, ROWS, B)
case("index_fill", lambda a, i: a.index_fill(1, i, 7.0), A, ROWS)
case("index_put", lambda a, i, b: a.index_put((i,), b[:3], accumulate=True), A, ROWS, B)
case("slice_scatter", lambda a, b: a.slice_scatter(b[1:3], 0, 1, 3), A, B)
case("select_scatter", lambda a, r: a.select_scatter(r, 0, 2), A, ROW)
case("diagonal", lambda a: (a.diagonal(), torch.diag(a[0]), a.diag_embed()), A)
case("tril", lambda a: (a.tril(), a.triu(1), a.trace()), SQUARE)

case("cat", lambda a, b: torch.cat((a, b, a), 1), A, B)
case("stack", lambda a, b: torch.stack((a, b), 1), A, B)
case("split", lambda a: (a.split(2), a.chunk(3, 1), a.unbind(1), a.tensor_split(3, 1)), A)
case("stacks", lambda a, b: (torch.vstack((a, b)), torch.hstack((a, b)), torch.dstack((a, b))), A, B)
case("views", lambda a: (a.t(), a.reshape(3, 8), a.permute(1, 0), a[::2, 1::3], a[..., None], a.unfold(1, 3, 2)), A)
case("views of views", lambda a: a.t()[1:5].transpose(0, 1)[:, ::2].flatten(), A)
case("expand", lambda r: (r.expand(3, 6), r.repeat(2, 2), r.broadcast_to(2, 1, 6), r.tile(3)), ROW)
case("repeat_interleave", lambda r, i: (r.repeat_interleave(2), r[:3].repeat_interleave(i)), ROW, ROWS)
case("flip and roll", lambda a: (a.flip(0, 1), a.roll(2, 1), a.rot90(), a.fliplr()), A)
case("pad", lambda a: (F.pad(a, (1, 2)), F.pad(a[None], (1, 1), "reflect"), F.pad(a[None], (2, 1), "replicate")), A)
case("pad circular", lambda a: F.pad(a[None], (1, 2), mode="circular"), A)
case("contiguous", lambda b: b.contiguous(), B)
case("clone", lambda b: (b.clone(), b.clone(memory_format=torch.contiguous_format)), B)
case(
    "channels last",
    lambda x: (x.to(memory_format=torch.channels_last) * 2, x.contiguous(memory_format=torch.channels_last)),
    IMAGE,
)
case("movedim", lambda x: (x.movedim(1, 3), x.swapaxes(0, 2), x.squeeze(), x.unsqueeze(0), x.view_as(x)), IMAGE)
case("meshgrid", lambda r, i: torch.meshgrid(r, i.float(), indexing="ij"), ROW, ROWS)
case("cartesian", lambda i: (torch.cartesian_prod(i, i), torch.combinations(i)), ROWS)
case("casts", lambda a: (a.double(), a.half(), a.bfloat16(), a.int(), a.long(), a.bool(), a.to(torch.uint8).short()), P)
case("casts of strided", lambda b: (b.double(), b[::2].half(), b.to(torch.int32)), B)
case("view as type", lambda a: a.view(torch.int32), A)
case(
    "new and like",
    lambda a: (
        a.new_zeros(2),
        a.new_full((2,), 3.0),
        torch.ones_like(a.t()),
        torch.full_like(a, 2),
        torch.zeros_like(a, dtype=torch.int8),
    ),
    A,
)

case("mm", lambda a, b: a @ b.t(), A, B)
case("mv", lambda a, r: a @ r, A, ROW)
case("dot", lambda r: (r @ r, torch.outer(r, r), torch.vdot(r, r)), ROW)
case("bmm", lambda x: torch.bmm(x, x.transpose(1, 2)), BATCHED)
case("matmul", lambda x, a: (x @ a.t(), a @ x.transpose(1, 2)), BATCHED, A)
case("addmm", lambda s, a, b: torch.addmm(s[:4, :4], a, b.t(), beta=0.5, alpha=2), SQUARE, A, B)
case("baddbmm", lambda x: torch.baddbmm(x[:, :, :4], x, x.transpose(1, 2)), BATCHED)
case("einsum", lambda a, x: torch.einsum("ij,bkj->bik", a, x), A, BATCHED)
case("tensordot", lambda a, x: torch.tensordot(a, x, dims=([1], [2])), A, BATCHED)
case("chain", lambda a, b: torch.linalg.multi_dot((a, b.t(), a)), A, B)
case("kron", lambda a, s: torch.kron(a, s), A, SQUARE)
case("cdist", lambda a, b: torch.cdist(a, b), A, B)
case("cross", lambda i: torch.linalg.cross(i, i.roll(1)), spread(4, 3))
case("inverse", lambda s: (s.inverse(), torch.linalg.det(s), torch.linalg.slogdet(s)[1]), SQUARE)
case("solve", lambda s: torch.linalg.solve(s, s[:, :2]), SQUARE)
case("cholesky", lambda s: torch.linalg.cholesky(s @ s.t() + torch.eye(5, device=s.device)), SQUARE)
case("qr", lambda s: [t.abs() for t in torch.linalg.qr(s)], SQUARE)
case("singular values", lambda s: torch.linalg.svdvals(s), SQUARE)
case("eigenvalues", lambda s: torch.linalg.eigvalsh(s + s.t()), SQUARE)
case("lstsq", lambda s, r: torch.linalg.lstsq(s, s[:, :1]).solution, SQUARE, ROW)
case("norms", lambda a: (a.norm(), a.norm(p=1, dim=1), torch.linalg.vector_norm(a, 3), torch.linalg.matrix_norm(a)), A)
case("fft", lambda r: (torch.fft.rfft(r).abs(), torch.fft.irfft(torch.fft.rfft(r)), torch.fft.fftshift(r)), ROW)
case(
    "stft", lambda r: torch.stft(r.repeat(8), 8, window=torch.ones(8, device=r.device), return_complex=True).abs(), ROW
)
case("complex", lambda c: (c * c.conj(), c.abs(), c.angle(), c.real, c.imag, c @ c.t().conj()), COMPLEX)
case(
    "complex views",
    lambda c: (torch.view_as_real(c), c.conj().imag.clone(), c.mH.resolve_conj(), c.t().conj() + 1),
    COMPLEX,
)

case("linear", lambda a, b, r: F.linear(a, b, r[:4]), A, B, ROW)
case("bilinear", lambda a, b: F.bilinear(a, b, a.new_ones(2, 6, 6)), A, B)
case("conv1d", lambda x: F.conv1d(x, x.flip(1)[:, :, :3].contiguous(), padding=1), BATCHED)
case("conv2d", lambda x, w: F.conv2d(x, w, stride=2, padding=1), IMAGE, spread(4, 3, 3, 3))
case("conv2d bias", lambda x, w, r: F.conv2d(x, w, r[:6], dilation=2, groups=3), IMAGE, spread(6, 1, 3, 3), ROW)
case("conv3d", lambda x, w: F.conv3d(x, w), VOLUME, spread(3, 2, 2, 2, 2))
case("conv_transpose2d", lambda x, w: F.conv_transpose2d(x, w, stride=2), IMAGE, spread(3, 2, 3, 3))
case("max_pool", lambda x: (F.max_pool2d(x, 2), F.max_pool2d(x, 3, 1, 1, return_indices=True)), IMAGE)
case("avg_pool", lambda x: (F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, 3)), IMAGE)
case(
    "pools 1d and 3d", lambda a, v: (F.max_pool1d(a[None], 2), F.avg_pool1d(a[None], 3), F.max_pool3d(v, 2)), A, VOLUME
)
case("adaptive_max_pool", lambda x: F.adaptive_max_pool2d(x, 3), IMAGE)
case(
    "interpolate",
    lambda x: (
        F.interpolate(x, scale_factor=2),
        F.interpolate(x, 5, mode="bilinear"),
        F.interpolate(x, 4, mode="area"),
    ),
    IMAGE,
)
case("bicubic", lambda x: F.interpolate(x, 12, mode="bicubic", align_corners=True), IMAGE)
case("grid_sample", lambda x, g: F.grid_sample(x, g, align_corners=False), IMAGE, spread(2, 4, 4, 2, low=-1, high=1))
case("pixel_shuffle", lambda x: F.pixel_shuffle(x[:, :1].repeat(1, 4, 1, 1), 2), IMAGE)
case("unfold", lambda x: F.fold(F.unfold(x, 3), (8, 8), 3), IMAGE)
case("layer_norm", lambda a, r: F.layer_norm(a, (6,), r, r), A, ROW)
case("group_norm", lambda x: F.group_norm(x.repeat(1, 2, 1, 1), 3), IMAGE)
case("instance_norm", lambda x: F.instance_norm(x), IMAGE)
case("rms_norm", lambda a, r: F.rms_norm(a, (6,), r), A, ROW)
case("batch_norm", lambda x, r: F.batch_norm(x, None, None, r[:3], r[3:], training=True), IMAGE, ROW)
case("batch_norm eval", lambda x, r: F.batch_norm(x, r[:3], r[3:].abs(), training=False), IMAGE, ROW, constant=True)
case("normalize", lambda a: (F.normalize(a), F.cosine_similarity(a, a.flip(0))), A)
case("embedding", lambda a, i: F.embedding(i % 4, a, padding_idx=1), A, INTS)
case("embedding_bag", lambda a, i: F.embedding_bag(i % 4, a, mode="mean"), A, INTS)
case("one_hot", lambda i: F.one_hot(i), INTS)
case("softmax", lambda a: (a.softmax(1), a.log_softmax(0), F.softmin(a, 1)), A)
ACTIVATIONS = """
celu elu gelu glu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 selu silu softplus
softshrink softsign tanhshrink
"""
for _name in ACTIVATIONS.split():
    case(_name, getattr(F, _name), A)
case("gelu tanh", lambda a: F.gelu(a, approximate="tanh"), A)
case("prelu", lambda a, r: F.prelu(a, r[:1]), A, ROW)
case("threshold", lambda a: F.threshold(a, 0.1, 20), A)
case(
    "cross_entropy",
    lambda a, t: (F.cross_entropy(a, t), F.cross_entropy(a, t, reduction="none", label_smoothing=0.1)),
    A,
    LABELS,
)
case("nll_loss", lambda a, t, p: F.nll_loss(a.log_softmax(1), t, weight=p[0]), A, LABELS, P, constant=True)
case("nll_loss2d", lambda x: F.cross_entropy(x, x.argmax(1).flip(0)), IMAGE)
case("mse and l1", lambda a, b: (F.mse_loss(a, b), F.l1_loss(a, b), F.smooth_l1_loss(a, b), F.huber_loss(a, b)), A, B)
case(
    "bce",
    lambda a, m: (F.binary_cross_entropy(a.sigmoid(), m.float()), F.binary_cross_entropy_with_logits(a, m.float())),
    A,
    MASK,
)
case("kl_div", lambda a, b: F.kl_div(a.log_softmax(1), b.softmax(1), reduction="batchmean"), A, B)
case(
    "margin losses",
    lambda a, t: (
        F.multi_margin_loss(a, t),
        F.hinge_embedding_loss(a, a.sign()),
        F.soft_margin_loss(a, a.sign().detach()),
    ),
    A,
    LABELS,
)
case("triplet", lambda a, b: F.triplet_margin_loss(a, b, a.flip(0)), A, B)
case(
    "ctc_loss",
    lambda x: F.ctc_loss(
        x.permute(2, 0, 1).log_softmax(2), torch.tensor([[1, 2], [2, 1]], device=x.device), (6, 6), (2, 2)
    ),
    BATCHED,
)
case("attention", lambda x: F.scaled_dot_product_attention(x, x.flip(1), x * 0.5), BATCHED)
case("attention causal", lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True), BATCHED)
case(
    "attention mask",
    lambda x: F.scaled_dot_product_attention(
        x, x, x, attn_mask=torch.ones(4, 4, dtype=torch.bool, device=x.device).tril()
    ),
    BATCHED,
)
case("half", lambda h: (h + h, h * 2, h.sum(), h @ h.t(), h.softmax(1)), HALF)
case("bfloat16", lambda h: (h + h, h * 2, h.mean(1), h @ h.t(), F.gelu(h)), BRAIN)
case("double", lambda a: (a + a, a.exp(), a @ a.t()), A.double())
case("integers", lambda i: (i * i, i // 3, i % 4, i.sum(), i.cumsum(1), i.max(1), -i), INTS)
case("small integers", lambda i: (i + i, i.sum(), i > 3), INTS.to(torch.int8))
case("bools", lambda m: (m & ~m, m | m.flip(0), m.sum(), m.any(1), m.all(), m ^ m), MASK)
case(
    "zero size",
    lambda e: (e + 1, e.sum(0), e @ e.t(), torch.cat((e, e)), e.softmax(1), e.t().contiguous(), e.clone()),
    EMPTY,
)
case("zero size reduction", lambda e: (e.sum(), e.prod(1), e.mean()), EMPTY)
case("no dimensions", lambda a: (a.sum() * 2, a[0, 0] + a[1, 1], a[0, 0].reshape(1), a.max().exp()), A)
case("large", lambda r: (r.expand(20000, 6).contiguous().sum(0), r.repeat(5000).sort()[0], r.repeat(40000) + 1), ROW)
case("lists", lambda a, b: torch._foreach_add(torch._foreach_mul([a, b], 2.0), [b, a], alpha=0.5), A, B)
case("list norms", lambda a, b: torch._foreach_norm([a, b]), A, B)


def moved(value, device):
    return value.detach().to(device) if isinstance(value, torch.Tensor) else value


def leaves(result):
    if isinstance(result, (list, tuple)):
        for part in result:
            yield from leaves(part)
    else:
        yield result


def compare(expected, found, what):
    if not isinstance(expected, torch.Tensor):
        assert expected == found, what
        return
    assert found.device == NPU, what
    assert found.dtype == expected.dtype, what
    assert found.shape == expected.shape, what
    rough = expected.dtype in (torch.half, torch.bfloat16)
    limits = {"rtol": 2e-2, "atol": 2e-2} if rough else {"rtol": 1e-4, "atol": 1e-5}
    torch.testing.assert_close(found.detach().cpu(), expected.detach(), equal_nan=True, **limits, msg=what)


@pytest.mark.parametrize("name", CASES)
def test_equals_cpu(name):
    function, arguments, with_gradients = CASES[name]
    runs = []
    for device in (torch.device("cpu"), NPU):
        given = [moved(argument, device) for argument in arguments]
        for argument in given:
            if with_gradients and argument.is_floating_point() and argument.dim():
                argument.requires_grad_()
        runs.append((given, list(leaves(function(*given)))))
    (given, expected), (given_npu, found) = runs
    assert len(expected) == len(found)
    for index, (one, other) in enumerate(zip(expected, found)):
        compare(one, other, f"result {index}")
    compare_gradients(given, expected, given_npu, found)


def compare_gradients(given, expected, given_npu, found):
    def differentiable(results):
        return [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]

    outputs, outputs_npu = differentiable(expected), differentiable(found)
    assert len(outputs) == len(outputs_npu)
    inputs = [g for g in given if g.requires_grad]
    inputs_npu = [g for g in given_npu if g.requires_grad]
    if not outputs or not inputs:
        return
    weights = [spread(*o.shape).to(o.dtype) if o.dim() else torch.ones((), dtype=o.dtype) for o in outputs]
    gradients = torch.autograd.grad(outputs, inputs, weights, allow_unused=True)
    gradients_npu = torch.autograd.grad(outputs_npu, inputs_npu, [w.to(NPU) for w in weights], allow_unused=True)
    for index, (one, other) in enumerate(zip(gradients, gradients_npu)):
        assert (one is None) == (other is None)
        if one is not None:
            compare(one, other, f"gradient {index}")


def test_the_wheel_s_own_reshape():
    x = torch.arange(6.0, device="npu:0")
    out = torch.empty(2, 3, device="npu:0")
    assert torch.ops.npu.npu_reshape(x, [2, 3], out=out) is out
    for found in (out, torch.ops.npu.npu_reshape(x, [2, 3])):
        assert found.tolist() == [[0, 1, 2], [3, 4, 5]]
