//! How much data, in blocks or elements, added up and written in a few letters.

use hccl_plan::Span;

/// An amount of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    /// A fraction of blocks, numerator and denominator.
    Blocks(u64, u64),
    /// Elements, where a plan counts them.
    Elements(u64),
}

impl Amount {
    /// What a span covers.
    pub(super) fn of(span: Span) -> Self {
        match span {
            Span::Parts { len, of, .. } => Self::reduced(len.into(), of.into()),
            Span::Blocks { len } => Self::Blocks(len.into(), 1),
            Span::Exact { len } => Self::Elements(len),
        }
    }

    /// With another span.
    pub(super) fn and(self, span: Span) -> Self {
        match (self, Self::of(span)) {
            (Self::Blocks(a, b), Self::Blocks(c, d)) => {
                // Denominators are below 2^32, and so is their common multiple in all plans.
                let den = (b / gcd(b, d).max(1)).saturating_mul(d).max(1);
                let scaled = |num: u64, old: u64| num.saturating_mul(den / old.max(1));
                Self::reduced(scaled(a, b).saturating_add(scaled(c, d)), den)
            }
            (Self::Elements(a), Self::Elements(b)) => Self::Elements(a.saturating_add(b)),
            (first, _) => first,
        }
    }

    fn reduced(num: u64, den: u64) -> Self {
        let divisor = gcd(num, den).max(1);
        Self::Blocks(num / divisor, den / divisor)
    }
}

impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Blocks(num, 1) => write!(f, "{num}"),
            Self::Blocks(num, den) => write!(f, "{num}/{den}"),
            Self::Elements(len) => write!(f, "{len} el."),
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_added_and_reduced() {
        let parts = |len, of| Span::Parts { first: 0, len, of };
        let text = |spans: &[Span]| {
            let first = Amount::of(spans[0]);
            spans[1..].iter().fold(first, |sum, span| sum.and(*span)).to_string()
        };
        assert_eq!(text(&[parts(4, 32)]), "1/8");
        assert_eq!(text(&[parts(1, 3), parts(1, 6)]), "1/2");
        assert_eq!(text(&[parts(3, 8), parts(5, 8)]), "1");
        assert_eq!(text(&[Span::Blocks { len: 1 }, Span::Blocks { len: 7 }]), "8");
        assert_eq!(text(&[Span::Exact { len: 3 }, Span::Exact { len: 4 }]), "7 el.");
        assert_eq!(text(&[parts(0, 0)]), "0/0");
    }
}
