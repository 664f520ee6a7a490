"""The tests run in an environment made by `set_env.sh`; nothing of ours is imported, torch does all that."""

import pytest
import torch
import torch_npu  # noqa: F401

torch.set_num_threads(2)


@pytest.fixture(autouse=True)
def repeatable():
    torch.manual_seed(1234)
    torch.npu.set_device(0)
    yield
    torch.npu.set_device(0)


def pytest_sessionstart(session):
    count = torch.npu.device_count()
    if count < 2:
        pytest.exit(f"the tests need 2 npu devices, there are {count}: is set_env.sh sourced?", returncode=3)
