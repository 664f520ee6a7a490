"""Random numbers: a CPU generator that stands in for an npu generator.

The state lives in the npu generator alone, as the pair (seed, offset) that the wheel saves, restores and
seeds. Every operator that draws numbers seeds a CPU generator from the pair and moves the offset on. So
`torch.manual_seed` and `torch.npu.manual_seed` make runs repeatable, and `torch.npu.get_rng_state` with
`set_rng_state` (which activation checkpointing relies on) brings the same numbers back.

The first draw after a seed equals the CPU's first draw after the same seed; later draws differ, as they do
between any two kinds of device.
"""

import contextlib
import threading

import torch

# The wheel accepts only multiples of four as offsets.
STEP = 4
# 2^64 divided by the golden ratio, odd: spreads consecutive offsets over the whole seed space.
SPREAD = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1

_local = threading.local()
# Serializes the borrowing of the process-wide CPU generator below.
_lock = threading.RLock()


def stand_in(generator, device):
    """A CPU generator, valid until this thread asks for the next one, in place of `generator` or None."""
    if generator is not None and generator.device.type == "cpu":
        raise RuntimeError(f"Expected a 'npu:{device}' device type for generator but found 'cpu'")
    try:
        made = _local.generator
    except AttributeError:
        made = _local.generator = torch.Generator(device="cpu")
    made.manual_seed(_draw(generator, device))
    return made


@contextlib.contextmanager
def borrowed_default(device):
    """For kernels that take no generator: the CPU's default generator draws in our name, then is put back."""
    with _lock:
        default = torch.default_generator
        saved = default.get_state()
        default.manual_seed(_draw(None, device))
        try:
            yield
        finally:
            default.set_state(saved)


def _draw(generator, device):
    if generator is None:
        if not torch.npu.default_generators:
            torch.npu.init()
        generator = torch.npu.default_generators[device]
    seed, offset = generator.initial_seed(), generator.get_offset()
    generator.set_offset(offset + STEP)
    return (seed + (offset // STEP) * SPREAD) & MASK
