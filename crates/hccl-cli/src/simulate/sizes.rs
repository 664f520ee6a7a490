//! How people write amounts of data: `64M`, `1K,64M`, `8:256M:4`, and types of data.

use anyhow::{Context as _, Result, bail};

/// More than any machine has, and few enough to be counted in.
const BYTES_MAX: u64 = 1 << 50;
/// More rows than anybody reads.
const SIZES_MAX: usize = 1000;

/// Bytes of an element by the name of its type, as HCCL names them, and as others do.
const DATA_TYPES: [(&str, u32); 16] = [
    ("int8", 1),
    ("int16", 2),
    ("int32", 4),
    ("int64", 8),
    ("uint8", 1),
    ("uint16", 2),
    ("uint32", 4),
    ("uint64", 8),
    ("fp8", 1),
    ("fp16", 2),
    ("fp32", 4),
    ("fp64", 8),
    ("bfp16", 2),
    ("bf16", 2),
    ("half", 2),
    ("float", 4),
];

/// Bytes of an element of this type.
pub(super) fn element_bytes(name: &str) -> Result<u32> {
    match DATA_TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name.trim())) {
        Some((_, bytes)) => Ok(*bytes),
        None => {
            let names: Vec<_> = DATA_TYPES.iter().map(|(name, _)| *name).collect();
            bail!("`{name}` is no data type; allowed are {}", names.join(", "))
        }
    }
}

/// One amount.
pub(super) fn bytes(text: &str) -> Result<u64> {
    match crate::units::size(text).ok().filter(|bytes| (1..=BYTES_MAX).contains(bytes)) {
        Some(bytes) => Ok(bytes),
        None => bail!(
            "`{text}` is no amount of data; allowed are 1 to 1024T, as in 512, 64K, 256M, 4G \
             (K is 1024)"
        ),
    }
}

/// Amounts with commas between them, and ranges: first:last:factor, the factor being 2 if it is
/// left out.
pub(super) fn list(text: &str) -> Result<Vec<u64>> {
    let mut all = Vec::new();
    for item in text.split(',') {
        let parts: Vec<&str> = item.split(':').collect();
        match *parts {
            [one] => all.push(bytes(one)?),
            [first, last] => all.extend(range(bytes(first)?, bytes(last)?, 2)?),
            [first, last, by] => all.extend(range(bytes(first)?, bytes(last)?, factor(by)?)?),
            _ => bail!("`{item}` is no range of amounts; a range is FIRST:LAST:FACTOR"),
        }
        if all.len() > SIZES_MAX {
            bail!("there are more than {SIZES_MAX} amounts of data");
        }
    }
    Ok(all)
}

fn factor(text: &str) -> Result<u64> {
    text.trim()
        .parse()
        .ok()
        .filter(|by| (2..=1 << 20).contains(by))
        .with_context(|| format!("`{text}` is no factor; allowed are 2 to 1048576"))
}

/// From the first on, each so many times the one before, up to the last.
pub(super) fn range(first: u64, last: u64, by: u64) -> Result<Vec<u64>> {
    if by < 2 {
        bail!("{by} is no factor; allowed are 2 to 1048576");
    }
    if first > last {
        bail!("the range of amounts ends at {last}, before it begins at {first}");
    }
    let next = |size: &u64| size.checked_mul(by).filter(|size| *size <= last);
    Ok(std::iter::successors(Some(first), next).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::written;

    proptest! {
        #[test]
        fn what_is_written_is_read(size in 1..=BYTES_MAX, shift in 0u32..40) {
            for size in [size, (size >> shift).max(1) << shift.min(10)] {
                if size <= BYTES_MAX {
                    prop_assert_eq!(bytes(&written(size)).unwrap(), size);
                }
            }
        }

        #[test]
        fn no_text_panics(text in "[0-9]{0,20}[a-zA-Z:,]{0,3}[0-9]{0,20}[kKmM:,]{0,2}[0-9]{0,9}") {
            if let Ok(all) = list(&text) {
                prop_assert!(all.iter().all(|size| *size > 0));
            }
        }
    }

    #[test]
    fn lists_and_ranges() {
        assert_eq!(list("1K,64M").unwrap(), [1 << 10, 64 << 20]);
        assert_eq!(list("8:256:4").unwrap(), [8, 32, 128]);
        assert_eq!(list("3:24,7").unwrap(), [3, 6, 12, 24, 7]);
        assert_eq!(element_bytes("FP16").unwrap(), 2);
        for (text, why) in [
            ("", "no amount"),
            ("0", "no amount"),
            ("1.5K", "no amount"),
            ("2000T", "no amount"),
            ("8:4", "ends at 4, before it begins at 8"),
            ("8:64:1", "`1` is no factor"),
            ("1:2:3:4", "FIRST:LAST:FACTOR"),
        ] {
            let error = list(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!(element_bytes("fp33").unwrap_err().to_string().contains("fp32"));
    }
}
