"""HCCL's Python interface for groups: `create_group`, `get_rank_size` and the like.

The world is that of the current device. Where no call of HCCL's C interface has made one, the first function
of this module that needs it joins by `RANK_TABLE_FILE` and `RANK_ID`, on device `ASCEND_DEVICE_ID` (0 where it
is not set). Errors of the library are `HcclError`s; what is wrong with an argument is a `ValueError`.
"""

import ctypes
import os
import threading
from collections.abc import Iterable

from hccl import places

WORLD_GROUP = "hccl_world_group"
# With the zero at the end, as HCCL counts.
NAME_BYTES_MAX = 128
RANKS_MAX = 32768
DEVICE_MAX = 63

_lock = threading.Lock()
_loaded = None


class HcclError(RuntimeError):
    """A function of the library failed; `code` is its HcclResult."""

    def __init__(self, function, code, text):
        super().__init__(f"{function} failed with HcclResult {code}: {text}")
        self.code = code


def create_group(group: str, rank_num: int, rank_ids: Iterable[int]) -> None:
    """Makes a group of ranks of the world. Its members call it with the same arguments, and none else."""
    name = _check_name(group)
    if not _is_whole(rank_num, 1, RANKS_MAX):
        raise ValueError(f"rank_num is {rank_num!r}; allowed are 1 to {RANKS_MAX}")
    if not isinstance(rank_ids, Iterable):
        raise ValueError(f"rank_ids is {rank_ids!r}; it must name {rank_num} different ranks of the world")
    ranks = list(rank_ids)
    known = all(_is_whole(rank, 0, RANKS_MAX - 1) for rank in ranks)
    if not known or len(ranks) != rank_num or len(set(ranks)) != rank_num:
        raise ValueError(
            f"rank_ids is {ranks}; it must name {rank_num} different ranks of the world, each 0 to {RANKS_MAX - 1}"
        )
    _call("HcomCreateGroup", name, ctypes.c_uint32(rank_num), (ctypes.c_uint32 * rank_num)(*ranks))


def destroy_group(group: str) -> None:
    """Ends a group that `create_group` made."""
    _call("HcomDestroyGroup", _check_name(group))


def get_rank_size(group: str = WORLD_GROUP) -> int:
    """How many ranks a group has."""
    return _number("HcomGetRankSize", _name(group))


def get_rank_id(group: str = WORLD_GROUP) -> int:
    """The own rank in a group."""
    return _number("HcomGetRankId", _name(group))


def get_local_rank_size(group: str = WORLD_GROUP) -> int:
    """How many ranks of a group are on the own server."""
    return _number("HcomGetLocalRankSize", _name(group))


def get_local_rank_id(group: str = WORLD_GROUP) -> int:
    """The own place among the ranks of a group on the own server."""
    return _number("HcomGetLocalRankId", _name(group))


def get_world_rank_from_group_rank(group: str, group_rank_id: int) -> int:
    """The rank in the world of a rank of a group."""
    return _number("HcomGetWorldRankFromGroupRank", _name(group), _rank(group_rank_id))


def get_group_rank_from_world_rank(world_rank_id: int, group: str) -> int:
    """The rank in a group of a rank of the world."""
    return _number("HcomGetGroupRankFromWorldRank", _rank(world_rank_id), _name(group))


def _check_name(group):
    name = _name(group)
    if group == WORLD_GROUP:
        raise ValueError(f"group is {WORLD_GROUP}, which is the world; allowed are other names")
    return name


def _name(group):
    # What UTF-8 cannot say comes out as something else.
    name = group.encode(errors="backslashreplace") if isinstance(group, str) else b""
    if not 0 < len(name) < NAME_BYTES_MAX or b"\0" in name or name.decode() != group:
        raise ValueError(f"group is {group!r}; allowed are names of 1 to {NAME_BYTES_MAX - 1} bytes of UTF-8")
    return name


def _is_whole(number, least, most):
    return isinstance(number, int) and not isinstance(number, bool) and least <= number <= most


def _rank(rank):
    if not _is_whole(rank, 0, RANKS_MAX - 1):
        raise ValueError(f"a rank is {rank!r}; allowed are 0 to {RANKS_MAX - 1}")
    return ctypes.c_uint32(rank)


def _number(function, *arguments):
    result = ctypes.c_uint32()
    _call(function, *arguments, ctypes.byref(result))
    return result.value


def _call(function, *arguments):
    hccl, acl = _libraries()
    _join_world(hccl, acl)
    _checked(hccl, acl, function, *arguments)


def _checked(hccl, acl, function, *arguments):
    acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
    # What calls before this one said is not what is wrong with this one.
    acl.aclGetRecentErrMsg()
    code = getattr(hccl, function)(*arguments)
    if code != 0:
        text = acl.aclGetRecentErrMsg() or b"the log says more"
        raise HcclError(function, code, text.decode(errors="replace").strip())


def _join_world(hccl, acl):
    joined = ctypes.c_bool()
    with _lock:
        hccl.HcomGetInitStatus(ctypes.byref(joined))
        if joined.value:
            return
        table, rank = os.environ.get("RANK_TABLE_FILE"), os.environ.get("RANK_ID")
        if not table or not rank:
            raise ValueError(
                f"there is no world yet, and RANK_TABLE_FILE is {table!r} and RANK_ID {rank!r}: set both, or make a "
                "world by HCCL's C interface first"
            )
        device = os.environ.get("ASCEND_DEVICE_ID", "0")
        rank, device = _number_of("RANK_ID", rank, RANKS_MAX - 1), _number_of("ASCEND_DEVICE_ID", device, DEVICE_MAX)
        # An error says that the process has done so before.
        acl.aclInit(None)
        if acl.aclrtSetDevice(ctypes.c_int32(device)) != 0:
            raise ValueError(f"there is no device {device} (ASCEND_DEVICE_ID)")
        _checked(hccl, acl, "HcomInitByRankTable", os.fsencode(table), ctypes.c_uint32(rank))


def _number_of(variable, text, most):
    if not text.isdecimal() or not text.isascii() or len(text) > 9 or int(text) > most:
        raise ValueError(f"{variable} is {text!r}; allowed are whole numbers from 0 to {most}")
    return int(text)


def _libraries():
    global _loaded
    with _lock:
        if _loaded is None:
            # In the order of their needs.
            acl, hccl = (_open(name) for name in ("libascendcl.so", "libhccl.so"))
            _loaded = hccl, acl
        return _loaded


def _open(name):
    return ctypes.CDLL(places.library(name) or name, mode=ctypes.RTLD_GLOBAL)
