"""Kernels written by hand in Python, in terms of other operators on npu tensors: rare ones, where an operator more or
less costs nothing. Frequent ones are compiled (`hccl/native/operators/copies.cpp`).

`aten` maps a name to a kernel for npu tensors; `npu` does so for operators that the wheel defines.
"""

import torch

aten = {}
npu = {}


def _kernel(table, *names):
    def register(function):
        for name in names:
            table[name] = function
        return function

    return register


@_kernel(aten, "addbmm_")
def addbmm_(self, batch1, batch2, *, beta=1, alpha=1):
    # The one in-place operator whose CPU kernel may resize its argument, which must never happen to a view.
    result = torch.addbmm(self, batch1, batch2, beta=beta, alpha=alpha)
    if result.size() != self.size():
        self.resize_(result.size())
    return self.copy_(result)


@_kernel(npu, "npu_format_cast", "npu_format_cast.Tensor", "_npu_format_cast", "_npu_format_cast.input_dtype")
def format_cast(input, *_, **__):
    # Only the base format exists: every private layout of the hardware is a matter of speed, not of value.
    return input.view(input.size())


@_kernel(npu, "npu_format_cast_", "npu_format_cast_.acl_format")
def format_cast_(input, source=None, *_, **__):
    if isinstance(source, torch.Tensor):
        input.copy_(source)
    return input


@_kernel(npu, "npu_dtype_cast", "_npu_dtype_cast", "npu_dtype_cast_backward", "_npu_dtype_cast_backward")
def dtype_cast(input, dtype, *_):
    return input.to(dtype)


@_kernel(npu, "npu_dtype_cast_")
def dtype_cast_(input, source):
    return input.copy_(source)


@_kernel(npu, "npu_reshape")
def reshape(input, shape, can_refresh=False):
    return input.reshape(shape).clone()


@_kernel(npu, "npu_reshape.out")
def reshape_out(input, shape, can_refresh=False, *, out):
    # The wheel pads what it gathers with it.
    return out.resize_(shape).copy_(input.reshape(shape))


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


def _with_biases(input_gates, hidden_gates, input_bias, hidden_bias):
    x = input_gates if input_bias is None else input_gates + input_bias
    h = hidden_gates if hidden_bias is None else hidden_gates + hidden_bias
    return x, h


@_kernel(aten, "_thnn_fused_lstm_cell")
def lstm_cell(input_gates, hidden_gates, cx, input_bias=None, hidden_bias=None):
    x, h = _with_biases(input_gates, hidden_gates, input_bias, hidden_bias)
    i, f, g, o = (x + h).chunk(4, dim=1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return o * cy.tanh(), cy, torch.cat((i, f, g, o), 1)


@_kernel(aten, "_thnn_fused_lstm_cell_backward_impl")
def lstm_cell_backward(grad_hy, grad_cy, cx, cy, workspace, has_bias):
    if grad_hy is None and grad_cy is None:
        return None, None, None
    i, f, g, o = workspace.chunk(4, dim=1)
    squashed = cy.tanh()
    dc = torch.zeros_like(squashed) if grad_cy is None else grad_cy
    do = torch.zeros_like(squashed)
    if grad_hy is not None:
        dc = dc + grad_hy * o * (1 - squashed * squashed)
        do = grad_hy * squashed * o * (1 - o)
    gates = torch.cat((dc * g * i * (1 - i), dc * cx * f * (1 - f), dc * i * (1 - g * g), do), 1)
    return gates, dc * f, gates.sum(0) if has_bias else None


@_kernel(aten, "_thnn_fused_gru_cell")
def gru_cell(input_gates, hidden_gates, hx, input_bias=None, hidden_bias=None):
    x, h = _with_biases(input_gates, hidden_gates, input_bias, hidden_bias)
    (xr, xz, xn), (hr, hz, hn) = x.chunk(3, dim=1), h.chunk(3, dim=1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    return n + z * (hx - n), torch.cat((r, z, n, hx, hn), 1)


@_kernel(aten, "_thnn_fused_gru_cell_backward")
def gru_cell_backward(grad_hy, workspace, has_bias):
    r, z, n, before, hn = workspace.chunk(5, dim=1)
    dz = grad_hy * (before - n) * z * (1 - z)
    dn = grad_hy * (1 - z) * (1 - n * n)
    dr = dn * hn * r * (1 - r)
    of_input, of_hidden = torch.cat((dr, dz, dn), 1), torch.cat((dr, dz, dn * r), 1)
    biases = (of_input.sum(0), of_hidden.sum(0)) if has_bias else (None, None)
    return of_input, of_hidden, grad_hy * z, *biases
