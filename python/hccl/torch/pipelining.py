"""Makes the first messages of `torch.distributed.pipelining` fit their receives.

Before its first step a schedule lets neighbours send each other a number, so that the connections are there. PyTorch
sends an int64 and receives a float32, which libraries that compare nothing let pass. Our receives compare type and
length with what was sent, for a difference is a mistake of the program everywhere else; so the number is sent as what
is received.
"""

import functools
import importlib.util
import sys

MODULE = "torch.distributed.pipelining.stage"


def install():
    """Idempotent. The module is mended once it is imported, which it is in few programs; it takes long to import."""
    if MODULE in sys.modules:
        _mend(sys.modules[MODULE])
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds the module as others do, and has it mended as soon as it is executed."""

    def find_spec(self, name, path=None, target=None):
        if name != MODULE:
            return None
        # Without us on the list the search goes to whoever else there is; once is enough.
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                _mend(module)

            spec.loader.exec_module = exec_module
        return spec


def _mend(module):
    stage = getattr(module, "_PipelineStageBase", None)
    make = getattr(stage, "_get_init_p2p_neighbors_ops", None)
    if make is None or hasattr(make, "__wrapped__"):
        return

    @functools.wraps(make)
    def fitting(self):
        operations = make(self)
        receives = [one for one in operations if one.op.__name__ == "irecv"]
        for one in operations:
            if receives and one.op.__name__ == "isend":
                one.tensor = one.tensor.to(receives[0].tensor.dtype).reshape(receives[0].tensor.shape)
        return operations

    stage._get_init_p2p_neighbors_ops = fitting
