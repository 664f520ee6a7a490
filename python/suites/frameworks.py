"""Trains the transformer of `examples/pytorch` on two ranks through frameworks that are told the backend's name.

    pip install lightning "ray[train]" deepspeed ninja accelerate
    python frameworks.py                   those that are installed
    python frameworks.py lightning ray     some

The losses must be those of one process (the tolerance is that of `training.py`, where its reason is), and the group
must be ours. Each framework starts its ranks in its own way.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "examples", "pytorch")
sys.path[:0] = [EXAMPLES]

RANKS = 2
STEPS = 8
TOLERANCE = 2e-5
LIMIT_S = 900
BACKEND = "hccl_cpu"


def ours():
    """This rank, and how many there are; raises if the group is of another backend."""
    import torch
    import torch.distributed as dist

    used = type(dist.group.WORLD._get_backend(torch.device("cpu"))).__name__
    if used != "CpuBackend":
        raise AssertionError(f"the group is of {used}")
    return dist.get_rank(), dist.get_world_size()


def train(net, backward, step):
    """The mean losses over all ranks."""
    import model
    import ranks

    rank, world = ours()
    losses = []
    for tokens, targets in model.batches(STEPS):
        loss = model.loss_of(net(tokens.chunk(world)[rank]), targets.chunk(world)[rank])
        losses.append(ranks.mean(loss))
        backward(loss)
        step()
    return losses


def keep(losses, file):
    import torch.distributed as dist

    if dist.get_rank() == 0:
        with open(file, "w") as out:
            json.dump(losses, out)


def alone(file):
    """One process, without any framework or group."""
    import model

    net = model.Transformer()
    optimizer, losses = model.optimizer_of(net.parameters()), []
    for tokens, targets in model.batches(STEPS):
        loss = model.loss_of(net(tokens), targets)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with open(file, "w") as out:
        json.dump(losses, out)


def lightning(file):
    import lightning
    import model
    import ranks
    import torch
    from lightning.pytorch.strategies import DDPStrategy

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net, self.losses = model.Transformer(), []

        def training_step(self, batch, index):
            rank, world = ours()
            tokens, targets = (one.chunk(world)[rank] for one in batch)
            loss = model.loss_of(self.net(tokens), targets)
            self.losses.append(ranks.mean(loss))
            return loss

        def configure_optimizers(self):
            return model.optimizer_of(self.net.parameters())

    module = Module()
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=RANKS,
        strategy=DDPStrategy(process_group_backend=BACKEND),
        max_epochs=1,
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, torch.utils.data.DataLoader(list(model.batches(STEPS)), batch_size=None))
    keep(module.losses, file)


def ray(file):
    import ray as library
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    def loop():
        import model
        import torch

        net = torch.nn.parallel.DistributedDataParallel(model.Transformer())
        optimizer = model.optimizer_of(net.parameters())

        def step():
            optimizer.step()
            optimizer.zero_grad()

        keep(train(net, lambda loss: loss.backward(), step), file)

    library.init(num_cpus=RANKS, include_dashboard=False, _node_ip_address="127.0.0.1")
    with tempfile.TemporaryDirectory() as folder:
        TorchTrainer(
            loop,
            torch_config=TorchConfig(backend=BACKEND),
            scaling_config=ScalingConfig(num_workers=RANKS),
            run_config=RunConfig(storage_path=folder),
        ).fit()
    library.shutdown()


def deepspeed(file):
    import deepspeed as library
    import model
    import torch.distributed as dist

    library.init_distributed(dist_backend=BACKEND, verbose=False)
    settings = {
        "train_batch_size": model.BATCH,
        "zero_optimization": {"stage": 2},
        "zero_force_ds_cpu_optimizer": False,
    }
    net = model.Transformer()
    engine, *_ = library.initialize(model=net, optimizer=model.optimizer_of(net.parameters()), config=settings)
    keep(train(engine, engine.backward, engine.step), file)
    dist.destroy_process_group()


def accelerate(file):
    import accelerate as library
    import model
    import torch.distributed as dist

    # It takes the group that is there, and makes one of the backends that it knows otherwise.
    dist.init_process_group(BACKEND)
    accelerator = library.Accelerator(cpu=True)
    net = model.Transformer()
    net, optimizer = accelerator.prepare(net, model.optimizer_of(net.parameters()))

    def step():
        optimizer.step()
        optimizer.zero_grad()

    keep(train(net, accelerator.backward, step), file)
    dist.destroy_process_group()


TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS)]
# Each with what Python is given before the program, where the framework does not start ranks by itself.
FRAMEWORKS = {lightning: [], ray: [], deepspeed: TORCHRUN, accelerate: TORCHRUN}
SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "DS_ACCELERATOR": "cpu",
    "RAY_USAGE_STATS_ENABLED": "0",
    # Ray's processes find what is beside this file and in the examples.
    "PYTHONPATH": os.pathsep.join(filter(None, [EXAMPLES, HERE, os.environ.get("PYTHONPATH")])),
}


def run(name, launcher, folder):
    """The losses of one way, trained in processes of its own."""
    file = os.path.join(folder, f"{name}.json")
    command = [sys.executable, *launcher, os.path.abspath(__file__), "--rank-of", name, "--losses", file]
    environment = {**os.environ, **SETTINGS}
    # DeepSpeed calls `ninja`, which is where the interpreter is.
    environment["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), environment.get("PATH", "")])
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode != 0:
        raise AssertionError(f"it ended with {done.returncode}: {done.stdout[-3000:]}{done.stderr[-6000:]}")
    with open(file) as kept:
        return json.load(kept)


def main():
    ways = {way.__name__: launcher for way, launcher in FRAMEWORKS.items()}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rank-of", help=argparse.SUPPRESS)
    parser.add_argument("--losses", help=argparse.SUPPRESS)
    parser.add_argument("frameworks", nargs="*", metavar="NAME", help="of: " + ", ".join(ways))
    arguments = parser.parse_args()
    if arguments.rank_of:
        globals()[arguments.rank_of](arguments.losses)
        return
    if unknown := set(arguments.frameworks) - set(ways):
        parser.error(f"there is no way {', '.join(sorted(unknown))}")
    wanted = arguments.frameworks or [name for name in ways if importlib.util.find_spec(name)]
    if not wanted:
        sys.exit(f"none of {', '.join(ways)} is installed")
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        expected = run("alone", [], folder)
        for name in wanted:
            begun = time.monotonic()
            try:
                found = run(name, ways[name], folder)
                worst = max(abs(one - other) for one, other in zip(expected, found, strict=True))
                if not worst <= TOLERANCE:
                    raise AssertionError(f"losses differ by {worst:.2e}: {found} instead of {expected}")
            except Exception as error:
                failed.append(name)
                print(f"{name}: FAILED: {error}", flush=True)
            else:
                print(f"{name}: worst difference {worst:.1e}, {time.monotonic() - begun:.0f} s", flush=True)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
