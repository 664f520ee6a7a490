"""DeepSpeed's ZeRO stage 2: each rank has the whole model, and a share of its gradients and of Adam's state.

Needs `pip install deepspeed`. Here it trains CPU tensors; DeepSpeed takes the backend by its name.

    DS_ACCELERATOR=cpu torchrun --nproc-per-node 2 deepspeed_zero2.py
"""

import argparse
import os

# DeepSpeed looks at this when it is imported.
os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed  # noqa: E402
import model  # noqa: E402
import ranks  # noqa: E402
import torch.distributed as dist  # noqa: E402

SETTINGS = {
    "train_batch_size": model.BATCH,
    "zero_optimization": {"stage": 2},
    # Its own choice for CPUs is a kernel that it compiles first.
    "zero_force_ds_cpu_optimizer": False,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=40, help="default: %(default)s")
    arguments = parser.parse_args()
    deepspeed.init_distributed(dist_backend="hccl_cpu", verbose=False)
    rank, world = dist.get_rank(), dist.get_world_size()
    net = model.Transformer()
    engine, *_ = deepspeed.initialize(model=net, optimizer=model.optimizer_of(net.parameters()), config=SETTINGS)
    for step, (tokens, targets) in enumerate(model.batches(arguments.steps + 1)):
        loss = model.loss_of(engine(tokens.chunk(world)[rank]), targets.chunk(world)[rank])
        ranks.say(step, ranks.mean(loss))
        engine.backward(loss)
        engine.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
