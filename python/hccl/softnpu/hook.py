"""Gets us called right before and right after `torch_npu` is executed, whoever imports it.

Before: the shared libraries must be in the process, because the wheel's extension links against them by
name. After: its kernels are registered, so that ours can be put in their place. A finder on `sys.meta_path`
gives both moments and does not depend on the order of entry points, nor on
TORCH_DEVICE_BACKEND_AUTOLOAD, nor on `torch_npu` being imported before `torch`.
"""

import sys

WHEEL = "torch_npu"


class Finder:
    """Finds `torch_npu` through the other finders and wraps the execution of its module."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != WHEEL:
            return None
        for other in sys.meta_path:
            find = getattr(other, "find_spec", None)
            if other is Finder or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                break
        else:
            return None
        if spec.loader is not None:
            _wrap(spec.loader)
        return spec


def install():
    """Idempotent. If the wheel has been imported already, only the second half is left to do."""
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)
    module = sys.modules.get(WHEEL)
    spec = getattr(module, "__spec__", None)
    if module is not None and not getattr(spec, "_initializing", False):
        _after()


def _wrap(loader):
    # The loader keeps its class (tools ask it for sources and resources); only this instance is changed.
    execute = loader.exec_module

    def exec_module(module):
        from hccl.softnpu import libraries

        libraries.preload()
        execute(module)
        _after()

    loader.exec_module = exec_module


def _after():
    from hccl.softnpu import libraries

    if libraries.are_ours():
        from hccl.softnpu import inductor, register

        register.register()
        inductor.refuse()
