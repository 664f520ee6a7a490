"""Puts our kernels in the place of the wheel's. Runs once, right after the wheel has been imported.

Three dispatch keys matter. `PrivateUse1` is the NPU's numbers. `AutogradPrivateUse1` is its derivatives: the
wheel replaces PyTorch's there for some operators, by ones that need operators the CPU lacks, so PyTorch's
are put back. Operators that PyTorch composes of others get that composition back under both keys.
"""

import torch

from hccl.softnpu import catalog

_KEY = torch._C.DispatchKey
_NPU, _AUTOGRAD_NPU = "PrivateUse1", "AutogradPrivateUse1"

# The registrations live as long as these objects.
_libraries = {}
# treatment -> names; for reports and tests.
treated = {}


def register():
    if _libraries:
        return
    for namespace in ("aten", "npu"):
        _libraries[namespace] = torch._C._dispatch_library("IMPL", namespace, "", __file__, 0)
    _Registry().run()


class _Registry:
    def __init__(self):
        names = torch._C._dispatch_get_registrations_for_dispatch_key
        self.cpu = set(names("CPU"))
        self.composite = set(names("CompositeExplicitAutograd"))
        self.functional = set(names("CompositeExplicitAutogradNonFunctional"))
        self.implicit = set(names("CompositeImplicitAutograd"))
        self.npu = set(names(_NPU))
        self.autograd_npu = set(names(_AUTOGRAD_NPU))
        self.schemas = {}
        for schema in torch._C._jit_get_all_schemas():
            if schema.name.startswith(("aten::", "npu::")):
                full = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
                self.schemas[full] = schema

    def run(self):
        from hccl.softnpu import special

        wanted = self.npu | self.cpu | self.composite
        wanted.update(f"aten::{name}" for name in special.aten)
        for full in wanted:
            namespace, _, name = full.partition("::")
            if full not in self.schemas or namespace not in _libraries:
                continue
            by_hand = special.aten.get(name) or special.npu.get(name)
            if by_hand is not None:
                self.put(full, _NPU, by_hand, "special")
            elif namespace == "aten":
                self.treat(full, name)
            elif name not in catalog.KEEP_OF_WHEEL:
                self.refuse(full)
        for full in self.autograd_npu:
            if full in self.schemas and full.startswith("aten::") and full not in self.implicit:
                if full in self.cpu or full in self.composite or full[6:] in special.aten:
                    self.put(full, _AUTOGRAD_NPU, _through(full, _KEY.Autograd), "autograd")
        contiguous = _contiguous(_through("aten::contiguous", _KEY.CompositeImplicitAutograd))
        for key in (_NPU, _AUTOGRAD_NPU):
            self.put("aten::contiguous", key, contiguous, "special")

    def treat(self, full, name):
        schema = self.schemas[full]
        theirs = full in self.npu
        if name in catalog.KEEP or catalog.IGNORE.search(name):
            return
        if full in self.implicit and full not in self.cpu:
            if theirs and name != "contiguous":
                again = _through(full, _KEY.CompositeImplicitAutograd)
                self.put(full, _NPU, again, "implicit")
                self.put(full, _AUTOGRAD_NPU, again, "implicit")
            return
        if full in self.implicit and not theirs:
            return
        if catalog.OTHER_LAYOUT.search(name):
            if theirs or full in self.cpu:
                self.refuse(full, "sparse, nested and quantized tensors do not exist here")
        elif name in catalog.RECOMPOSE and full in self.composite | self.functional:
            self.put(full, _NPU, _through(full, self.key_of(full)), "recompose")
        elif catalog.is_view(schema):
            if full in self.cpu and not theirs:
                self.put(full, _NPU, _through(full, _KEY.CPU), "view")
        elif full not in self.cpu and not theirs:
            if catalog.is_whole(name, schema, set(_overload(full)[1])):
                self.put(full, _NPU, _lazy(name, full, schema, self.key_of(full)), "whole")
        elif full in self.cpu or full in self.composite or full in self.functional:
            self.put(full, _NPU, _lazy(name, full, schema, self.key_of(full)), "kernel")
        elif name not in catalog.KEEP_OF_WHEEL:
            self.refuse(full)

    def key_of(self, full):
        """The key of the kernel that serves CPU tensors. It must be named exactly: PyTorch's call by key does
        not go through the aliases, and crashes for a key that the operator has no registration for."""
        if full in self.cpu:
            return _KEY.CPU
        if full in self.composite:
            return _KEY.CompositeExplicitAutograd
        return _KEY.CompositeExplicitAutogradNonFunctional

    def refuse(self, full, why="PyTorch has no CPU kernel for it"):
        self.put(full, _NPU, _refusing(full, why), "refused")

    def put(self, full, key, kernel, treatment):
        namespace, _, name = full.partition("::")
        _libraries[namespace].impl(name, key, kernel)
        treated.setdefault(treatment, set()).add(full)


def _overload(full):
    """(call by dispatch key, tags) of an operator"""
    name, _, overload = full.partition(".")
    _, by_key, tags = torch._C._get_operation_overload(name, overload)
    return by_key, tags


def _lazy(name, full, schema, key):
    kernel = None

    def entry(*args, **kwargs):
        nonlocal kernel
        if kernel is None:
            from hccl.softnpu import kernels

            kernel = kernels.build(name, schema, key, *_overload(full))
        return kernel(*args, **kwargs)

    return entry


def _through(full, key):
    """The operator's kernel of another dispatch key, called with the npu tensors themselves."""
    call = None

    def entry(*args, **kwargs):
        nonlocal call
        if call is None:
            call, _ = _overload(full)
        return call(key, *args, **kwargs)

    return entry


def _contiguous(compose):
    def contiguous(self, *, memory_format=torch.contiguous_format):
        if self.is_contiguous(memory_format=memory_format):
            return self
        return compose(self, memory_format=memory_format)

    return contiguous


def _refusing(full, why):
    def entry(*_, **__):
        raise NotImplementedError(f"the software NPU cannot run {full}: {why}")

    return entry
