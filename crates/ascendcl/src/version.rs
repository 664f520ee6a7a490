//! Versions, and sizes of data types.

use std::ffi::{c_char, c_int};

use softnpu::{NpuError, NpuResult};

use crate::border::{Out, Text, acl};

acl! {
    /// Version of the runtime interface: 1.17.0.
    fn aclrtGetVersion(major: Out<i32>, minor: Out<i32>, patch: Out<i32>) {
        for (out, name) in [(major, "majorVersion"), (minor, "minorVersion"), (patch, "patchVersion")] {
            out.check(name)?;
        }
        major.put("majorVersion", 1)?;
        minor.put("minorVersion", 17)?;
        patch.put("patchVersion", 0)
    }
}

/// Size of an `aclDataType`, bytes; 0 for text and undefined types.
// SAFETY: the name is that of the interface that this library is.
#[unsafe(no_mangle)]
pub extern "C" fn aclDataTypeSize(data_type: c_int) -> usize {
    match data_type {
        -1 | 13 => 0,
        2 | 4 | 12 | 29 | 30 | 34..=37 => 1,
        1 | 6 | 7 | 27 => 2,
        0 | 3 | 8 | 33 => 4,
        17 => 16,
        _ => 8,
    }
}

/// Text that a version call fills: 128 bytes.
pub type VersionText = [c_char; 128];

fn text(value: &str) -> VersionText {
    let mut out = [0; 128];
    for (to, from) in out.iter_mut().zip(value.bytes()).take(127) {
        *to = from as c_char;
    }
    out
}

/// This library's version under the names of the packages that ask for it.
fn package_version(name: &str) -> NpuResult<&'static str> {
    match name {
        "cann" | "runtime" | "hccl" | "toolkit" => Ok(env!("CARGO_PKG_VERSION")),
        other => Err(NpuError::argument("pkgName", other, "cann, runtime, hccl or toolkit")),
    }
}

acl! {
    /// Version of a package as text. It is this project's own, not that of a vendor's release.
    fn aclsysGetVersionStr(name: Text, version: Out<VersionText>) {
        version.check("versionStr")?;
        let name = name.get().ok_or_else(|| NpuError::null("pkgName"))?;
        version.put("versionStr", text(package_version(&name)?))
    }
}
