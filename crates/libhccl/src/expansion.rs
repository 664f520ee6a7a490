//! Where operators are expanded on real devices. There is one place here, the host; what programs
//! ask for is checked, kept, and told when they ask.

use hccl::Product;

/// `HcclOpExpansionMode`, as a query tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Mode {
    AiCpu = 0,
    Aiv = 1,
    Host = 2,
    HostTs = 3,
    CcuMs = 4,
    CcuSched = 5,
    AivOnly = 6,
}

/// Words of `HCCL_OP_EXPANSION_MODE`, and what a query tells of them.
const WORDS: &[(&str, Mode)] = &[
    ("HOST", Mode::Host),
    ("HOST_TS", Mode::HostTs),
    ("AI_CPU", Mode::AiCpu),
    ("AICPU_TS", Mode::AiCpu),
    ("AICPU_CacheDisable", Mode::AiCpu),
    ("AIV", Mode::Aiv),
    ("CCU_MS", Mode::CcuMs),
    ("CCU_SCHED", Mode::CcuSched),
];

/// Last number of the field `hcclOpExpansionMode`, which counts otherwise than the query.
pub(crate) const LAST_CONFIGURED: u32 = 6;

/// A word of the environment; case counts.
pub(crate) fn parse(word: &str) -> Option<Mode> {
    WORDS.iter().find(|(known, _)| *known == word).map(|(_, mode)| *mode)
}

/// What acts: the configuration before the environment before the product's default.
pub(crate) fn mode(configured: u32, word: Option<Mode>, product: Product) -> Mode {
    match configured {
        1 => Mode::Host,
        2 => Mode::AiCpu,
        3 => Mode::Aiv,
        4 => Mode::AivOnly,
        5 => Mode::CcuMs,
        6 => Mode::CcuSched,
        _ => word.unwrap_or(match product {
            Product::Ascend950 => Mode::CcuSched,
            Product::A3 => Mode::AiCpu,
            _ => Mode::Host,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_comes_before_the_environment_and_that_before_the_product() {
        let word = parse("AIV");
        assert_eq!(mode(2, word, Product::A2), Mode::AiCpu);
        assert_eq!(mode(0, word, Product::A2), Mode::Aiv);
        assert_eq!(mode(0, None, Product::A2), Mode::Host);
        assert_eq!(mode(0, None, Product::A3), Mode::AiCpu);
        assert_eq!(mode(0, None, Product::Ascend950), Mode::CcuSched);
        assert_eq!(parse("aiv"), None);
    }

    #[test]
    fn every_word_that_the_variable_may_be_is_known() {
        let name = "HCCL_OP_EXPANSION_MODE";
        let all = hccl_cluster::environment::VARIABLES;
        let variable = all.iter().find(|variable| variable.name == name).unwrap();
        let words = variable.expect.replace(" or ", ", ");
        let words: Vec<&str> = words.split(", ").collect();
        assert_eq!(words.len(), WORDS.len());
        for word in words {
            assert!(parse(word).is_some(), "{word}");
            assert!(hccl_cluster::environment::check(name, word).is_ok(), "{word}");
        }
    }
}
