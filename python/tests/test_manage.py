"""HCCL's Python interface for groups and for the segments of gradients."""

import json
import os
import subprocess
import sys

import pytest
from hccl.manage import api as manage
from hccl.split import api as split

RANK = """
import os
from hccl.manage import api
rank = int(os.environ["RANK_ID"])
assert (api.get_rank_size(), api.get_rank_id()) == (3, rank)
assert (api.get_local_rank_size(), api.get_local_rank_id()) == (3, rank)
if rank != 1:
    api.create_group("ends", 2, [2, 0])
    own = api.get_rank_id("ends")
    assert (api.get_rank_size("ends"), own) == (2, 0 if rank == 2 else 1)
    assert api.get_world_rank_from_group_rank("ends", 0) == 2
    assert api.get_group_rank_from_world_rank(0, "ends") == 1
    api.destroy_group("ends")
try:
    api.get_rank_size("ends")
except api.HcclError as error:
    assert "ends" in str(error), error
else:
    raise AssertionError("a group that is gone was found")
print("done")
"""

TWICE = """
from hccl.manage import api
for _ in range(2):
    try:
        api.get_rank_size()
    except Exception as error:
        last = error
raise last
"""


def test_groups_of_a_rank_table(tmp_path):
    table = {
        "status": "completed",
        "version": "1.0",
        "server_count": "1",
        "server_list": [
            {
                "server_id": "127.0.0.1",
                "device": [
                    {"device_id": str(rank), "device_ip": f"192.0.2.{rank + 1}", "rank_id": str(rank)}
                    for rank in range(3)
                ],
            }
        ],
    }
    file = tmp_path / "table.json"
    file.write_text(json.dumps(table))
    ranks = []
    for rank in range(3):
        environment = dict(os.environ, RANK_TABLE_FILE=str(file), RANK_ID=str(rank), ASCEND_DEVICE_ID=str(rank))
        ranks.append(
            subprocess.Popen(
                [sys.executable, "-c", RANK],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    for process in ranks:
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0 and "done" in output, output


@pytest.mark.parametrize(
    "call",
    [
        lambda: manage.create_group(manage.WORLD_GROUP, 1, [0]),
        lambda: manage.create_group("x" * 128, 1, [0]),
        lambda: manage.create_group("g", 2, [0]),
        lambda: manage.create_group("g", 2, [0, 0]),
        lambda: manage.create_group("g", 32769, range(32769)),
        lambda: manage.create_group("g", 1, [2**32]),
        lambda: manage.create_group("g", 2, [0, 1.5]),
        lambda: manage.create_group("g", "2", [0, 1]),
        lambda: manage.create_group("g", 1, 0),
        lambda: manage.get_rank_size(""),
        lambda: manage.get_rank_size("\ud800"),
        lambda: manage.get_group_rank_from_world_rank(-1, "g"),
        lambda: split.set_split_strategy_by_idx([]),
        lambda: split.set_split_strategy_by_idx(range(9)),
        lambda: split.set_split_strategy_by_idx([3, 2]),
        lambda: split.set_split_strategy_by_size([50, 40]),
        lambda: split.set_split_strategy_by_size([120, -20]),
    ],
)
def test_what_cannot_be_is_refused(call):
    with pytest.raises(ValueError, match="allowed|must"):
        call()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"RANK_ID": "99999999999"}, "ValueError: RANK_ID is '99999999999'; allowed are"),
        ({"ASCEND_DEVICE_ID": "4294967296"}, "ValueError: ASCEND_DEVICE_ID is '4294967296'; allowed are"),
        ({}, "the rank table has no key version"),
    ],
)
def test_what_is_wrong_with_the_world_is_told(tmp_path, settings, words):
    file = tmp_path / "table.json"
    file.write_text("{}")
    environment = dict(os.environ, RANK_TABLE_FILE=str(file), RANK_ID="0", ASCEND_DEVICE_ID="0") | settings
    command = [sys.executable, "-c", TWICE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    # Not what an earlier call had to say.
    assert words in done.stderr and "initialized already" not in done.stderr, done.stderr


def test_segments():
    sizes = [10, 20, 30, 40]
    assert split.segments(sizes, "none said") == [range(0, 4)]
    assert split.segments([1] * 1000, "none said") == [range(0, 966), range(966, 1000)]
    split.set_split_strategy_by_idx([0, 2, 3], "g")
    assert split.segments(sizes, "g") == [range(0, 1), range(1, 3), range(3, 4)]
    with pytest.raises(ValueError, match="must end with 4"):
        split.segments([1] * 5, "g")
    split.set_split_strategy_by_size([60, 40], "g")
    assert split.segments(sizes, "g") == [range(0, 3), range(3, 4)]
