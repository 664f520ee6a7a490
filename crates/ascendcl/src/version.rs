//! Versions, and sizes of data types.

use std::ffi::c_int;
use std::io::Read as _;

use softnpu::{NpuError, NpuResult, code};

use crate::border::{Out, Text, acl, ask, call};

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

/// Text of 128 bytes, and of 64.
pub type VersionText = [u8; 128];
type Part = [u8; 64];

/// Text in a field, cut where it does not fit, with its NUL.
fn text<const N: usize>(value: &str) -> [u8; N] {
    let mut out = [0; N];
    let len = value.len().min(N - 1);
    out[..len].copy_from_slice(&value.as_bytes()[..len]);
    out
}

/// Names of packages, by their numbers.
const PACKAGES: [&str; 8] =
    ["cann", "runtime", "compiler", "hccl", "toolkit", "opp", "opp_kernel", "driver"];

/// Longest file that is read.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// Version that the installation says a package has.
///
/// # Errors
/// 100003 when there is no file that says so.
fn installed(package: &str) -> NpuResult<String> {
    let missing = |text: String| NpuError::new(code::INVALID_FILE, "EH0001", text);
    let home = std::env::var("ASCEND_HOME_PATH").unwrap_or_default();
    if home.is_empty() {
        return Err(missing("The environment variable ASCEND_HOME_PATH is not set.".to_owned()));
    }
    let path = std::path::Path::new(&home).join("share/info").join(package).join("version.info");
    let bad =
        |what: &dyn std::fmt::Display| missing(format!("The file {}: {what}.", path.display()));
    let mut content = String::new();
    std::fs::File::open(&path)
        .and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut content))
        .map_err(|error| bad(&error))?;
    let found = content.lines().find_map(|line| line.trim().strip_prefix("Version="));
    found.map(|version| version.trim().to_owned()).ok_or_else(|| bad(&"it has no line Version="))
}

/// Version of a package: what the installation says, else this library's own under the names of
/// the packages that it stands for.
fn package_version(name: &str) -> NpuResult<String> {
    let Some(known) = PACKAGES.iter().find(|known| **known == name) else {
        let allowed = format!("one of {}", PACKAGES.join(", "));
        return Err(NpuError::argument("pkgName", name, &allowed));
    };
    match (installed(known), name) {
        (Ok(version), _) => Ok(version),
        (Err(_), "cann" | "runtime" | "hccl" | "toolkit") => Ok(env!("CARGO_PKG_VERSION").into()),
        (Err(error), _) => Err(error),
    }
}

acl! {
    /// Version of a package as text.
    fn aclsysGetVersionStr(name: Text, version: Out<VersionText>) {
        version.check("versionStr")?;
        let name = name.get().ok_or_else(|| NpuError::null("pkgName"))?;
        version.put("versionStr", text(&package_version(&name)?))
    }
}

acl! {
    /// Version of a package as a number that grows with it.
    fn aclsysGetVersionNum(name: Text, version: Out<i32>) {
        version.check("versionNum")?;
        let name = name.get().ok_or_else(|| NpuError::null("pkgName"))?;
        let given = package_version(&name)?;
        let number = number(&given).ok_or_else(|| {
            let text = format!("The version {given} of {name} is no version: 8.5.0, or 8.5.RC1.");
            NpuError::new(code::INVALID_FILE, "EH0001", text)
        })?;
        version.put("versionNum", number)
    }
}

/// Major, minor and patch in decimal places; what comes before a release counts a little less.
fn number(version: &str) -> Option<i32> {
    const WEIGHTS: [i32; 3] = [10_000_000, 100_000, 1000];
    let mut total = 0i32;
    let mut place = 0;
    for part in version.split(['.', '-']) {
        let lower = part.to_ascii_lowercase();
        let before = [("alpha", 300), ("beta", 200), ("rc", 100)];
        if let Some((name, less)) = before.iter().find(|(name, _)| lower.starts_with(name)) {
            let digits = &lower[name.len()..];
            let count: i32 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
            return total.checked_sub(*less)?.checked_add(count);
        }
        let weight = *WEIGHTS.get(place)?;
        let value: i32 = part.parse().ok().filter(|value| *value >= 0)?;
        total = total.checked_add(value.checked_mul(weight)?)?;
        place += 1;
    }
    (place >= 2).then_some(total)
}

/// `aclCANNPackageVersion`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PackageVersion {
    version: VersionText,
    major: Part,
    minor: Part,
    release: Part,
    patch: Part,
    reserved: VersionText,
}
const _: () = assert!(size_of::<PackageVersion>() == 512);

/// Version of a package in parts, as its file in the installation says. That nothing says it is an
/// answer which programs ask for at their start, so it is neither logged nor kept as a message.
///
/// # Safety
/// 1. `version` is NULL or writable.
// SAFETY: the name is that of the interface that this library is.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is that of the C interface")]
pub unsafe extern "C" fn aclsysGetCANNVersion(
    package: c_int,
    version: Out<PackageVersion>,
) -> c_int {
    let known = usize::try_from(package).ok().and_then(|at| PACKAGES.get(at));
    let (false, Some(known)) = (version.is_null(), known) else {
        return call("aclsysGetCANNVersion", || {
            version.check("version")?;
            Err(NpuError::argument("name", package, "0 to 7"))
        });
    };
    ask(|| {
        let found = installed(known)?;
        let parts: Vec<&str> = found.split('.').collect();
        if parts.len() < 2 || parts.iter().any(|part| part.is_empty()) {
            let text = format!("The version {found} of {known} has fewer than two parts.");
            return Err(NpuError::new(code::INVALID_FILE, "EH0001", text));
        }
        let part = |at: usize| text(parts.get(at).copied().unwrap_or("0"));
        version.put(
            "version",
            PackageVersion {
                version: text(&found),
                major: part(0),
                minor: part(1),
                release: part(2),
                patch: part(3),
                reserved: [0; 128],
            },
        )
    })
}
