"""HCCL's Python interface for the segments that gradients are all-reduced in.

A segment is a run of gradients, in the order in which they come to be, that goes in one all-reduce. Segments are given
by the number of the last gradient of each, or by their shares of all bytes; shares win where both are given. Without
either there are two. `hccl.split.fusion` runs them.
"""

import logging
import threading
from collections.abc import Iterable, Sequence

from hccl.manage.api import WORLD_GROUP, _name

SEGMENTS_MAX = 8
# Percent of all bytes: what is left for the second goes quickly, when the last gradients are there.
DEFAULT_SHARES = (96.54, 3.46)

_log = logging.getLogger("hccl.split")
_lock = threading.Lock()
_by_index: dict[str, list[int]] = {}
_by_size: dict[str, list[float]] = {}


def set_split_strategy_by_idx(idxList: Iterable[int], group: str = WORLD_GROUP) -> None:
    """Segments by the number of the last gradient of each, from 0; the last one is that of the last gradient."""
    _name(group)
    indices = list(idxList)
    ascending = all(one < other for one, other in zip(indices, indices[1:]))
    whole = all(isinstance(one, int) and one >= 0 for one in indices)
    if not 0 < len(indices) <= SEGMENTS_MAX or not whole or not ascending:
        raise ValueError(f"idxList is {indices}; allowed are 1 to {SEGMENTS_MAX} ascending numbers from 0 on")
    with _lock:
        _by_index[group] = indices


def set_split_strategy_by_size(dataSizeList: Iterable[float], group: str = WORLD_GROUP) -> None:
    """Segments by their shares of the bytes of all gradients, in percent; together they are 100."""
    _name(group)
    shares = list(dataSizeList)
    numbers = all(isinstance(one, (int, float)) and one >= 0 for one in shares)
    if not 0 < len(shares) <= SEGMENTS_MAX or not numbers or abs(sum(shares) - 100) > 1e-6:
        raise ValueError(f"dataSizeList is {shares}; allowed are 1 to {SEGMENTS_MAX} percentages that sum to 100")
    with _lock:
        _by_size[group] = shares


def segments(sizes: Sequence[int], group: str = WORLD_GROUP) -> list[range]:
    """The segments of gradients of so many bytes each, as ranges of their numbers; none is empty."""
    with _lock:
        shares, indices = _by_size.get(group), _by_index.get(group)
    if not sizes:
        return []
    if shares is None and indices is not None:
        if indices[-1] != len(sizes) - 1:
            last, found = len(sizes) - 1, indices[-1]
            raise ValueError(
                f"idxList of {group} ends with {found}; of {len(sizes)} gradients, it must end with {last}"
            )
        ends = [index + 1 for index in indices]
    else:
        ends = _ends_of(sizes, shares or DEFAULT_SHARES)
    starts = [0, *ends[:-1]]
    found = [range(start, end) for start, end in zip(starts, ends) if start < end]
    _log.info("segment result of %s: %s", group, ", ".join(f"[{part.start}, {part.stop - 1}]" for part in found))
    return found


def _ends_of(sizes, shares):
    """A segment ends with the gradient that brings it to its share."""
    total, ends, passed, wanted, index = sum(sizes), [], 0, 0.0, 0
    for share in shares[:-1]:
        wanted += share
        while index < len(sizes) and passed < total * wanted / 100:
            passed += sizes[index]
            index += 1
        ends.append(index)
    return [*ends, len(sizes)]
