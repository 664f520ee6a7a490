"""Says what to use instead where `torch.compile` would write kernels for an NPU.

PyTorch's default backend generates programs for the compiler of the device; the wheel brings the part of it that
writes for Ascend's. The software NPU runs no device programs, and what the wheel's part says then ("0 active
drivers") helps nobody. The wheel prepares that part for every graph, even for one of CPU tensors, which PyTorch can
compile well without it.
"""

import torch

INSTEAD = (
    "torch.compile: the default backend, inductor, generates programs for an NPU, and the software NPU runs none; "
    'use torch.compile(..., backend="aot_eager") or backend="eager", which run operator by operator'
)


def refuse():
    """Call once, after the wheel has been imported."""
    wrapper = getattr(torch, "_TorchCompileInductorWrapper", None)
    try:
        from torch_npu.utils._dynamo import disable_register_inductor_npu
    except ImportError:
        return
    if wrapper is None:
        return
    disable_register_inductor_npu()
    compile_graph = wrapper.__call__

    def compile_unless_on_npu(self, graph, inputs):
        if _reaches_npu(graph, inputs):
            raise RuntimeError(INSTEAD)
        # Inductor loads this by itself only as long as no other device has registered with it, which the wheel has.
        import torch._inductor.codegen.cpu_device_op_overrides  # noqa: F401

        return compile_graph(self, graph, inputs)

    wrapper.__call__ = compile_unless_on_npu


def _reaches_npu(graph, inputs):
    values = list(inputs)
    for node in getattr(getattr(graph, "graph", None), "nodes", ()):
        # What dynamo saw a node give: shows tensors that the graph itself makes.
        values.append(node.meta.get("example_value"))
    return any(isinstance(value, torch.Tensor) and value.device.type == "npu" for value in _flat(values))


def _flat(values):
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value
