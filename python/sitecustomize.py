"""Loads the hook of the software NPU when Python starts, then the `sitecustomize` that we stand before.

Python imports one module of this name, the first on its path. Without it nothing of ours would run before a
program that imports `torch_npu` before `torch`, or with TORCH_DEVICE_BACKEND_AUTOLOAD=0.
"""

import importlib.machinery
import importlib.util
import os
import sys


def _chain():
    # All of ours that have run, since two installations on the path would otherwise find each other for ever.
    seen = sys.__dict__.setdefault("_hccl_sitecustomize", set())
    seen.add(os.path.dirname(os.path.abspath(__file__)))
    others = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) not in seen]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


import hccl.softnpu  # noqa: E402,F401  (the import is the effect)

_chain()
