//! Wishes for channels: objects that are made, filled and given up, and checked when they are used.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use hccl_abi::Table;
use parking_lot::Mutex;

use super::read_tag;
use crate::border::{hccl_call, present};
use crate::communicators::check_process;
use crate::errors::Failure;

#[derive(Default)]
struct Wishes {
    is_shared: bool,
    tag: Option<String>,
}

static CONFIGS: Table<Mutex<Wishes>> = Table::new(0x26);

const IS_SHARED_QUEUE: c_int = 0;
const SHARED_QUEUE_TAG: c_int = 1;

fn find(call: &str, config: *mut c_void) -> Result<Arc<Mutex<Wishes>>, Failure> {
    check_process()?;
    present(call, "config", config)?;
    CONFIGS.get(config).ok_or_else(|| unknown(call, config))
}

fn unknown(call: &str, config: *mut c_void) -> Failure {
    let expect = "what HcclChannelConfigCreate made, not destroyed";
    Failure::argument(call, "config", &format!("{config:p}"), expect)
}

/// Refuses wishes that are none, or that contradict each other; NULL wishes for nothing.
pub(super) fn check(call: &str, config: *mut c_void) -> Result<(), Failure> {
    if config.is_null() {
        return Ok(());
    }
    let wishes = find(call, config)?;
    let wishes = wishes.lock();
    if let Some(tag) = wishes.tag.as_ref().filter(|_| !wishes.is_shared) {
        let value = format!("a queue tag, {tag}, without a shared queue");
        let expect = "IS_SHARED_QUEUE to be 1 where SHARED_QUEUE_TAG is set";
        return Err(Failure::argument(call, "config", &value, expect));
    }
    Ok(())
}

hccl_call! {
    /// Makes wishes for channels.
    fn HcclChannelConfigCreate(config: *mut *mut c_void) {
        const CALL: &str = "HcclChannelConfigCreate";
        check_process()?;
        present(CALL, "config", config)?;
        let made = CONFIGS.insert(Arc::default()).ok_or_else(|| {
            Failure::argument(CALL, "config", "one more", "at most 16777216 configs")
        })?;
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe { config.write(made) };
        Ok(())
    }
}

hccl_call! {
    /// Gives wishes up.
    fn HcclChannelConfigDestroy(config: *mut c_void) {
        const CALL: &str = "HcclChannelConfigDestroy";
        find(CALL, config)?;
        CONFIGS.remove(config).map(drop).ok_or_else(|| unknown(CALL, config))
    }
}

hccl_call! {
    /// Sets a wish that is a number.
    fn HcclChannelConfigSetInt(config: *mut c_void, kind: c_int, value: u32) {
        const CALL: &str = "HcclChannelConfigSetInt";
        let wishes = find(CALL, config)?;
        if kind != IS_SHARED_QUEUE {
            let expect = "HCCL_CHANNEL_CONFIG_TYPE_IS_SHARED_QUEUE (0)";
            return Err(Failure::argument(CALL, "type", &kind.to_string(), expect));
        }
        if value > 1 {
            return Err(Failure::argument(CALL, "value", &value.to_string(), "0 or 1"));
        }
        wishes.lock().is_shared = value == 1;
        Ok(())
    }
}

hccl_call! {
    /// Sets a wish that is a text.
    fn HcclChannelConfigSetStr(config: *mut c_void, kind: c_int, value: *const c_char) {
        const CALL: &str = "HcclChannelConfigSetStr";
        let wishes = find(CALL, config)?;
        present(CALL, "value", value)?;
        if kind != SHARED_QUEUE_TAG {
            let expect = "HCCL_CHANNEL_CONFIG_TYPE_SHARED_QUEUE_TAG (1)";
            return Err(Failure::argument(CALL, "type", &kind.to_string(), expect));
        }
        // SAFETY: not NULL; a C string by the contract of this function.
        wishes.lock().tag = Some(unsafe { read_tag(CALL, "value", value) }?);
        Ok(())
    }
}
