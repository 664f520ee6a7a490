//! How values of variables are written.

use std::net::IpAddr;

/// What a value may be.
#[derive(Debug)]
pub(super) enum Rule {
    /// A decimal number from the first to the second.
    Number(u64, u64),
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of these words, which are lower case here, in any case.
    AnyCase(&'static [&'static str]),
    /// Fewer characters than this.
    Shorter(usize),
    /// Modules with commas between; a `^` before the first means all others.
    Modules(&'static [Module]),
    /// Whatever this function says.
    Is(fn(&str) -> bool),
}

/// A part of the library that may log more.
#[derive(Debug)]
pub(super) struct Module {
    pub(super) upper: &'static str,
    pub(super) lower: &'static str,
}

impl Rule {
    pub(super) fn allows(&self, value: &str) -> bool {
        match self {
            Self::Number(least, most) => number(value, *least, *most),
            Self::Words(words) => words.contains(&value),
            Self::AnyCase(words) => words.iter().any(|word| word.eq_ignore_ascii_case(value)),
            Self::Shorter(limit) => value.chars().count() < *limit,
            Self::Modules(modules) => {
                let known = |name: &str| {
                    modules.iter().any(|module| name == module.upper || name == module.lower)
                };
                value.strip_prefix('^').unwrap_or(value).split(',').all(known)
            }
            Self::Is(allowed) => allowed(value),
        }
    }
}

/// Digits and nothing else, in a range.
fn number(text: &str, least: u64, most: u64) -> bool {
    decimal(text).is_some_and(|value| (least..=most).contains(&value))
}

fn decimal(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// A number with or without a fraction and a sign.
pub(super) fn fraction(text: &str) -> bool {
    // What else Rust takes for a number (inf, nan) are words.
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b".-+eE".contains(&byte));
    plain && text.parse::<f64>().is_ok()
}

pub(super) fn ip(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok()
}

/// `<ip>` or `<ip>%<interface>`.
pub(super) fn ip_of_interface(text: &str) -> bool {
    match text.split_once('%') {
        Some((address, interface)) => ip(address) && !interface.is_empty(),
        None => ip(text),
    }
}

/// Names of interfaces, or beginnings of names: `eth,enp`, `^eth`, `=eth0,enp0`, `^=eth0`.
pub(super) fn interfaces(text: &str) -> bool {
    let names = text.strip_prefix('^').unwrap_or(text);
    let names = names.strip_prefix('=').unwrap_or(names);
    names.split(',').all(|name| !name.is_empty() && !name.contains(['^', '=']))
}

/// `auto`, or ports and ranges of ports that do not overlap.
pub(super) fn ports(text: &str) -> bool {
    if text == "auto" {
        return true;
    }
    let range = |item: &str| {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let (first, last) = (decimal(first)?, decimal(last)?);
        (1 <= first && first <= last && last <= 65535).then_some((first, last))
    };
    let Some(mut ranges) = text.split(',').map(range).collect::<Option<Vec<_>>>() else {
        return false;
    };
    ranges.sort_unstable();
    ranges.windows(2).all(|pair| pair[0].1 < pair[1].0)
}

pub(super) fn traffic_class(text: &str) -> bool {
    decimal(text).is_some_and(|value| value <= 255 && value.is_multiple_of(4))
}

/// Pairs `key:value` of what is known about faults.
pub(super) fn dfs(text: &str) -> bool {
    text.split(',').all(|pair| {
        let Some((key, value)) = pair.split_once(':') else {
            return false;
        };
        match key {
            "connection_fault_detection_time" => number(value, 0, 0) || number(value, 20, 7200),
            "cluster_heartbeat" | "stuck_detection" | "task_exception" => {
                ["on", "off"].contains(&value)
            }
            "inconsistent_check" => ["on", "first", "off"].contains(&value),
            "task_monitor_interval" => number(value, 0, 7_200_000),
            _ => false,
        }
    })
}

/// `L1:<0 or 1>,L2:<0 or 1>`; a level may be left out, and a level 0 may be there.
pub(super) fn retry_levels(text: &str) -> bool {
    let mut seen = Vec::new();
    text.split(',').all(|pair| {
        let Some((level, value)) = pair.split_once(':') else {
            return false;
        };
        let fresh = !seen.contains(&level);
        seen.push(level);
        fresh && ["L0", "L1", "L2"].contains(&level) && ["0", "1"].contains(&value)
    })
}

/// Three numbers with their names, in this order and without blanks.
pub(super) fn retry_params(text: &str) -> bool {
    let known = [("MaxCnt", 1, 10), ("HoldTime", 0, 60000), ("IntervalTime", 0, 60000)];
    let mut pairs = text.split(',');
    let all = known.iter().all(|(key, least, most)| {
        let pair = pairs.next().and_then(|pair| pair.split_once(':'));
        pair.is_some_and(|(name, value)| name == *key && number(value, *least, *most))
    });
    all && pairs.next().is_none()
}

pub(super) fn absolute_path(text: &str) -> bool {
    text.starts_with('/') && text.len() < 4096
}
