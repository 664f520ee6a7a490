//! Sizes as people write and read them: binary, `64M` is 64 * 2^20 bytes.

/// Why a text is no size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no size: a whole number of bytes, or one with K, M, G or T after it (1K is 1024), \
     below 2^63"
)]
pub(crate) struct NoSize {
    text: String,
}

/// Reads a size: `4096`, `4K`, `64M`, `1G`, `1T`, also with `iB` or `B` behind.
pub(crate) fn size(text: &str) -> Result<u64, NoSize> {
    let fail = || NoSize { text: text.to_owned() };
    let word = text.trim().to_ascii_lowercase();
    let end = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
    let (digits, unit) = word.split_at(end);
    let shift = match unit.trim_start() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(fail()),
    };
    let number: u64 = digits.parse().map_err(|_| fail())?;
    let bytes = u128::from(number) << shift;
    u64::try_from(bytes).ok().filter(|bytes| *bytes < 1 << 63).ok_or_else(fail)
}

/// A size in the largest binary unit that is not above it, with three digits that count.
pub(crate) fn bytes(n: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let step = n.checked_ilog2().unwrap_or(0) / 10;
    let value = n as f64 / (1u64 << (10 * step)) as f64;
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    let number = format!("{value:.digits$}");
    let number = match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => &number,
    };
    format!("{number} {}", units[step as usize])
}

/// An amount in the largest unit that divides it.
pub(crate) fn written(bytes: u64) -> String {
    let units = [(1u64 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
    match units.into_iter().find(|(scale, _)| bytes > 0 && bytes.is_multiple_of(*scale)) {
        Some((scale, unit)) => format!("{}{unit}", bytes / scale),
        None => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary() {
        for (text, n) in [
            ("0", 0),
            ("4096", 4096),
            ("4K", 4096),
            ("64M", 64 << 20),
            (" 1 GiB", 1 << 30),
            ("2t", 2 << 40),
            ("7b", 7),
        ] {
            assert_eq!(size(text), Ok(n), "{text}");
        }
        for text in ["", "M", "-1", "1.5M", "1X", "9223372036854775808", "99999999999T", "0x10"] {
            assert!(size(text).unwrap_err().to_string().contains("K, M, G or T"), "{text}");
        }
    }

    #[test]
    fn sizes_are_written_short() {
        let texts = [0, 1023, 1024, 1536, 64 << 20, 100 << 30].map(bytes);
        assert_eq!(texts, ["0 B", "1023 B", "1 KiB", "1.5 KiB", "64 MiB", "100 GiB"]);
        assert_eq!(bytes(u64::MAX), "16 EiB");
    }
}
