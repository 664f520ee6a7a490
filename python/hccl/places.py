"""Where things of this installation are: a tree of `cargo xtask install`, or a wheel.

In a tree the package is `python/hccl`, beside `lib64` and `include`; a wheel has the same folders inside the package,
as `lib` and `include`.
"""

import os

PACKAGE = os.path.dirname(os.path.abspath(__file__))
PREFIX = os.path.dirname(os.path.dirname(PACKAGE))


def library(name):
    """Path of one of our shared libraries; None where it is missing."""
    return _first(os.path.join(PACKAGE, "lib", name), os.path.join(PREFIX, "lib64", name))


def include():
    """Folder of the headers; None where it is missing."""
    return _first(os.path.join(PACKAGE, "include"), os.path.join(PREFIX, "include"))


def libraries():
    """Folder of our shared libraries; None where it is missing."""
    return _first(os.path.join(PACKAGE, "lib"), os.path.join(PREFIX, "lib64"))


def _first(*paths):
    return next((path for path in paths if os.path.exists(path)), None)
