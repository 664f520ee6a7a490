"""Trains the transformer of `examples/pytorch` in one process and in many ways on ranks: the losses must be the same.

    python training.py --device npu --ranks 4             all ways
    python training.py --device cpu --ranks 2 ddp fsdp2   some

**Tolerance.** Losses go from 4.3 to 3.1, in float32, where neighbours are 2.4e-7 to 4.8e-7 apart. Ranks add the same
numbers in another order (the mean over a batch from means over its parts, an inner product from its parts), so a
gradient differs by a few units of its last place, and each step adds that much to the weights; the optimizer does not
magnify it (see `model.optimizer_of`). The most that was seen on 2, 3 and 4 ranks is 7.2e-7; 2e-5 leaves room for more
ranks. A quarter of a batch that is left out changes the second loss by 1.5e-2, gradients that count twice by 9e-3.

Processes are forked, since to import torch takes longer than to train.
"""

import argparse
import datetime
import faulthandler
import os
import socket
import sys
import tempfile
import time
import traceback

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "examples", "pytorch")]

import model  # noqa: E402
import training_ways as ways  # noqa: E402

STEPS = 8
TOLERANCE = 2e-5
SECONDS_MAX = 240
BACKENDS = {"npu": "hccl", "cpu": "hccl_cpu"}


def alone(device):
    """The losses of one process without any group."""
    return ways.train(model.Transformer().to(device), list(model.batches(STEPS)), device)


def on_ranks(device, ranks, work, folder):
    """Runs `work(device)` on so many ranks of a new group; gives what each returned, or raises what they said."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free.getsockname()[1]))
    children = []
    for rank in range(ranks):
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            _rank(device, rank, ranks, work, os.path.join(folder, f"{rank}.pt"))
        children.append(child)
    ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    if any(ends):
        raise AssertionError(f"ranks ended with {ends}")
    return [torch.load(os.path.join(folder, f"{rank}.pt")) for rank in range(ranks)]


def _rank(kind, rank, ranks, work, file):
    """What a forked process does; it never returns."""
    code = 1
    faulthandler.dump_traceback_later(SECONDS_MAX, exit=True)
    try:
        torch.set_num_threads(1)
        device = torch.device("cpu")
        if kind == "npu":
            device = torch.device("npu", rank)
            torch.npu.set_device(device)
        limit = datetime.timedelta(seconds=SECONDS_MAX)
        dist.init_process_group(BACKENDS[kind], rank=rank, world_size=ranks, timeout=limit)
        torch.save(work(device), file)
        dist.barrier()
        dist.destroy_process_group()
        code = 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def compare(expected, found):
    """The largest difference of a loss; raises if it is more than rounding."""
    worst = max(abs(one - other) for one, other in zip(expected, found, strict=True))
    if not worst <= TOLERANCE:
        raise AssertionError(f"losses differ by {worst:.2e}: {found} instead of {expected}")
    return worst


def checkpoints(device, ranks, expected, root):
    """Half of the steps on some ranks, the rest on another number of them, from what was saved between."""
    counts = [(ranks, max(1, ranks // 2)), (max(1, ranks // 2), ranks)]
    if ranks > 2:
        counts.append((ranks, ranks - 1))
    worst = 0.0
    batches = list(model.batches(STEPS))
    first, rest = batches[: STEPS // 2], batches[STEPS // 2 :]
    for before, after in counts:
        with tempfile.TemporaryDirectory(dir=root) as kept, tempfile.TemporaryDirectory(dir=root) as folder:
            losses = on_ranks(device, before, lambda place: ways.train_and_save(place, first, kept), folder)[0]
            losses += on_ranks(device, after, lambda place: ways.load_and_train(place, rest, kept), folder)[0]
        worst = max(worst, compare(expected, losses))
        print(f"  saved on {before}, loaded on {after}: worst difference {worst:.1e}", flush=True)
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=BACKENDS, required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("ways", nargs="*", metavar="WAY", help="of: " + ", ".join([*ways.WAYS, "checkpoint"]))
    arguments = parser.parse_args()
    wanted = arguments.ways or [*ways.WAYS, "checkpoint"]
    unknown = set(wanted) - {*ways.WAYS, "checkpoint"}
    if unknown:
        parser.error(f"there is no way {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)
    failed = []
    with tempfile.TemporaryDirectory() as root:
        # Also the single process is a forked one: a process that used devices or autograd's threads forks no more.
        expected = on_ranks(arguments.device, 1, alone, root)[0]
        assert expected[-1] < expected[0] - 0.5, f"the model learns nothing: {expected}"
        for name in wanted:
            begun = time.monotonic()
            try:
                if name == "checkpoint":
                    worst = checkpoints(arguments.device, arguments.ranks, expected, root)
                else:
                    batches = list(model.batches(STEPS))
                    train = lambda device, way=ways.WAYS[name]: way(device, batches)  # noqa: E731
                    if arguments.ranks not in ways.RANKS.get(name, [arguments.ranks]):
                        print(f"{name}: not on {arguments.ranks} ranks", flush=True)
                        continue
                    each = on_ranks(arguments.device, arguments.ranks, train, root)
                    worst = max(compare(expected, losses) for losses in each)
            except Exception as error:
                failed.append(name)
                print(f"{name}: FAILED: {error}", flush=True)
            else:
                print(f"{name}: worst difference {worst:.1e}, {time.monotonic() - begun:.1f} s", flush=True)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
