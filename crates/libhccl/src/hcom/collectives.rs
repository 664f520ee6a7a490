//! The operators by group name, each with a tag.

use std::ffi::{c_char, c_int, c_void};

use crate::border::hccl_call;
use crate::graph::on_group;
use crate::operators::{all_gather, all_reduce, all_to_all, broadcast, reduce, reduce_scatter};
use crate::transfers::{tagged_receive, tagged_send};
use crate::uneven::{all_gather_v, all_to_all_v, all_to_all_vc, reduce_scatter_v};

/// Exports an operator whose tag comes first.
macro_rules! tag_first {
    ($(#[$doc:meta])* $name:ident: $body:ident($($arg:ident: $type:ty),* $(,)?)) => {
        hccl_call! {
            $(#[$doc])*
            fn $name(
                tag: *const c_char,
                $($arg: $type,)*
                group: *const c_char,
                stream: *mut c_void,
            ) {
                // SAFETY: NULL or C strings by the contract of this function.
                let on = unsafe { on_group(stringify!($name), group, stream, tag) }?;
                $body(on, $($arg),*)
            }
        }
    };
}

/// Exports an operator whose tag comes last.
macro_rules! tag_last {
    ($(#[$doc:meta])* $name:ident: $body:ident($($arg:ident: $type:ty),* $(,)?)) => {
        hccl_call! {
            $(#[$doc])*
            fn $name(
                $($arg: $type,)*
                group: *const c_char,
                stream: *mut c_void,
                tag: *const c_char,
            ) {
                // SAFETY: NULL or C strings by the contract of this function.
                let on = unsafe { on_group(stringify!($name), group, stream, tag) }?;
                $body(on, $($arg),*)
            }
        }
    };
}

tag_first! {
    /// `HcclAllGather` by group.
    HcomAllGather: all_gather(
        send: *mut c_void,
        receive: *mut c_void,
        count: u64,
        data_type: c_int,
    )
}

tag_first! {
    /// `HcclAllGatherV` by group.
    HcomAllGatherV: all_gather_v(
        send: *mut c_void,
        send_count: u64,
        receive: *mut c_void,
        receive_counts: *const u64,
        receive_displacements: *const u64,
        data_type: c_int,
    )
}

tag_first! {
    /// `HcclAllReduce` by group.
    HcomAllReduce: all_reduce(
        send: *mut c_void,
        receive: *mut c_void,
        count: u64,
        data_type: c_int,
        op: c_int,
    )
}

tag_first! {
    /// `HcclReduce` by group.
    HcomReduce: reduce(
        send: *mut c_void,
        receive: *mut c_void,
        count: u64,
        data_type: c_int,
        op: c_int,
        root: u32,
    )
}

tag_first! {
    /// `HcclBroadcast` by group.
    HcomBroadcast: broadcast(buffer: *mut c_void, count: u64, data_type: c_int, root: u32)
}

tag_first! {
    /// `HcclReduceScatter` by group.
    HcomReduceScatter: reduce_scatter(
        send: *mut c_void,
        receive: *mut c_void,
        count: u64,
        data_type: c_int,
        op: c_int,
    )
}

tag_first! {
    /// `HcclReduceScatterV` by group.
    HcomReduceScatterV: reduce_scatter_v(
        send: *mut c_void,
        send_counts: *const u64,
        send_displacements: *const u64,
        receive: *mut c_void,
        receive_count: u64,
        data_type: c_int,
        op: c_int,
    )
}

tag_first! {
    /// `HcclSend` by group, for a receive of the same `message_tag`.
    HcomSend: tagged_send(
        buffer: *mut c_void,
        count: u64,
        data_type: c_int,
        peer: u32,
        message_tag: u32,
    )
}

tag_first! {
    /// `HcclRecv` by group, for a send of the same `message_tag`.
    HcomReceive: tagged_receive(
        buffer: *mut c_void,
        count: u64,
        data_type: c_int,
        peer: u32,
        message_tag: u32,
    )
}

tag_last! {
    /// `HcclAlltoAll` by group.
    HcomAllToAll: all_to_all(
        send: *const c_void,
        send_count: u64,
        send_type: c_int,
        receive: *const c_void,
        receive_count: u64,
        receive_type: c_int,
    )
}

tag_last! {
    /// `HcclAlltoAllV` by group.
    HcomAlltoAllV: all_to_all_v(
        send: *const c_void,
        send_counts: *const u64,
        send_displacements: *const u64,
        send_type: c_int,
        receive: *const c_void,
        receive_counts: *const u64,
        receive_displacements: *const u64,
        receive_type: c_int,
    )
}

tag_last! {
    /// `HcclAlltoAllVC` by group.
    HcomAlltoAllVC: all_to_all_vc(
        send: *const c_void,
        matrix: *const u64,
        send_type: c_int,
        receive: *const c_void,
        receive_type: c_int,
    )
}
