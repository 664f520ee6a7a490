"""Ways to train the transformer of `examples/pytorch` on the ranks of the default group; each gives the losses.

A way is called on every rank with the rank's device and all batches, and gives the losses of the whole batches, the
same on all ranks.
"""

import functools

import model
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy, fully_shard
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_module
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel


def train(net, batches, device, optimizer=None, share=(0, 1), group=None, **options):
    """Losses of a model that is ready; `share` is which part of so many parts of a batch this rank takes."""
    optimizer = optimizer or model.optimizer_of(net.parameters(), **options)
    index, count = share
    losses = []
    for tokens, targets in batches:
        # Parts differ by one row where the rows do not divide; each counts by its rows.
        part = targets.tensor_split(count)[index]
        loss = model.loss_of(net(tokens.tensor_split(count)[index].to(device)), part.to(device))
        weight = len(part) * count / len(targets)
        optimizer.zero_grad()
        (loss * weight).backward()
        optimizer.step()
        losses.append(loss.detach() * weight)
    losses = torch.stack(losses)
    if count > 1:
        dist.all_reduce(losses, group=group)
    return (losses / count).tolist()


def everybody():
    return dist.get_rank(), dist.get_world_size()


def ddp(device, batches):
    net = model.Transformer(seed=dist.get_rank()).to(device)
    # Small buckets, so that several are on their way at once. Weights of other ranks are replaced by the first one's.
    net = DistributedDataParallel(net, bucket_cap_mb=0.2, gradient_as_bucket_view=True)
    return train(net, batches, device, share=everybody())


def zero(device, batches):
    net = DistributedDataParallel(model.Transformer().to(device))
    optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=3e-3, eps=1e-4)
    return train(net, batches, device, optimizer, share=everybody())


def fsdp1(device, batches, strategy=ShardingStrategy.FULL_SHARD):
    net = FullyShardedDataParallel(
        model.Transformer().to(device),
        auto_wrap_policy=ModuleWrapPolicy({model.Block}),
        sharding_strategy=strategy,
        # Said also for CPU tensors: where there are NPUs it would take one.
        device_id=device,
        use_orig_params=True,
    )
    return train(net, batches, device, share=everybody())


def sharded(device, mesh):
    net = model.Transformer().to(device)
    for block in net.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(net, mesh=mesh)
    return net


def fsdp2(device, batches):
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    return train(sharded(device, mesh), batches, device, share=everybody())


def hsdp(device, batches):
    """Shards inside of pairs of ranks, copies between the pairs."""
    mesh = init_device_mesh(device.type, (dist.get_world_size() // 2, 2), mesh_dim_names=("copies", "shards"))
    return train(sharded(device, mesh), batches, device, share=everybody())


PLAN = {
    "attention.query": ColwiseParallel(),
    "attention.key": ColwiseParallel(),
    "attention.value": ColwiseParallel(),
    "attention.out": RowwiseParallel(),
    "mlp.up": ColwiseParallel(),
    "mlp.down": RowwiseParallel(),
}


def tensor_parallel(device, batches):
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    net = model.Transformer().to(device)
    for block in net.blocks:
        parallelize_module(block, mesh, PLAN)
    return train(net, batches, device, foreach=False)


def sequence_parallel(device, batches):
    """Between the parts of a block each rank has some places of the sequences only."""
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    net = model.Transformer().to(device)
    whole = PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),))
    plan = PLAN | {
        "attention_norm": SequenceParallel(),
        "mlp_norm": SequenceParallel(),
        "attention": whole,
        "mlp": whole,
        "attention.out": RowwiseParallel(output_layouts=Shard(1)),
        "mlp.down": RowwiseParallel(output_layouts=Shard(1)),
    }
    for block in net.blocks:
        parallelize_module(block, mesh, plan)
    ends = {
        "embedding": _Cut(mesh),
        "head": PrepareModuleInput(
            input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),), use_local_output=True
        ),
    }
    parallelize_module(net, mesh, ends)
    return train(net, batches, device, foreach=False)


class _Cut(ParallelStyle):
    """A module whose result is cut along the sequence, each rank keeping its places."""

    def __init__(self, mesh):
        self.mesh = mesh

    def _apply(self, module, mesh):
        return distribute_module(module, mesh, input_fn=self._whole, output_fn=self._cut)

    @staticmethod
    def _whole(module, given, mesh):
        return tuple(DTensor.from_local(one, mesh, [Replicate()], run_check=False) for one in given)

    @staticmethod
    def _cut(module, output, mesh):
        return output.redistribute(mesh, [Shard(1)]).to_local()


def two_dimensions(device, batches):
    """Tensor parallelism inside of pairs of ranks, FSDP2 between the pairs."""
    pairs = dist.get_world_size() // 2
    mesh = init_device_mesh(device.type, (pairs, 2), mesh_dim_names=("data", "tensor"))
    net = model.Transformer().to(device)
    for block in net.blocks:
        parallelize_module(block, mesh["tensor"], PLAN)
        fully_shard(block, mesh=mesh["data"])
    fully_shard(net, mesh=mesh["data"])
    share = (mesh.get_local_rank("data"), pairs)
    return train(net, batches, device, share=share, group=mesh.get_group("data"), foreach=False)


def stage_of(net, index, count):
    """What one stage of so many has of the model."""
    bounds = [len(net.blocks) * each // count for each in (index, index + 1)]
    net.blocks = nn.ModuleList(list(net.blocks)[slice(*bounds)])
    if index > 0:
        net.embedding = None
    if index < count - 1:
        net.head = None
    return net


def pipeline(schedule, device, batches, stages_per_rank=1):
    rank, world = everybody()
    count = stages_per_rank * world
    parts = [stage_of(model.Transformer(), index, count).to(device) for index in range(rank, count, world)]
    stages = [PipelineStage(part, rank + world * turn, count, device) for turn, part in enumerate(parts)]
    run = schedule(stages if stages_per_rank > 1 else stages[0], 2 * world, loss_fn=model.loss_of)
    optimizer = model.optimizer_of([weight for part in parts for weight in part.parameters()])
    found = []
    for tokens, targets in batches:
        optimizer.zero_grad()
        losses = []
        given = [tokens.to(device)] if rank == 0 else []
        run.step(*given, target=targets.to(device) if rank == world - 1 else None, losses=losses)
        optimizer.step()
        loss = torch.stack(losses).mean() if losses else torch.zeros((), device=device)
        dist.broadcast(loss, world - 1)
        found.append(loss.item())
    return found


def _rest(net, optimizer):
    """What a checkpoint holds: under the same names, however many ranks there are."""
    weights, state = get_state_dict(net, optimizer)
    return {"model": weights, "optimizer": state}


def _sharded_pair(device):
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    net = sharded(device, mesh)
    return net, model.optimizer_of(net.parameters())


def train_and_save(device, batches, folder):
    net, optimizer = _sharded_pair(device)
    losses = train(net, batches, device, optimizer, share=everybody())
    checkpoint.save(_rest(net, optimizer), checkpoint_id=folder)
    return losses


def load_and_train(device, batches, folder):
    net, optimizer = _sharded_pair(device)
    held = _rest(net, optimizer)
    checkpoint.load(held, checkpoint_id=folder)
    set_state_dict(net, optimizer, model_state_dict=held["model"], optim_state_dict=held["optimizer"])
    return train(net, batches, device, optimizer, share=everybody())


WAYS = {
    "ddp": ddp,
    "zero": zero,
    "fsdp1": fsdp1,
    "fsdp1_grad_op": functools.partial(fsdp1, strategy=ShardingStrategy.SHARD_GRAD_OP),
    "fsdp2": fsdp2,
    "hsdp": hsdp,
    "tensor_parallel": tensor_parallel,
    "sequence_parallel": sequence_parallel,
    "two_dimensions": two_dimensions,
    "gpipe": functools.partial(pipeline, ScheduleGPipe),
    "1f1b": functools.partial(pipeline, Schedule1F1B),
    "interleaved": functools.partial(pipeline, ScheduleInterleaved1F1B, stages_per_rank=2),
}
# Numbers of ranks that a way can have, where not any will do: pairs, heads that divide, blocks for each stage.
RANKS = {
    "hsdp": (4, 8),
    "two_dimensions": (4, 8),
    "tensor_parallel": (2, 4, 8),
    "sequence_parallel": (2, 4, 8),
    "gpipe": (2, 4),
    "1f1b": (2, 4),
    "interleaved": (2,),
}
