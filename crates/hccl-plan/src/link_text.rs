//! How people write links: `5us:56GB/s`, `60us:200Gb/s`, `1500ns:25GB/s:rank`.
//!
//! Latency, bandwidth in one direction, and where it is not as usual in the tier, who shares the
//! bandwidth. As always with networks, `B` is bytes and `b` is bits, and thousands are decimal.

use std::fmt;
use std::str::FromStr;

use crate::topology::{Link, Ports};

/// Why a text is no link.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no link: {why}; a link is LATENCY:BANDWIDTH or LATENCY:BANDWIDTH:PORTS, where \
     latency has the unit ns, us, ms or s, bandwidth B/s, KB/s, MB/s, GB/s, TB/s (bytes) or b/s, \
     Kb/s, Mb/s, Gb/s, Tb/s (bits), and ports is pair or rank, as in 5us:56GB/s or \
     60us:200Gb/s:rank"
)]
pub struct UnknownLink {
    /// What was given.
    pub text: String,
    /// What is wrong with it.
    pub why: &'static str,
}

/// Nanoseconds of the units of time.
const TIMES: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
/// Bits of the units of bandwidth.
const RATES: [(&str, u64); 10] = [
    ("B/s", 8),
    ("KB/s", 8_000),
    ("MB/s", 8_000_000),
    ("GB/s", 8_000_000_000),
    ("TB/s", 8_000_000_000_000),
    ("b/s", 1),
    ("Kb/s", 1_000),
    ("Mb/s", 1_000_000),
    ("Gb/s", 1_000_000_000),
    ("Tb/s", 1_000_000_000_000),
];

impl FromStr for Link {
    type Err = UnknownLink;

    fn from_str(text: &str) -> Result<Self, UnknownLink> {
        let fail = |why| UnknownLink { text: text.to_owned(), why };
        let mut parts = text.trim().split(':');
        let (latency, rate) = (parts.next().unwrap_or(""), parts.next());
        let latency_ns = measure(latency, &TIMES).ok_or_else(|| fail("its latency is none"))?;
        let rate = rate.ok_or_else(|| fail("it has no bandwidth"))?;
        let bits = measure(rate, &RATES).ok_or_else(|| fail("its bandwidth is none"))?;
        if bits < 8 {
            return Err(fail("its bandwidth is less than a byte a second"));
        }
        let ports = match parts.next() {
            None => None,
            Some("pair") => Some(Ports::Pair),
            Some("rank") => Some(Ports::Rank),
            Some(_) => return Err(fail("its ports are neither pair nor rank")),
        };
        if parts.next().is_some() {
            return Err(fail("it has too many parts"));
        }
        let part = |value: u128| u64::try_from(value).map_err(|_| fail("a number is too large"));
        Ok(Self { latency_ns: part(latency_ns)?, bytes_per_s: part(bits / 8)?, ports })
    }
}

/// A decimal number with a unit, in the smallest unit; what is finer is cut off.
fn measure(text: &str, units: &[(&str, u64)]) -> Option<u128> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(digits);
    let (_, scale) = units.iter().find(|(name, _)| *name == unit.trim())?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if fraction.len() > 15 {
        return None;
    }
    let tenths = 10u128.pow(fraction.len() as u32);
    let (whole, fraction): (u64, u64) = (whole.parse().ok()?, fraction.parse().ok()?);
    let scale = u128::from(*scale);
    Some(u128::from(whole) * scale + u128::from(fraction) * scale / tenths)
}

/// The number in the largest of the units that divides it.
fn written(value: u64, factor: u64, units: &[(&str, u64)]) -> String {
    let fits = |(_, scale): &&(&str, u64)| {
        let scale = scale / factor;
        scale == 1 || value >= scale && value.is_multiple_of(scale)
    };
    let largest = units.iter().rfind(fits).unwrap_or(&units[0]);
    format!("{}{}", value / (largest.1 / factor), largest.0)
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let latency = written(self.latency_ns, 1, &TIMES);
        let rate = written(self.bytes_per_s, 8, &RATES[..5]);
        let ports = match self.ports {
            None => "",
            Some(Ports::Pair) => ":pair",
            Some(Ports::Rank) => ":rank",
        };
        f.pad(&format!("{latency}:{rate}{ports}"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            latency_ns in prop_oneof![any::<u64>(), (0u64..1000).prop_map(|us| us * 1000)],
            bytes_per_s in prop_oneof![1..=u64::MAX, (1u64..1000).prop_map(|gb| gb * 1_000_000_000)],
            ports in prop::sample::select(vec![None, Some(Ports::Pair), Some(Ports::Rank)]),
        ) {
            let link = Link { latency_ns, bytes_per_s, ports };
            prop_assert_eq!(link.to_string().parse(), Ok(link));
        }

        #[test]
        fn no_text_panics(text in "[0-9.]{0,22}[a-zA-Z/]{0,4}:?[0-9.]{0,22}[a-zA-Z/]{0,4}:?.{0,4}") {
            if let Err(error) = text.parse::<Link>() {
                prop_assert!(error.to_string().contains("5us:56GB/s"));
            }
        }
    }

    #[test]
    fn bits_bytes_and_fractions() {
        let link = |latency_ns, bytes_per_s| Link { latency_ns, bytes_per_s, ports: None };
        assert_eq!("5us:56GB/s".parse(), Ok(link(5_000, 56_000_000_000)));
        assert_eq!("60us:200Gb/s".parse(), Ok(link(60_000, 25_000_000_000)));
        assert_eq!("1.5us:0.5KB/s".parse(), Ok(link(1_500, 500)));
        let rank = Link { ports: Some(Ports::Rank), ..link(0, 1) };
        assert_eq!("0ns:8b/s:rank".parse(), Ok(rank));
        assert_eq!(link(1_500, 25_000_000_000).to_string(), "1500ns:25GB/s");
    }

    #[test]
    fn errors_say_what_is_wrong() {
        for (text, why) in [
            ("", "latency"),
            ("5", "latency"),
            ("5us", "no bandwidth"),
            ("5us:56", "bandwidth is none"),
            ("5us:56gb/s", "bandwidth is none"),
            ("5us:7b/s", "less than a byte"),
            ("5us:1GB/s:both", "neither pair nor rank"),
            ("5us:1GB/s:pair:pair", "too many parts"),
            ("99999999999999999999us:1GB/s", "latency"),
            ("5us:18446744073709551615TB/s", "too large"),
        ] {
            let error = text.parse::<Link>().unwrap_err();
            assert!(error.why.contains(why), "{text}: {error}");
        }
    }
}
