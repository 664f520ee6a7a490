//! Times and speeds as people read them.

/// Nanoseconds with three digits that count, in the unit that fits.
pub(super) fn time(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// Bytes a second, decimal as links are sold.
pub(super) fn speed(bytes_per_s: u64) -> String {
    match bytes_per_s {
        0..10_000_000 => format!("{bytes_per_s} B/s"),
        10_000_000..1_000_000_000 => format!("{} MB/s", three_digits(bytes_per_s as f64 / 1e6)),
        _ => format!("{} GB/s", three_digits(bytes_per_s as f64 / 1e9)),
    }
}

fn three_digits(value: f64) -> String {
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([time(999), time(1_234), time(60_000)], ["999 ns", "1.23 us", "60 us"]);
        assert_eq!([speed(12_500_000_000), speed(125_000_000)], ["12.5 GB/s", "125 MB/s"]);
        assert_eq!([time(1_500_000), time(2_000_000_000)], ["1.5 ms", "2 s"]);
    }
}
