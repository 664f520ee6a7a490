"""Puts our kernels in the place of the wheel's. Runs once, right after the wheel has been imported.

Three dispatch keys matter. `PrivateUse1` is the NPU's numbers. `AutogradPrivateUse1` is its derivatives: the
wheel replaces PyTorch's there for some operators, by ones that need operators the CPU lacks, so PyTorch's
are put back. Operators that PyTorch composes of others get that composition back under both keys.
"""

import ctypes

import torch

from hccl import native
from hccl.softnpu import catalog, libraries

_NPU, _AUTOGRAD_NPU = "PrivateUse1", "AutogradPrivateUse1"

# Registrations of kernels in Python live as long as these objects.
_libraries = {}
# The compiled kernels; loaded when they are registered.
_native = None
# treatment -> names; for reports and tests.
treated = {}


def register():
    global _native
    if _libraries:
        return
    _native = native.load("operators")
    # The counter of queued tasks is of use only if nothing waits elsewhere; see `libraries`.
    _native.watch(ctypes.addressof(libraries.pending()) if libraries.queue_is_off else 0)
    _native.find_generators_by(_generators)
    _native.lend_to_cpu_kernels()
    for namespace in ("aten", "npu"):
        _libraries[namespace] = torch._C._dispatch_library("IMPL", namespace, "", __file__, 0)
    _Registry().run()


def _generators():
    if not torch.npu.default_generators:
        torch.npu.init()
    return torch.npu.default_generators


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

        compiled = frozenset(_native.names_by_hand())
        wanted = self.npu | self.cpu | self.composite
        wanted.update(f"aten::{name}" for name in compiled.union(special.aten))
        for full in wanted:
            namespace, _, name = full.partition("::")
            if full not in self.schemas or namespace not in _libraries:
                continue
            in_python = special.aten.get(name) if namespace == "aten" else special.npu.get(name)
            if namespace == "aten" and name in compiled:
                self.put("special", full, _native.put_by_hand)
            elif in_python is not None:
                self.put("special", full, _put_python, in_python)
            elif namespace == "aten":
                self.treat(full, name)
            elif name not in catalog.KEEP_OF_WHEEL:
                self.refuse(full)
        by_hand = treated["special"]
        for full in self.autograd_npu:
            if full in self.schemas and full.startswith("aten::") and full not in self.implicit:
                if full in self.cpu or full in self.composite or full in by_hand:
                    self.put("autograd", full, _native.put_derivative)

    def treat(self, full, name):
        schema = self.schemas[full]
        theirs = full in self.npu
        if name in catalog.KEEP or catalog.IGNORE.search(name):
            return
        if full in self.implicit and full not in self.cpu:
            if theirs:
                self.put("implicit", full, _native.put_through)
                self.put("implicit", full, _native.put_through_for_autograd)
            return
        if full in self.implicit and not theirs:
            return
        if catalog.OTHER_LAYOUT.search(name):
            if theirs or full in self.cpu:
                self.refuse(full, "sparse, nested and quantized tensors do not exist here")
        elif name in catalog.RECOMPOSE and full in self.composite | self.functional:
            self.put("recompose", full, _native.put_through)
        elif catalog.is_view(schema):
            if full in self.cpu and not theirs:
                self.put("view", full, _native.put_through)
        elif full not in self.cpu and not theirs:
            if catalog.is_whole(name, schema, _tags(full)):
                self.put_generic("whole", full, name)
        elif full in self.cpu or full in self.composite or full in self.functional:
            self.put_generic("kernel", full, name)
        elif name not in catalog.KEEP_OF_WHEEL:
            self.refuse(full)

    def put_generic(self, treatment, full, name):
        host = catalog.HOST_ARGUMENTS.get(catalog.base_name(name), set())
        self.put(treatment, full, _native.put_generic, host)

    def refuse(self, full, why="PyTorch has no CPU kernel for it"):
        self.put("refused", full, _native.put_refusal, why)

    def put(self, treatment, full, function, *details):
        function(full, *details)
        treated.setdefault(treatment, set()).add(full)


def _put_python(full, kernel):
    namespace, _, name = full.partition("::")
    _libraries[namespace].impl(name, _NPU, kernel)


def _tags(full):
    name, _, overload = full.partition(".")
    return set(torch._C._get_operation_overload(name, overload)[2])
