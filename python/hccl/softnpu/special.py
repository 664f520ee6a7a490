"""Kernels written by hand: copies, and operators that PyTorch has for devices but not for the CPU.

`aten` maps a name to a kernel for npu tensors; `npu` does so for operators that the wheel defines.
"""

import torch
import torch._prims_common

from hccl.softnpu.alias import device_of, fresh, pending, settle, view

aten = {}
npu = {}


def _kernel(table, *names):
    def register(function):
        for name in names:
            table[name] = function
        return function

    return register


def _any_view(tensor):
    return tensor if tensor.is_cpu else view(tensor, tensor.get_device())


def _wait_for(tensor):
    if pending.value and not tensor.is_cpu:
        settle(tensor.get_device())


@_kernel(aten, "copy_")
def copy_(self, source, non_blocking=False):
    # A copy that need not block is done at once all the same. Between two devices both have to be done with
    # the memory.
    _wait_for(self)
    _wait_for(source)
    target, origin = _any_view(self), _any_view(source)
    if target.is_complex() or origin.is_complex() or self.is_neg() or source.is_neg():
        _copy_with_bits(target, self, origin, source)
    else:
        target.copy_(origin)
    return self


def _copy_with_bits(target, self, origin, source):
    # Views carry a pending conjugation; a pending negation appears only here, where no fallback removes it.
    if source.is_neg() and not source.is_cpu:
        origin = torch._neg_view(origin)
    if self.is_neg() and not self.is_cpu:
        target = torch._neg_view(target)
    target.copy_(origin)


_PLAIN_FORMATS = (None, torch.preserve_format, torch.contiguous_format)
_COMPOSED = torch._C.DispatchKey.CompositeExplicitAutograd
_composed_to_copy = torch.ops.aten._to_copy.default._op_dk
_composed_empty_like = torch.ops.aten.empty_like.default._op_dk


def _formatted(size, memory_format, dtype, device):
    """Memory in one of the two formats that the wheel's own `empty` refuses."""
    stride = torch._prims_common.make_channels_last_strides_for(size)
    return torch.empty_strided(size, stride, dtype=dtype, device=device)


@_kernel(aten, "empty_like")
def empty_like(self, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    if layout in (None, torch.strided) and not pin_memory:
        dtype, device = dtype or self.dtype, device or self.device
        if memory_format in _PLAIN_FORMATS and self.is_contiguous():
            return torch.empty(self.size(), dtype=dtype, device=device)
        if memory_format not in _PLAIN_FORMATS:
            return _formatted(self.size(), memory_format, dtype, device)
    return _composed_empty_like(
        _COMPOSED, self, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory, memory_format=memory_format
    )


@_kernel(aten, "_to_copy")
def to_copy(
    self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None
):
    if layout in (None, torch.strided) and not pin_memory:
        kind, where = dtype or self.dtype, device or self.device
        # A non-blocking copy to the host goes to pinned memory, which PyTorch's own kernel sees to.
        if where.type != "cpu" or not non_blocking:
            if memory_format in _PLAIN_FORMATS and self.is_contiguous():
                return copy_(torch.empty(self.size(), dtype=kind, device=where), self)
            if memory_format not in _PLAIN_FORMATS:
                return copy_(_formatted(self.size(), memory_format, kind, where), self)
    return _composed_to_copy(
        _COMPOSED,
        self,
        dtype=dtype,
        layout=layout,
        device=device,
        pin_memory=pin_memory,
        non_blocking=non_blocking,
        memory_format=memory_format,
    )


@_kernel(aten, "zeros")
def zeros(size, *, dtype=None, layout=None, device=None, pin_memory=None):
    made = torch.empty(size, dtype=dtype, device=device)
    if pending.value:
        settle(made.get_device())
    view(made, made.get_device()).zero_()
    return made


@_kernel(aten, "ones")
def ones(size, *, dtype=None, layout=None, device=None, pin_memory=None):
    made = torch.empty(size, dtype=dtype, device=device)
    if pending.value:
        settle(made.get_device())
    view(made, made.get_device()).fill_(1)
    return made


@_kernel(aten, "_copy_from")
def copy_from(self, target, non_blocking=False):
    return copy_(target, self, non_blocking)


@_kernel(aten, "clone", "_lazy_clone")
def clone(self, *, memory_format=None):
    return copy_(empty_like(self, memory_format=memory_format), self)


@_kernel(aten, "addbmm_")
def addbmm_(self, batch1, batch2, *, beta=1, alpha=1):
    # The one in-place operator whose CPU kernel may resize its argument, which must never happen to a view.
    result = torch.addbmm(self, batch1, batch2, beta=beta, alpha=alpha)
    if result.size() != self.size():
        self.resize_(result.size())
    return copy_(self, result)


@_kernel(aten, "native_dropout")
def native_dropout(input, p, train):
    device = input.get_device()
    if train is False or p == 0:
        return clone(input), torch.ones_like(input, dtype=torch.bool)
    mask = torch.empty_like(input, dtype=torch.bool).bernoulli_(1 - p)
    if pending.value:
        settle(device)
    keep = 1 / (1 - p) if p < 1 else 0.0
    return fresh(view(input, device) * view(mask, device) * keep, device), mask


@_kernel(npu, "npu_format_cast", "npu_format_cast.Tensor", "_npu_format_cast", "_npu_format_cast.input_dtype")
def format_cast(input, *_, **__):
    # Only the base format exists: every private layout of the hardware is a matter of speed, not of value.
    return input.view(input.size())


@_kernel(npu, "npu_format_cast_", "npu_format_cast_.acl_format")
def format_cast_(input, source=None, *_, **__):
    if isinstance(source, torch.Tensor):
        copy_(input, source)
    return input


@_kernel(npu, "npu_dtype_cast", "_npu_dtype_cast", "npu_dtype_cast_backward", "_npu_dtype_cast_backward")
def dtype_cast(input, dtype, *_):
    return input.to(dtype)


@_kernel(npu, "npu_dtype_cast_")
def dtype_cast_(input, source):
    return copy_(input, source)


@_kernel(npu, "one_")
def one_(self):
    return self.fill_(1)


@_kernel(npu, "npu_alloc_float_status")
def alloc_float_status(self):
    return torch.zeros(8, dtype=torch.float32, device=self.device)


@_kernel(npu, "npu_get_float_status", "npu_clear_float_status")
def float_status(self, *_):
    # There is no overflow register; infinities and NaN stay in the numbers and are found there.
    return torch.zeros(8, dtype=torch.float32, device=self.device)


# Recurrent cells. PyTorch's CPU path builds them from elementwise operators, but takes the fused ones below
# for any other device.


def _gates(input_gates, hidden_gates, input_bias, hidden_bias, device):
    if pending.value:
        settle(device)
    x, h = view(input_gates, device), view(hidden_gates, device)
    if input_bias is not None:
        x = x + view(input_bias, device)
    if hidden_bias is not None:
        h = h + view(hidden_bias, device)
    return x, h


@_kernel(aten, "_thnn_fused_lstm_cell")
def lstm_cell(input_gates, hidden_gates, cx, input_bias=None, hidden_bias=None):
    device = device_of(input_gates, hidden_gates, cx)
    x, h = _gates(input_gates, hidden_gates, input_bias, hidden_bias, device)
    i, f, g, o = (x + h).chunk(4, dim=1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * view(cx, device) + i * g
    hy = o * cy.tanh()
    return fresh(hy, device), fresh(cy, device), fresh(torch.cat((i, f, g, o), 1), device)


@_kernel(aten, "_thnn_fused_lstm_cell_backward_impl")
def lstm_cell_backward(grad_hy, grad_cy, cx, cy, workspace, has_bias):
    if grad_hy is None and grad_cy is None:
        return None, None, None
    device = device_of(cx, cy, workspace)
    if pending.value:
        settle(device)
    i, f, g, o = view(workspace, device).chunk(4, dim=1)
    squashed = view(cy, device).tanh()
    dc = torch.zeros_like(squashed) if grad_cy is None else view(grad_cy, device)
    do = torch.zeros_like(squashed)
    if grad_hy is not None:
        dh = view(grad_hy, device)
        dc = dc + dh * o * (1 - squashed * squashed)
        do = dh * squashed * o * (1 - o)
    gates = torch.cat(
        (dc * g * i * (1 - i), dc * view(cx, device) * f * (1 - f), dc * i * (1 - g * g), do), 1
    )
    bias = fresh(gates.sum(0), device) if has_bias else None
    return fresh(gates, device), fresh(dc * f, device), bias


@_kernel(aten, "_thnn_fused_gru_cell")
def gru_cell(input_gates, hidden_gates, hx, input_bias=None, hidden_bias=None):
    device = device_of(input_gates, hidden_gates, hx)
    x, h = _gates(input_gates, hidden_gates, input_bias, hidden_bias, device)
    (xr, xz, xn), (hr, hz, hn) = x.chunk(3, dim=1), h.chunk(3, dim=1)
    before = view(hx, device)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    workspace = torch.cat((r, z, n, before, hn), 1)
    return fresh(n + z * (before - n), device), fresh(workspace, device)


@_kernel(aten, "_thnn_fused_gru_cell_backward")
def gru_cell_backward(grad_hy, workspace, has_bias):
    device = device_of(grad_hy, workspace)
    if pending.value:
        settle(device)
    dh = view(grad_hy, device)
    r, z, n, before, hn = view(workspace, device).chunk(5, dim=1)
    dz = dh * (before - n) * z * (1 - z)
    dn = dh * (1 - z) * (1 - n * n)
    dr = dn * hn * r * (1 - r)
    of_input, of_hidden = torch.cat((dr, dz, dn), 1), torch.cat((dr, dz, dn * r), 1)
    biases = (of_input.sum(0), of_hidden.sum(0)) if has_bias else (None, None)
    return tuple(fresh(t, device) for t in (of_input, of_hidden, dh * z, *biases))
