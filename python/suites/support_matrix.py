"""Tries every operator with every data type, reduction and layout, and writes `docs/torch-support.md`.

    python support_matrix.py --write docs/torch-support.md     measure all backends, write the page
    python support_matrix.py --check docs/torch-support.md     measure ours; fail if the page says otherwise

Each cell is a call on two ranks with values of their own, held against a computation in one process. What a backend
gets wrong is `WRONG`; what it refuses is the exception on every rank; a rank that hangs is `hangs`.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile

RANKS = 2
# Seconds that a call may take before it counts as one that hangs.
LIMIT = 20

DTYPES = (
    "bool uint8 int8 int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64 "
    "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz complex64 complex128"
).split()
REDUCTIONS = "SUM AVG PRODUCT MIN MAX BAND BOR BXOR PREMUL_SUM".split()
LAYOUTS = ("contiguous", "strided", "transposed")
REDUCING = ("all_reduce", "reduce", "reduce_scatter", "reduce_scatter_tensor")
MOVING = ("broadcast all_gather all_gather_into_tensor gather scatter all_to_all all_to_all_single send").split()
# Name of a backend, the device of its tensors, and how the page calls it.
BACKENDS = {
    "hccl_cpu": ("cpu", "hccl_cpu, CPU tensors"),
    "hccl": ("npu", "hccl of torch_npu, npu tensors"),
    "gloo": ("cpu", "Gloo, CPU tensors"),
}
OURS = ("hccl_cpu", "hccl")


def cells():
    """(operator, dtype, reduction or None, layout) of each cell"""
    for layout in LAYOUTS:
        for dtype in DTYPES:
            for operator in REDUCING:
                for reduction in REDUCTIONS:
                    yield operator, dtype, reduction, layout
            for operator in MOVING:
                yield operator, dtype, None, layout
    yield "all_reduce", "float32", "SUM", "sparse"


class Case:
    """One call: its tensors, how it is made, and what must come of it."""

    def __init__(self, cell, device):
        import torch

        self.operator, name, self.reduction, self.layout = cell
        self.torch, self.device = torch, device
        self.dtype = getattr(torch, name)

    def values(self, rank, count, salt=0):
        """Small distinct numbers as the widest type; exact in every type, as are their sums and products."""
        torch = self.torch
        numbers = (torch.arange(count) * 7 + rank * 3 + salt * 5) % 4 + 1
        if self.dtype == torch.bool:
            return (numbers + rank) % 3 != 0
        if self.dtype.is_complex:
            return torch.complex(numbers.double(), (numbers + rank).double())
        if self.dtype.is_floating_point:
            return numbers.double() / 2
        return numbers

    def place(self, numbers):
        """A tensor of the type and layout, with these numbers."""
        torch = self.torch
        numbers = numbers.to(self.dtype).to(self.device)
        if self.layout == "contiguous":
            return numbers
        if self.layout == "strided":
            room = torch.zeros(2 * numbers.numel(), dtype=self.dtype, device=self.device)
            view = room[::2]
            view.copy_(numbers)
            return view
        room = torch.zeros(2, numbers.numel() // 2, dtype=self.dtype, device=self.device).t()
        room.copy_(numbers.view(-1, 2))
        return room

    def zeros(self, count):
        return self.place(self.torch.zeros(count, dtype=self.torch.int64))

    def row(self, tensor):
        """Its numbers, in order, on the host."""
        return tensor.detach().cpu().contiguous().reshape(-1)

    def reduced(self, each):
        torch = self.torch
        if self.reduction in ("SUM", "PREMUL_SUM"):
            factor = 2 if self.reduction == "PREMUL_SUM" else 1
            if self.dtype == torch.bool:
                return torch.stack(each).any(0)
            return sum(each) * factor
        if self.reduction == "AVG":
            return (
                sum(each) / len(each)
                if self.dtype.is_floating_point or self.dtype.is_complex
                else sum(each) // len(each)
            )
        if self.reduction in ("PRODUCT", "MIN") and self.dtype == torch.bool:
            return torch.stack(each).all(0)
        if self.reduction == "MAX" and self.dtype == torch.bool:
            return torch.stack(each).any(0)
        combine = {
            "PRODUCT": torch.mul,
            "MIN": torch.minimum,
            "MAX": torch.maximum,
            "BAND": torch.bitwise_and,
            "BOR": torch.bitwise_or,
            "BXOR": torch.bitwise_xor,
        }[self.reduction]
        result = each[0]
        for other in each[1:]:
            result = combine(result, other)
        return result

    def run(self, dist, rank):
        """(what came, what must come) of the call, as lists of rows"""
        count, ranks = 12, range(RANKS)
        op = None
        if self.reduction == "PREMUL_SUM":
            op = dist._make_nccl_premul_sum(2.0)
        elif self.reduction is not None:
            op = getattr(dist.ReduceOp, self.reduction)
        own = self.values(rank, count)
        each = [self.values(other, count) for other in ranks]
        if self.layout == "sparse":
            return self.run_sparse(dist, rank)
        if self.operator == "all_reduce":
            tensor = self.place(own)
            dist.all_reduce(tensor, op)
            return [tensor], [self.reduced(each)]
        if self.operator == "reduce":
            tensor = self.place(own)
            dist.reduce(tensor, 1, op)
            return ([tensor], [self.reduced(each)]) if rank == 1 else ([], [])
        if self.operator in ("reduce_scatter", "reduce_scatter_tensor"):
            output = self.zeros(count)
            blocks = [[self.values(other, count, block) for block in ranks] for other in ranks]
            if self.operator == "reduce_scatter":
                dist.reduce_scatter(output, [self.place(block) for block in blocks[rank]], op)
            else:
                dist.reduce_scatter_tensor(output, self.place(self.torch.cat(blocks[rank])), op)
            return [output], [self.reduced([blocks[other][rank] for other in ranks])]
        if self.operator == "broadcast":
            tensor = self.place(own)
            dist.broadcast(tensor, 1)
            return [tensor], [each[1]]
        if self.operator == "all_gather":
            outputs = [self.zeros(count) for _ in ranks]
            dist.all_gather(outputs, self.place(own))
            return outputs, each
        if self.operator == "all_gather_into_tensor":
            output = self.zeros(count * RANKS)
            dist.all_gather_into_tensor(output, self.place(own))
            return [output], [self.torch.cat(each)]
        if self.operator == "gather":
            outputs = [self.zeros(count) for _ in ranks] if rank == 1 else None
            dist.gather(self.place(own), outputs, 1)
            return (outputs, each) if rank == 1 else ([], [])
        if self.operator == "scatter":
            blocks = [self.values(1, count, block) for block in ranks]
            output = self.zeros(count)
            dist.scatter(output, [self.place(block) for block in blocks] if rank == 1 else None, 1)
            return [output], [blocks[rank]]
        if self.operator in ("all_to_all", "all_to_all_single"):
            blocks = [[self.values(other, count, block) for block in ranks] for other in ranks]
            expected = [blocks[other][rank] for other in ranks]
            if self.operator == "all_to_all":
                outputs = [self.zeros(count) for _ in ranks]
                dist.all_to_all(outputs, [self.place(block) for block in blocks[rank]])
                return outputs, expected
            output = self.zeros(count * RANKS)
            dist.all_to_all_single(output, self.place(self.torch.cat(blocks[rank])))
            return [output], [self.torch.cat(expected)]
        tensor = self.place(own)
        if rank == 0:
            dist.send(tensor, 1)
            return [], []
        dist.recv(tensor, 0)
        return [tensor], [each[0]]

    def run_sparse(self, dist, rank):
        torch = self.torch
        made = [
            torch.sparse_coo_tensor([[0, 2 + other], [1, other]], [1.5 + other, 4.0], (4, 3)) for other in range(RANKS)
        ]
        tensor = made[rank].clone().to(self.device)
        dist.all_reduce(tensor)
        return [tensor.to_dense()], [sum(one.to_dense() for one in made).reshape(-1)]

    def verdict(self, dist, rank):
        try:
            came, expected = self.run(dist, rank)
        except Exception as error:
            return type(error).__name__ + ": " + str(error).strip().splitlines()[0][:160]
        for one, other in zip(came, expected):
            # Bit for bit: not all types can be compared.
            one, other = self.row(one), other.to(self.dtype).reshape(-1)
            if one.view(self.torch.uint8).ne(other.view(self.torch.uint8)).any():
                return "WRONG"
        return "right"


def worker(backend, rank, port, first):
    """Runs cells from a number on, and prints a line for each."""
    device = BACKENDS[backend][0]
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    if device == "npu":
        import torch_npu  # noqa: F401

        torch.npu.set_device(rank)
        device = f"npu:{rank}"
    elif backend != "gloo":
        import hccl.torch  # noqa: F401
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group(backend, rank=rank, world_size=RANKS)
    for number, cell in enumerate(cells()):
        if number >= first:
            print(json.dumps([number, Case(cell, device).verdict(dist, rank)]), flush=True)
    os._exit(0)


def measure(backend):
    """cell -> verdict"""
    found, all_cells = {}, list(cells())
    first = 0
    while first < len(all_cells):
        verdicts, crashed = run_from(backend, first)
        done = min((max(each, default=first - 1) for each in verdicts), default=first - 1) + 1
        for number in range(first, done):
            found[all_cells[number]] = merged([each[number] for each in verdicts])
        if done < len(all_cells):
            said = {each.get(done) for each in verdicts} - {None}
            found[all_cells[done]] = "crashes" if crashed else "one rank raises, the others hang" if said else "hangs"
        first = done + 1
    return found


def merged(said):
    kinds = {one.split(":")[0] for one in said}
    if len(kinds) == 1:
        return said[0]
    if "WRONG" in kinds:
        return "WRONG"
    # One rank is right where another raised.
    return " / ".join(sorted(kinds))


def run_from(backend, first):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        files = [open(os.path.join(folder, str(rank)), "w+") for rank in range(RANKS)]
        command = [
            sys.executable,
            os.path.abspath(__file__),
            "--worker",
            backend,
            "--port",
            str(port),
            "--first",
            str(first),
        ]
        processes = [
            subprocess.Popen([*command, "--rank", str(rank)], stdout=files[rank], stderr=subprocess.DEVNULL)
            for rank in range(RANKS)
        ]
        sizes, quiet = None, 0
        # A worker is waited for as long as any of them gets on.
        while any(process.poll() is None for process in processes):
            try:
                processes[0].wait(1)
                processes[1].wait(1)
            except subprocess.TimeoutExpired:
                pass
            now = [os.fstat(file.fileno()).st_size for file in files]
            quiet = 0 if now != sizes else quiet + 1
            sizes = now
            if quiet > LIMIT + (60 if not any(now) else 0):
                break
        crashed = any((process.poll() or 0) < 0 for process in processes)
        for process in processes:
            process.kill()
            process.wait()
        verdicts = []
        for file in files:
            file.seek(0)
            lines = [line for line in file.read().splitlines() if line.startswith("[") and line.endswith("]")]
            verdicts.append(dict(json.loads(line) for line in lines))
            file.close()
    if not any(verdicts) and not crashed:
        sys.exit(f"the workers of {backend} did not get as far as their first call")
    return verdicts, crashed


def faults(backend, found):
    """Cells that are to be mended: wrong ones, those that do not end, those on which ranks disagree."""
    bad = {cell: verdict for cell, verdict in found.items() if verdict == "WRONG" or " / " in verdict}
    bad |= {cell: verdict for cell, verdict in found.items() if "hang" in verdict or "crash" in verdict}
    if backend == "hccl":
        # The wheel pads what it gathers with zeros, and looks for the limits of the data type in a table that lacks
        # these, without asking whether they are there. No call of ours comes before that.
        lacking = ("uint16", "uint32", "uint64", "float8_e4m3fnuz", "float8_e5m2fnuz")
        bad = {cell: verdict for cell, verdict in bad.items() if verdict != "crashes" or cell[1] not in lacking}
    return list(bad.items())


def short(verdict):
    if verdict == "right":
        return "✔"
    if verdict == "WRONG":
        return "**WRONG**"
    return verdict.split(":")[0]


def cell_text(found, operator, dtype, reduction):
    each = [short(found[operator, dtype, reduction, layout]) for layout in LAYOUTS]
    if len(set(each)) == 1:
        return each[0]
    return ", ".join(f"{layout} {text}" for layout, text in zip(LAYOUTS, each))


def page_of(backend, found):
    """The part of the page for a backend."""
    lines = [f"## {BACKENDS[backend][1]}", ""]
    right = sum(verdict == "right" for verdict in found.values())
    wrong = sum(verdict == "WRONG" for verdict in found.values())
    refused = len(found) - right - wrong
    lines += [f"{len(found)} cells: {right} right, {refused} refused or not ended, {wrong} wrong.", ""]
    for operator in REDUCING:
        lines += [f"### {operator}", "", "| | " + " | ".join(REDUCTIONS) + " |", "| --- |" + " --- |" * len(REDUCTIONS)]
        for dtype in DTYPES:
            row = [cell_text(found, operator, dtype, reduction) for reduction in REDUCTIONS]
            lines.append(f"| {dtype} | " + " | ".join(row) + " |")
        lines.append("")
    lines += ["### Operators that move", "", "| | " + " | ".join(MOVING) + " |", "| --- |" + " --- |" * len(MOVING)]
    for dtype in DTYPES:
        row = [cell_text(found, operator, dtype, None) for operator in MOVING]
        lines.append(f"| {dtype} | " + " | ".join(row) + " |")
    sparse = short(found["all_reduce", "float32", "SUM", "sparse"])
    lines += ["", f"Sum of sparse float32 tensors by all_reduce: {sparse}.", ""]
    return "\n".join(lines)


HEAD = """# What `torch.distributed` can do here

Made by `python/suites/support_matrix.py` on {torch}; do not edit. Each cell is a call on two ranks with distinct
values, for tensors whose elements lie in order (contiguous), every second element of a larger tensor (strided), and a
transposed matrix. ✔ is the right result in every layout; the name of an exception is what every rank raises. Gloo
stands here to compare.

"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", metavar="FILE")
    parser.add_argument("--check", metavar="FILE")
    parser.add_argument("--backend", choices=BACKENDS, action="append", help="only this one (may be repeated)")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return worker(arguments.worker, arguments.rank, arguments.port, arguments.first)
    backends = arguments.backend or (OURS if arguments.check else tuple(BACKENDS))
    parts, wrong = {}, []
    for backend in backends:
        found = measure(backend)
        parts[backend] = page_of(backend, found)
        if backend in OURS:
            wrong += faults(backend, found)
        print(parts[backend].splitlines()[0][3:], parts[backend].splitlines()[2], flush=True)
    for cell, verdict in wrong:
        print(*cell, verdict)
    if arguments.write:
        import torch

        with open(arguments.write, "w") as file:
            file.write(HEAD.format(torch=f"torch {torch.__version__.split('+')[0]}") + "\n".join(parts.values()))
    if arguments.check:
        with open(arguments.check) as file:
            text = file.read()
        for backend, part in parts.items():
            if part not in text:
                print(f"{arguments.check} says something else of {backend}; write it anew")
                wrong.append(backend)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
