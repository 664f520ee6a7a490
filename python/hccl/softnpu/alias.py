"""Views an npu tensor as a CPU tensor at the same address, and makes npu tensors out of CPU results.

The trick that makes a view cheap: one CPU storage that claims to span the whole user address space. Any
tensor is then an `as_strided` of it, with its own address as the offset, which is one call into PyTorch and
allocates nothing but the tensor object. The storage has no deleter, so nothing is ever freed through it.
A welcome side effect is that PyTorch's overlap checks work, since they compare address ranges inside one
storage.

Invariants:
- A view never leaves the kernel that made it: the caching allocator may hand its memory out again as soon
  as the npu tensor dies.
- A view is never resized. The storage is "large enough" for any size, so PyTorch would not notice that it
  writes past the end. Kernels that may resize an argument get a fresh tensor instead (see `kernels`).
"""

import ctypes
import threading

import torch
import torch_npu

from hccl.softnpu import libraries

# Not 0, because PyTorch takes a null pointer for memory that does not exist. A multiple of every item size.
ORIGIN = 4096
# User addresses have at most 48 bits on AArch64 and 47 on x86-64.
SPAN = 1 << 48

# Below this many bytes one call of memmove is cheaper than making a view of the result and copying into it;
# above, PyTorch's copy wins since it uses several threads.
MEMMOVE_BYTES_MAX = 1 << 16

_storage = torch._C._construct_storage_from_data_pointer(ORIGIN, torch.device("cpu"), SPAN)


def _bases(*dtypes):
    """dtype -> (a tensor of that dtype over the storage, log2 of the item size, mask of a misaligned address)"""
    table = {}
    for dtype in dtypes:
        base = torch.empty(0, dtype=dtype, device="cpu").set_(_storage, 0, (0,), (1,))
        table[dtype] = (base, base.element_size().bit_length() - 1, base.element_size() - 1)
    return table


_names = (
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
    "float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz float8_e8m0fnu"
)
_plain = _bases(*(getattr(torch, name) for name in _names.split() if hasattr(torch, name)))
# Complex tensors may carry a pending conjugation, which the view has to carry as well. Filled when asked
# for, because making a complex32 tensor prints a warning.
_complex = {}

DEVICES = [torch.device("npu", index) for index in range(torch.npu.device_count())]

_TENSORS = frozenset((torch.Tensor, torch.nn.Parameter))
_empty = torch.empty
_empty_strided = torch.empty_strided
_memmove = ctypes.memmove


class _Always:
    """Stands in for the counter when the wheel's own queue may hold work that the counter does not see."""

    value = 1


pending = libraries.pending() if libraries.queue_is_off else _Always

_current_stream = torch_npu._C._npu_getCurrentStream
_streams = threading.local()


def settle(device):
    """Waits for the work queued on the current stream of that device. Call when `pending.value` is not 0."""
    key = _current_stream(device)
    try:
        stream = _streams.known[key]
    except (AttributeError, KeyError):
        # A stream object costs ten times as much to make as to wait for; ids of streams are never reused.
        known = _streams.__dict__.setdefault("known", {})
        stream = known[key] = torch.npu.Stream(stream_id=key[0], device_index=key[1], device_type=key[2])
    stream.synchronize()


def view(tensor, device):
    """The view of an argument, which is on that device, or is a single number in host memory."""
    if type(tensor) not in _TENSORS:
        # PyTorch hands over the second operand of `x + 1`, a tensor by then, as the number that it was.
        if not isinstance(tensor, torch.Tensor):
            return tensor
    if tensor.get_device() != device:
        return _elsewhere(tensor, device)
    try:
        base, shift, mask = _plain[tensor.dtype]
    except KeyError:
        return _unusual(tensor)
    address = tensor.data_ptr()
    if not address or address & mask:
        return _unusual(tensor)
    return base.as_strided(tensor.size(), tensor.stride(), (address - ORIGIN) >> shift)


def view_or_host(tensor, device):
    """As `view`, for the few arguments that may stay in host memory whatever their size."""
    return tensor if getattr(tensor, "is_cpu", True) else view(tensor, device)


def written_view(tensor, device):
    """As `view`, for an argument that the operator writes: a CPU tensor is an error even when it is one number."""
    if tensor.get_device() != device:
        _refuse(tensor, device)
    return view(tensor, device)


def device_of(*arguments):
    """The index of the first npu tensor in arguments that may be tensors, lists of tensors, or None."""
    for argument in arguments:
        if argument is None:
            continue
        for tensor in argument if isinstance(argument, (list, tuple)) else (argument,):
            if isinstance(tensor, torch.Tensor) and not tensor.is_cpu:
                return tensor.get_device()
    return torch_npu._C._npu_getDevice()


def fresh(result, device):
    """An npu tensor with the value of a CPU result; None (an undefined tensor) stays None."""
    if result is None:
        return None
    dtype = result.dtype
    if not result.is_contiguous():
        return _fresh_strided(result, device)
    made = _empty(result.size(), dtype=dtype, device=DEVICES[device])
    size = result.nbytes
    if size <= MEMMOVE_BYTES_MAX and dtype in _plain:
        if size:
            _memmove(made.data_ptr(), result.data_ptr(), size)
    else:
        view(made, device).copy_(result)
    return made


def _fresh_strided(result, device):
    stride = result.stride()
    if torch._debug_has_internal_overlap(result) != 0:
        # Elements (may) share memory, which is nothing that a result has to preserve.
        result = result.contiguous()
        stride = result.stride()
    made = _empty_strided(result.size(), stride, dtype=result.dtype, device=DEVICES[device])
    view(made, device).copy_(result)
    return made


def _elsewhere(tensor, device):
    if tensor.is_cpu and tensor.dim() == 0:
        return tensor
    _refuse(tensor, device)


def _refuse(tensor, device):
    raise RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"npu:{device} and {tensor.device}!"
    )


def _unusual(tensor):
    """Views that the fast path does not make: complex, without memory, at an odd address."""
    dtype = tensor.dtype
    if dtype.is_complex and dtype not in _complex:
        _complex.update(_bases(dtype))
    entry = _plain.get(dtype) or _complex.get(dtype)
    if entry is None:
        raise NotImplementedError(f"the software NPU has no tensors of type {dtype}")
    base, shift, mask = entry
    address = tensor.data_ptr()
    if not address:
        return torch.empty_strided(tensor.size(), tensor.stride(), dtype=dtype, device="cpu")
    if address & mask:
        raise RuntimeError(f"a tensor of type {dtype} at address {address:#x} is not aligned to its item size")
    made = base.as_strided(tensor.size(), tensor.stride(), (address - ORIGIN) >> shift)
    return torch._conj(made) if dtype.is_complex and tensor.is_conj() else made
