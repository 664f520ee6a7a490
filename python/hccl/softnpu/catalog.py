"""Which operator gets which treatment. Names and sets only; how a treatment works is in other modules.

An operator of `aten` reaches the NPU in one of these ways:
- `KEEP`: the wheel's own kernel is right, because it deals with storage and not with numbers.
- view operators: the wheel's kernel where there is one, else PyTorch's CPU kernel, which looks at sizes and
  strides only and does not care where the memory is.
- `special`: a kernel of ours written by hand.
- `RECOMPOSE`: PyTorch's device-independent kernel, made of other operators, called with the npu tensors.
- everything else with a CPU kernel: that kernel, called on views of the arguments.
"""

import re

import torch

KEEP = frozenset(
    """
    empty.memory_format empty_strided record_stream set_ set_.source_Storage
    set_.source_Storage_storage_offset set_.source_Tensor resize_ resize_as_ _resize_output_ as_strided_
    _reshape_alias _unsafe_view is_pinned _pin_memory pin_memory squeeze unsqueeze is_set_to
    _copy_from_and_resize
    """.split()
)

# Operators that the wheel defines and that deal with storage, in `aten` or in `npu`.
KEEP_OF_WHEEL = frozenset(
    """
    get_npu_format get_storage_size npu_change_data_ptr empty_with_format empty_with_format.names
    unsafe_empty_with_format empty_with_swapped_memory copy_memory_ record_stream _copy_from_and_resize
    save_npugraph_tensor save_npugraph_tensor.tensorlist
    """.split()
)

RECOMPOSE = frozenset(
    """
    new_empty_strided full full.names ones.names ones_like zeros.names
    randperm randperm.generator normal.float_float _pack_padded_sequence
    """.split()
)

# Arguments that PyTorch leaves in host memory although they are more than a single number.
HOST_ARGUMENTS = {
    "index": {"indices"},
    "index_put": {"indices"},
    "index_put_": {"indices"},
    "_index_put_impl_": {"indices"},
    "_unsafe_index": {"indices"},
    "_unsafe_index_put": {"indices"},
    "_foreach_copy_": {"src"},
    "_foreach_addcdiv": {"scalars"},
    "_foreach_addcdiv_": {"scalars"},
    "_foreach_addcmul": {"scalars"},
    "_foreach_addcmul_": {"scalars"},
    "_ctc_loss": {"input_lengths", "target_lengths"},
    "_ctc_loss_backward": {"input_lengths", "target_lengths"},
}

# Composite operators that are run as one operator although they have arguments (like `device`) that others are left
# alone for: one call is cheaper than many, or they are composite in name only and need a CPU tensor.
ONE_CALL = re.compile(r"^(_foreach_\w+(\.(?!out|\w+_out)\w+)?|convolution|convolution_backward|kaiser_window(\..*)?)$")

# Composite operators that hand out their argument, look only at what is not numbers, or are not for tensors.
LEAVE_COMPOSED = re.compile(
    r"^(_unsafe_view|_reshape_copy|lift|unsafe_split.*|dense_dim|is_.*|_has_same_storage_numel|_print|.*assert.*"
    r"|.*sym_constrain.*|_new_zeros_with_same_feature_meta|range\.out_|.*_overrideable.*)$"
)

# Out of scope: other layouts and quantized tensors. `_convert_indices_*` and `fake_quantize_*` are dense.
OTHER_LAYOUT = re.compile(
    r"^(?!_convert_indices|.*fake_quant).*(sparse|mkldnn|nested|jagged|quantize|quantized|int_repr|_spdiags"
    r"|to_padded_tensor|_coo_|_csr|_csc|_bsr|_bsc|empty_affine|per_channel_affine|sspaddmm|hspmm)"
)

IGNORE = re.compile(r"^(_test_|_foobar|_make_dep_token|_efficientzerotensor|from_file$)")

SEEDED = torch.Tag.nondeterministic_seeded
CHANGES_VIEW = torch.Tag.inplace_view
GENERATED = torch.Tag.generated


def base_name(name):
    """`index_put_` of `index_put_.hacked_twin`"""
    return name.split(".", 1)[0]


def is_view(schema):
    """Whether the operator returns an argument's memory under another shape, without writing it."""
    for result in schema.returns:
        info = result.alias_info
        if info is not None and not info.is_write:
            return True
    return False


def is_whole(name, schema, tags):
    """Whether a composite operator may run on the CPU as a whole. That is cheaper than operator by operator, and some
    are less independent of the device than their registration says."""
    if ONE_CALL.match(name):
        return True
    if LEAVE_COMPOSED.match(name) or tags & {SEEDED, CHANGES_VIEW, GENERATED}:
        return False
    return not any(argument.name in ("device", "layout") for argument in schema.arguments)
