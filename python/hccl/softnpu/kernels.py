"""Builds the kernel of an operator from its schema: view the arguments, call the CPU kernel, deliver results.

The kernel is generated as source text, once for every form of schema (about 300 forms for 1,400 operators),
so that a call costs no walk over arguments and no look at the schema. It is built when the operator is first
called: most programs use a tenth of the operators.

What a generated kernel does, in order:
1. find the device, from the first tensor argument or from the keyword `device`;
2. wait for that device's current stream if anything is pending anywhere;
3. call the CPU kernel on views. The call goes to the CPU's entry of the dispatch table itself, hence past
   autograd, autocast and Python modes, which all have had their turn for the npu operator;
4. arguments that the operator writes are returned as they came. `out=` arguments are replaced by fresh CPU
   tensors, which the kernel resizes at will, and are filled (and resized) from those.
"""

import functools

import torch

from hccl.softnpu import alias, catalog, rng

_GLOBALS = {
    "pending": alias.pending,
    "settle": alias.settle,
    "view": alias.view,
    "view_or_host": alias.view_or_host,
    "written_view": alias.written_view,
    "device_of": alias.device_of,
    "fresh": alias.fresh,
    "stand_in": rng.stand_in,
    "borrowed_default": rng.borrowed_default,
}


def build(name, schema, key, call, tags):
    """`call(key, *args, **kwargs)` runs the operator's kernel registered for a dispatch key."""
    source = _source(_Form(name, schema, tags))
    return _factory(source)(call, key)


def outs(given, device):
    """Fresh CPU tensors in place of one `out=` argument, or of a list of them.

    They have the size of what they stand for, so that PyTorch warns about resizing when it would, and because
    a few operators do not resize at all.
    """
    if isinstance(given, (list, tuple)):
        return [outs(one, device) for one in given]
    if given.get_device() != device:
        alias.written_view(given, device)
    return torch.empty(given.size(), dtype=given.dtype, device="cpu")


def deliver(given, made, device):
    """Moves what the kernel made into the `out=` argument, giving it another size if need be."""
    if isinstance(given, (list, tuple)):
        for one, value in zip(given, made):
            deliver(one, value, device)
        return
    if given.size() != made.size():
        given.resize_(made.size())
        # The wheel's kernel queues a copy of the old elements, which must not come after ours.
        if alias.pending.value:
            alias.settle(device)
    alias.view(given, device).copy_(made)


_GLOBALS["outs"] = outs
_GLOBALS["deliver"] = deliver


class _Form:
    """What the source text depends on. Names of positional arguments do not matter, their kinds do."""

    def __init__(self, name, schema, tags):
        host = catalog.HOST_ARGUMENTS.get(catalog.base_name(name), ())
        undefined_ok = "backward" in name
        positional, keywords = [], []
        for argument in schema.arguments:
            entry = (argument.name, _kind(argument, host, undefined_ok), argument)
            (keywords if argument.kwarg_only else positional).append(entry)
        while positional and positional[-1][1] is None:
            positional.pop()
        self.positional = positional
        self.keywords = [entry for entry in keywords if entry[1] is not None]
        self.seeded = catalog.SEEDED in tags and not any(
            kind == "generator" for _, kind, _ in positional + self.keywords
        )
        self.returns = schema.returns


def _kind(argument, host, undefined_ok):
    text = str(argument.type)
    info = argument.alias_info
    written = info is not None and info.is_write
    if "Tensor" in text:
        if written and argument.kwarg_only:
            return "outs"
        what = "written_view" if written else "view_or_host" if argument.name in host else "view"
        many = "List" in text or "[]" in text
        optional = "Optional" in text or "?" in text or undefined_ok
        return (what, many, optional)
    if "Generator" in text:
        return "generator"
    if argument.kwarg_only and argument.name in ("device", "pin_memory"):
        return argument.name
    return None


def _source(form):
    parameters, passed, before, after, tensors, owners = [], [], [], [], [], {}
    for index, (name, kind, argument) in enumerate(form.positional):
        local = f"a{index}"
        # Trailing arguments that have their default are not passed to a kernel at all.
        parameters.append(local if not argument.has_default_value() else f"{local}={argument.default_value!r}")
        passed.append(_pass(local, kind))
        _note(local, kind, argument, tensors, owners)
    parameters.append("*rest")
    passed.append("*rest")
    device_argument = None
    for name, kind, argument in form.keywords:
        default = "" if kind == "outs" else "=None"
        parameters.append(f"{name}{default}")
        if kind == "device":
            device_argument = name
        elif kind == "outs":
            before.append(f"made_{name} = outs({name}, device)")
            passed.append(f"{name}=made_{name}")
            after.append(f"deliver({name}, made_{name}, device)")
            _note(name, kind, argument, tensors, owners)
        elif kind != "pin_memory":
            passed.append(f"{name}={_pass(name, kind)}")
            _note(name, kind, argument, tensors, owners)
    parameters.append("**more")
    passed.append("**more")

    lines = []
    first = next((t for t in tensors if t[1] == "one"), None)
    if first is not None and tensors[0] is first and first[2] is False:
        lines.append("try:")
        lines.append(f"    device = {first[0]}.get_device()")
        lines.append("except AttributeError:")
        lines.append("    device = -1")
        lines.append("if device < 0:")
        lines.append(f"    device = device_of({', '.join(t[0] for t in tensors)})")
    elif device_argument:
        lines.append(f"device = {device_argument}.index if {device_argument} is not None else None")
        lines.append("if device is None:")
        lines.append(f"    device = device_of({', '.join(t[0] for t in tensors)})")
    else:
        lines.append(f"device = device_of({', '.join(t[0] for t in tensors)})")
    lines.append("if pending.value:")
    lines.append("    settle(device)")
    lines += before
    call = f"call(key, {', '.join(passed)})"
    value, results = _results(form.returns, owners)
    lines_of_call = [f"{value} = {call}" if value else call]
    if form.seeded:
        lines.append("with borrowed_default(device):")
        lines += ["    " + line for line in lines_of_call]
    else:
        lines += lines_of_call
    lines += after
    if results:
        lines.append(f"return {results}")
    body = "\n".join("        " + line for line in lines)
    return f"def factory(call, key):\n    def kernel({', '.join(parameters)}):\n{body}\n    return kernel\n"


def _pass(local, kind):
    if kind is None:
        return local
    if kind == "generator":
        return f"stand_in({local}, device)"
    what, many, optional = kind
    if many:
        one = f"{what}(t, device)"
        if optional:
            one = f"None if t is None else {one}"
        made = f"[{one} for t in {local}]"
        return f"None if {local} is None else {made}" if optional else made
    return f"None if {local} is None else {what}({local}, device)" if optional else f"{what}({local}, device)"


def _note(local, kind, argument, tensors, owners):
    if kind == "outs":
        tensors.append((local, "out", False))
    elif isinstance(kind, tuple):
        tensors.append((local, "many" if kind[1] else "one", kind[2]))
    else:
        return
    info = argument.alias_info
    if info is not None and info.is_write:
        for name in info.before_set:
            owners[name] = local


def _results(returns, owners):
    """(name the call's value is bound to or None, expression that is returned or None)"""
    if not returns:
        return None, None
    parts, uses_value = [], False
    for index, result in enumerate(returns):
        value = "r" if len(returns) == 1 else f"r[{index}]"
        info = result.alias_info
        owner = next((owners[name] for name in info.before_set if name in owners), None) if info else None
        text = str(result.type)
        if owner is not None:
            parts.append(owner)
            continue
        uses_value = True
        if "Tensor" not in text:
            parts.append(value)
        elif "List" in text or "[]" in text:
            parts.append(f"[fresh(t, device) for t in {value}]")
        else:
            parts.append(f"fresh({value}, device)")
    expression = parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
    return ("r" if uses_value else None), expression


@functools.lru_cache(maxsize=None)
def _factory(source):
    scope = dict(_GLOBALS)
    exec(compile(source, "<hccl.softnpu.kernels>", "exec"), scope)
    return scope["factory"]
