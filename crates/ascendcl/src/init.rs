//! Life of the library in a process: `aclInit` to `aclFinalize`.

use std::ffi::c_int;

use parking_lot::Mutex;
use softnpu::context::set_default_device;
use softnpu::messages::{Mode, set_mode};
use softnpu::runtime::runtime;
use softnpu::{NpuError, NpuResult, code};

use crate::border::{Out, Text, acl};

struct Life {
    references: u64,
    finalized: bool,
    /// Text of the first configuration, empty for none: a later one must be the same.
    config: Option<String>,
}

static LIFE: Mutex<Life> = Mutex::new(Life { references: 0, finalized: false, config: None });

acl! {
    /// Begins the use of AscendCL; `config_path` names a JSON file, or is NULL or empty.
    fn aclInit(config_path: Text) {
        let mut life = LIFE.lock();
        if life.references > 0 {
            life.references += 1;
            let text = "AscendCL is initialized already; this call only counts.";
            return Err(NpuError::new(code::REPEAT_INITIALIZE, "EH0001", text));
        }
        runtime()?;
        let path = config_path.get().unwrap_or_default();
        let text = if path.is_empty() { String::new() } else { read_config(&path)? };
        match &life.config {
            Some(first) if *first != text => {
                let given = if path.is_empty() { "no configuration".to_owned() } else { path };
                let allowed = "the configuration of the first aclInit of this process";
                return Err(NpuError::argument("configPath", given, allowed));
            }
            _ => life.config = Some(text.clone()),
        }
        life.references = 1;
        life.finalized = false;
        drop(life);
        crate::life_callbacks::begin(&text).inspect_err(|_| {
            // Refused: it was not begun.
            let mut life = LIFE.lock();
            life.references = life.references.saturating_sub(1);
        })
    }
}

/// The configuration, while AscendCL is in use.
pub(crate) fn config_in_use() -> Option<String> {
    let life = LIFE.lock();
    (life.references > 0).then(|| life.config.clone().unwrap_or_default())
}

/// Keys that do nothing here are accepted: the file serves other components too.
fn read_config(path: &str) -> NpuResult<String> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        NpuError::new(code::INVALID_FILE, "EH0001", format!("The file {path}: {error}."))
    })?;
    let config: serde_json::Value = serde_json::from_str(&text).map_err(|error| {
        let text = format!("The file {path} is not JSON: {error}.");
        NpuError::new(code::PARSE_FILE, "EH0001", text)
    })?;
    if let Some(device) = config.pointer("/defaultDevice/default_device") {
        let number = device.as_str().map_or_else(|| device.as_i64(), |text| text.parse().ok());
        let device = number.and_then(|number| i32::try_from(number).ok()).ok_or_else(|| {
            NpuError::argument("defaultDevice.default_device", device, "a device id as text")
        })?;
        runtime()?.device_of(device)?;
        set_default_device(device);
    }
    match config.pointer("/err_msg_mode").and_then(|mode| mode.as_str()) {
        Some("1") => set_mode(Mode::Process),
        None | Some("0") => set_mode(Mode::Thread),
        Some(other) => return Err(NpuError::argument("err_msg_mode", other, "\"0\" or \"1\"")),
    }
    Ok(text)
}

fn finalize(life: &mut Life) {
    life.references = 0;
    life.finalized = true;
    set_default_device(-1);
}

acl! {
    /// Ends the use of AscendCL, however often it was begun.
    fn aclFinalize() {
        let mut life = LIFE.lock();
        if life.finalized {
            return Err(repeated());
        }
        if life.references == 0 {
            return Ok(());
        }
        finalize(&mut life);
        drop(life);
        crate::life_callbacks::end()
    }
}

acl! {
    /// Takes one `aclInit` back; the last one ends the use. The new count goes to `references`.
    fn aclFinalizeReference(references: Out<u64>) {
        let mut life = LIFE.lock();
        match life.references {
            0 => return Err(repeated()),
            1 => finalize(&mut life),
            _ => life.references -= 1,
        }
        let left = life.references;
        drop(life);
        references.put_if_wanted(left);
        if left == 0 { crate::life_callbacks::end() } else { Ok(()) }
    }
}

fn repeated() -> NpuError {
    let text = "AscendCL is not initialized, or was finalized already.";
    NpuError::new(code::REPEAT_FINALIZE, "EH0001", text)
}

/// Answer of calls whose feature has nothing to do here and whose success promises nothing.
const NOTHING_TO_DO: c_int = code::SUCCESS;

/// Dumping of models begins; there are no models to dump.
// SAFETY: the name is that of the interface that this library is.
#[unsafe(no_mangle)]
pub extern "C" fn aclmdlInitDump() -> c_int {
    NOTHING_TO_DO
}

/// Dumping of models ends.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn aclmdlFinalizeDump() -> c_int {
    NOTHING_TO_DO
}

acl! {
    /// Would configure a dump of operator data, which this product does not have.
    fn aclmdlSetDump(_path: Text) {
        Err(NpuError::unsupported("aclmdlSetDump: dumping operator data"))
    }
}
