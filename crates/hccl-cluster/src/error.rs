//! Why a text is no rank table: where in it, what stands there, what may stand there.

/// Why a text is no rank table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RankTableError {
    /// The text is longer than any rank table.
    #[error("the rank table has {bytes} bytes; at most {limit} are allowed")]
    TooLong {
        /// How long it is.
        bytes: u64,
        /// How long it may be.
        limit: u64,
    },
    /// The text is no JSON, or a key of an object stands there twice.
    #[error("the rank table is not valid JSON: line {line}, column {column}: {why}")]
    NotJson {
        /// The line of the fault, counted from 1.
        line: usize,
        /// The column of the fault, counted from 1.
        column: usize,
        /// What is wrong there.
        why: String,
    },
    /// A key that must be there is not.
    #[error("the rank table has no key {key}")]
    MissingKey {
        /// The key with the way to it, such as `server_list[1].device[0].rank_id`.
        key: String,
    },
    /// Something stands there that may not.
    #[error("{}[{value}] is invalid: {variable} must be {expect}", last(.variable))]
    BadValue {
        /// The key with the way to it.
        variable: String,
        /// What stands there, shortened if it is long.
        value: String,
        /// What may stand there.
        expect: String,
    },
    /// The id of a rank is no number.
    #[error("rank_id[{value}] is invalid: {variable} must be a non-negative decimal number")]
    BadRankId {
        /// The key with the way to it.
        variable: String,
        /// What stands there, shortened if it is long.
        value: String,
    },
    /// Devices have addresses of IPv4 and of IPv6.
    #[error(
        "rank[{rank}] device ip family[{family}] is not same as others[{others}] \
         (2 is IPv4, 10 is IPv6): all of {variable} and its like must be of one family"
    )]
    MixedFamilies {
        /// The first rank whose family is not that of rank 0, or of the first that has an address.
        rank: u32,
        /// Its family, as `AF_INET` and `AF_INET6` are numbered.
        family: u8,
        /// The family of those before.
        others: u8,
        /// The key of its address with the way to it.
        variable: String,
    },
    /// Whoever writes the table has not finished.
    #[error("status[{value}] is invalid: the rank table is not complete yet; wait for completed")]
    NotReady {
        /// The status in the table.
        value: String,
    },
}

impl RankTableError {
    /// The code that HCCL's error catalogue has for it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLong { .. } | Self::NotJson { .. } => "EI0004",
            Self::MissingKey { .. } => "EI0017",
            Self::BadValue { .. } | Self::NotReady { .. } => "EI0014",
            Self::BadRankId { .. } => "EI0003",
            Self::MixedFamilies { .. } => "EI0001",
        }
    }

    /// The key that it is about, with the way to it; none where the text is no JSON.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::TooLong { .. } | Self::NotJson { .. } => None,
            Self::MissingKey { key } => Some(key),
            Self::BadValue { variable, .. }
            | Self::BadRankId { variable, .. }
            | Self::MixedFamilies { variable, .. } => Some(variable),
            Self::NotReady { .. } => Some("status"),
        }
    }
}

/// The last key of a way.
fn last(way: &str) -> &str {
    way.rsplit('.').next().unwrap_or(way)
}
