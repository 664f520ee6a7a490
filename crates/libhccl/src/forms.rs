//! The forms in which programs find one operator. All of them run the same body, which differs in
//! nothing but the name that messages tell.
//!
//! - `HcclX`: on a communicator.
//! - `HcclXInner`: the same; a `libhccl.so` of the vendor's forwards to it in its `libhcomm.so`.
//! - `HcclXGraphMode`: on a communicator that is known by its group name, with what a graph engine
//!   brings along (see [`graph`](crate::graph)).

use std::ffi::c_void;

/// What all operators are given beside their data: how the call is named, and on what it works.
#[derive(Clone, Copy)]
pub(crate) struct On {
    pub(crate) call: &'static str,
    pub(crate) comm: *mut c_void,
    pub(crate) stream: *mut c_void,
}

/// Exports an operator in its forms. The body is a function of an [`On`] and the arguments that
/// stand before the communicator.
macro_rules! operator {
    (
        $(#[$doc:meta])*
        $plain:ident, $inner:ident: $body:ident($($arg:ident: $type:ty),* $(,)?)
    ) => {
        $crate::border::hccl_call! {
            $(#[$doc])*
            fn $plain($($arg: $type,)* comm: *mut std::ffi::c_void, stream: *mut std::ffi::c_void) {
                $body($crate::forms::On { call: stringify!($plain), comm, stream }, $($arg),*)
            }
        }

        $crate::border::hccl_call! {
            #[doc = concat!("[`", stringify!($plain), "`] under another name.")]
            fn $inner($($arg: $type,)* comm: *mut std::ffi::c_void, stream: *mut std::ffi::c_void) {
                $body($crate::forms::On { call: stringify!($inner), comm, stream }, $($arg),*)
            }
        }
    };
    (
        $(#[$doc:meta])*
        $plain:ident, $inner:ident, $graph:ident: $body:ident($($arg:ident: $type:ty),* $(,)?)
    ) => {
        $crate::forms::operator! {
            $(#[$doc])*
            $plain, $inner: $body($($arg: $type),*)
        }

        $crate::border::hccl_call! {
            #[doc = concat!("[`", stringify!($plain), "`] as a graph engine calls it.")]
            fn $graph(
                $($arg: $type,)*
                group: *const std::ffi::c_char,
                stream: *mut std::ffi::c_void,
                tag: *const std::ffi::c_char,
                streams: *mut *mut std::ffi::c_void,
                stream_count: usize,
                scratch: *mut std::ffi::c_void,
                scratch_size: u64,
            ) {
                let brought = $crate::graph::Brought { streams, stream_count, scratch, scratch_size };
                // SAFETY: texts are NULL or C strings by the contract of this function.
                let on = unsafe {
                    $crate::graph::on(stringify!($graph), group, stream, tag, brought)
                }?;
                $body(on, $($arg),*)
            }
        }
    };
}
pub(crate) use operator;
