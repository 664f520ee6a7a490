"""Makes process groups."""

import datetime

from hccl.torch import library


def create(name, options, wishes=None):
    """A backend object for one rank of a process group; `options` are PyTorch's own, `wishes` the user's."""
    timeout = options.timeout
    if wishes is not None and getattr(wishes, "_timeout", None) is not None:
        timeout = wishes._timeout
    if not isinstance(timeout, datetime.timedelta):
        timeout = datetime.timedelta(seconds=timeout)
    return library.module().CpuBackend.create(
        options.store,
        options.group_rank,
        options.group_size,
        timeout,
        name,
        options.group_id or name,
        list(options.global_ranks_in_group),
    )
