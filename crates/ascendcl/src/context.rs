//! Contexts, and options of contexts and of the process.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

use parking_lot::Mutex;
use softnpu::context::{Context, current, forget_current, set_current};
use softnpu::runtime::runtime;
use softnpu::{NpuError, NpuResult, code};

use crate::border::{CONTEXTS, Out, STREAMS, acl, context_handle, handle};

fn get(given: *mut c_void) -> NpuResult<Arc<Context>> {
    if given.is_null() {
        return Err(NpuError::null("context"));
    }
    let context = CONTEXTS.get(given).filter(|context| !context.is_dead());
    context.ok_or_else(|| NpuError::handle("context", given))
}

acl! {
    /// Makes a context of a device, current on the calling thread.
    fn aclrtCreateContext(context: Out<*mut c_void>, device: i32) {
        context.check("context")?;
        let made = runtime()?.create_context(device)?;
        context.put("context", handle(&CONTEXTS, made, "context")?)
    }
}

acl! {
    /// Ends a context with its streams; not the one that `aclrtSetDevice` made.
    fn aclrtDestroyContext(context: *mut c_void) {
        let found = get(context)?;
        if found.is_primary() {
            let text = "The context that aclrtSetDevice made ends with aclrtResetDevice only.";
            return Err(NpuError::new(code::RT_CONTEXT_NULL, "EE1001", text));
        }
        for stream in found.streams().into_iter().filter(|stream| !stream.is_endless()) {
            // A failure of queued work is no reason to keep the context.
            let _ = stream.synchronize(None);
        }
        found.destroy();
        forget_current(&found);
        CONTEXTS.remove(context);
        STREAMS.retain(|stream| !stream.is_dead());
        Ok(())
    }
}

acl! {
    /// Makes a context the calling thread's.
    fn aclrtSetCurrentContext(context: *mut c_void) {
        set_current(get(context)?);
        Ok(())
    }
}

acl! {
    /// The calling thread's context.
    fn aclrtGetCurrentContext(context: Out<*mut c_void>) {
        context.check("context")?;
        context.put("context", context_handle(&current()?)?)
    }
}

acl! {
    /// Whether a device's own context exists; `flags` must be NULL.
    fn aclrtGetPrimaryCtxState(device: i32, flags: Out<u32>, active: Out<i32>) {
        if !flags.is_null() {
            return Err(NpuError::argument("flags", "a pointer", "NULL"));
        }
        let device = runtime()?.device_of(device)?;
        active.put("active", device.is_active().into())
    }
}

acl! {
    /// Handle of the current context's default stream.
    fn aclrtCtxGetCurrentDefaultStream(stream: Out<*mut c_void>) {
        stream.check("stream")?;
        let default = current()?.default_stream()?;
        let known = STREAMS.handle_of(&default);
        stream.put("stream", known.map_or_else(|| handle(&STREAMS, default, "stream"), Ok)?)
    }
}

/// Options 0 to 3: determinism, debug kernels, strong consistency, early start.
fn option(given: c_int) -> NpuResult<c_int> {
    if (0..=3).contains(&given) {
        return Ok(given);
    }
    Err(NpuError::argument("opt", given, "an aclSysParamOpt from 0 to 3"))
}

acl! {
    /// Sets an option of the current context.
    fn aclrtCtxSetSysParamOpt(given: c_int, value: i64) {
        current()?.set_option(option(given)?, value);
        Ok(())
    }
}

acl! {
    /// An option of the current context.
    fn aclrtCtxGetSysParamOpt(given: c_int, value: Out<i64>) {
        value.check("value")?;
        value.put("value", current()?.option(option(given)?)?)
    }
}

static OPTIONS: Mutex<Option<HashMap<c_int, i64>>> = Mutex::new(None);

acl! {
    /// Sets an option of the process.
    fn aclrtSetSysParamOpt(given: c_int, value: i64) {
        OPTIONS.lock().get_or_insert_default().insert(option(given)?, value);
        Ok(())
    }
}

acl! {
    /// An option of the process, 0 if it was never set.
    fn aclrtGetSysParamOpt(given: c_int, value: Out<i64>) {
        let given = option(given)?;
        let known = OPTIONS.lock().as_ref().and_then(|options| options.get(&given).copied());
        value.put("value", known.unwrap_or(0))
    }
}
