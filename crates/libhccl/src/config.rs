//! `HcclCommConfig`, read by the caller's size and version.

use std::time::Duration;

use hccl::{HcclAlgo, Product};

use crate::environment::{exec_timeout, parse_algo};
use crate::errors::Failure;
use crate::expansion;
use crate::runtime::product;

/// Size of the newest layout that this library knows (version 11).
const SIZE: usize = 2248;
const VERSION: u32 = 11;
const MAGIC: u32 = 0xf0f0_f0f0;
/// Header and the two fields of version 1.
const SIZE_MIN: usize = 32;
const NOT_SET: u32 = u32::MAX;

/// What a caller asked for, as far as it acts here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    /// Name of the communicator.
    pub(crate) name: Option<String>,
    /// How long an operation waits for others: `Some(None)` for as long as it takes.
    pub(crate) exec_timeout: Option<Option<Duration>>,
    /// Bytes that a call may have on its way.
    pub(crate) buffer_bytes: Option<u64>,
    /// Which algorithms operators run.
    pub(crate) algo: Option<HcclAlgo>,
    /// Free text for diagnosis.
    pub(crate) udi: Option<String>,
    /// Where operators are expanded, in the numbering of this field; 0 for nothing said.
    pub(crate) expansion: u32,
    /// Most memory of a symmetric window, gigabytes.
    pub(crate) window_gigabytes: Option<u64>,
}

/// Reads the caller's structure.
///
/// # Safety
/// 1. `config` is not NULL and readable for as many bytes as its first word says, at least 32.
pub(crate) unsafe fn read(call: &str, config: *const u8) -> Result<Config, Failure> {
    let mut bytes = [0u8; SIZE];
    // SAFETY: (1).
    unsafe { std::ptr::copy_nonoverlapping(config, bytes.as_mut_ptr(), 16) };
    let size = usize::try_from(u64_at(&bytes, 0)).unwrap_or(usize::MAX);
    let (magic, version) = (u32_at(&bytes, 8), u32_at(&bytes, 12));
    let bad =
        |field: &str, value: String, expect: &str| Failure::argument(call, field, &value, expect);
    if magic != MAGIC {
        let value = format!("{magic:#x}");
        return Err(bad("magic word", value, "0xf0f0f0f0 (call HcclCommConfigInit first)"));
    }
    if size < SIZE_MIN || version == 0 {
        let value = format!("{size} bytes, version {version}");
        return Err(bad("config", value, "at least 32 bytes and version 1"));
    }
    if version > VERSION || size != SIZE {
        crate::runtime::log_line!(
            Info,
            call,
            "HcclCommConfig of the caller has {size} bytes and version {version}; this library \
             knows {SIZE} bytes and version {VERSION}"
        );
    }
    let size = size.min(SIZE);
    // SAFETY: (1), and not more than our own.
    unsafe { std::ptr::copy_nonoverlapping(config, bytes.as_mut_ptr(), size) };
    // A field counts if the caller's version has it and the caller's structure reaches it.
    let has = |since: u32, end: usize| version >= since && size >= end;
    let word = |since: u32, at: usize| has(since, at + 4).then(|| u32_at(&bytes, at));
    let set = |since: u32, at: usize| word(since, at).filter(|&value| value != NOT_SET);
    let range =
        |field: &str, value: Option<u32>, ok: &dyn Fn(u32) -> bool, expect: &str| match value {
            Some(value) if !ok(value) => Err(bad(field, value.to_string(), expect)),
            _ => Ok(()),
        };
    range("hcclBufferSize", set(1, 24), &|v| v >= 1, "greater than or equal to 1(MB)")?;
    let deterministic = set(1, 28);
    range("hcclDeterministic", deterministic, &|v| v <= 2, "0, 1 or 2")?;
    if deterministic == Some(2) {
        strict_is_there(call, "hcclDeterministic", product())?;
    }
    range(
        "hcclRdmaTrafficClass",
        set(5, 292),
        &|v| v <= 255 && v.is_multiple_of(4),
        "range[0, 255], Must be a multiple of 4",
    )?;
    range("hcclRdmaServiceLevel", set(5, 296), &|v| v <= 7, "range[0, 7]")?;
    let zero_copy = has(7, 313).then(|| u32::from(bytes[312]));
    range("aclGraphZeroCopyEnable", zero_copy, &|v| v <= 1, "0 or 1")?;
    let exec_timeout = match set(8, 316) {
        Some(seconds) => {
            // Read as a signed number: other negative values than "not set" are out of range.
            let signed = i64::from(seconds.cast_signed());
            let taken = u64::try_from(signed).ok().and_then(|it| exec_timeout(product(), it).ok());
            if taken.is_none() {
                crate::runtime::log_line!(
                    Warning,
                    call,
                    "hcclExecTimeOut {signed} is out of range on this product and ignored"
                );
            }
            taken
        }
        None => None,
    };
    let name = if has(2, 160) { text(call, "hcclCommName", &bytes[32..160])? } else { None };
    let buffer_bytes = set(1, 24).map(|megabytes| u64::from(megabytes) << 20);
    let algo = if has(8, 1920) { text(call, "hcclAlgo", &bytes[320..1920])? } else { None };
    let algo = match algo.filter(|text| !text.trim().is_empty()) {
        Some(text) => {
            Some(parse_algo("hcclAlgo", &text).map_err(|expect| bad("hcclAlgo", text, &expect))?)
        }
        None => None,
    };
    let udi = if has(3, 288) { text(call, "hcclUdi", &bytes[160..288])? } else { None };
    let expansion = word(4, 288).unwrap_or(0);
    let expansion = if expansion <= expansion::LAST_CONFIGURED {
        expansion
    } else {
        crate::runtime::log_line!(
            Warning,
            call,
            "hcclOpExpansionMode {expansion} is ignored; allowed is 0 to {}",
            expansion::LAST_CONFIGURED
        );
        0
    };
    if has(8, 2098)
        && let Some(params) = text(call, "hcclRetryParams", &bytes[1970..2098])?
    {
        // It is written as the variable is, but blanks may stand in it.
        let bare: String = params.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        hccl_cluster::environment::check("HCCL_OP_RETRY_PARAMS", &bare)
            .map_err(|wrong| bad("hcclRetryParams", params, wrong.expect))?;
    }
    let window_gigabytes = has(10, 2240).then(|| u64_at(&bytes, 2232));
    if window_gigabytes == Some(0) {
        let expect = "greater than or equal to 1(GB)";
        return Err(bad("hcclSymWinMaxMemSizePerRank", "0".into(), expect));
    }
    Ok(Config { name, exec_timeout, buffer_bytes, algo, udi, expansion, window_gigabytes })
}

/// Refuses strict determinism where the product does not have it.
pub(crate) fn strict_is_there(call: &str, field: &str, product: Product) -> Result<(), Failure> {
    match product {
        Product::A2 | Product::A3 | Product::Ascend950 => Ok(()),
        other => {
            let value = format!("2 (strict) on {other:?}");
            Err(Failure::unsupported(call, field, &value, "0 or 1 on this product"))
        }
    }
}

/// A text field: NUL-terminated within its bounds, empty means not set.
fn text(call: &str, field: &str, bytes: &[u8]) -> Result<Option<String>, Failure> {
    let Some(end) = bytes.iter().position(|&byte| byte == 0) else {
        let expect = format!("at most {} characters", bytes.len() - 1);
        return Err(Failure::argument(call, field, "a text without end", &expect));
    };
    Ok((end > 0).then(|| String::from_utf8_lossy(&bytes[..end]).into_owned()))
}

fn u32_at(bytes: &[u8; SIZE], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn u64_at(bytes: &[u8; SIZE], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}
