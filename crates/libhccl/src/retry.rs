//! The grammar of retry parameters, which cannot act here: a host has no links that fail.

/// What is allowed.
const EXPECT: &str = "MaxCnt:<1 to 10>, HoldTime:<0 to 60000>, IntervalTime:<0 to 60000>, in this \
                      order, times in milliseconds";

/// Keys in their order, and the ranges of their numbers.
const KEYS: [(&str, u32, u32); 3] =
    [("MaxCnt", 1, 10), ("HoldTime", 0, 60_000), ("IntervalTime", 0, 60_000)];

/// Refuses text that is no list of the three parameters.
pub(crate) fn check_params(text: &str) -> Result<(), &'static str> {
    let mut items = text.split(',').map(str::trim);
    for (key, least, most) in KEYS {
        let number = items.next().and_then(|item| item.strip_prefix(key)?.strip_prefix(':'));
        let number = number.filter(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
        let number = number.and_then(|digits| digits.parse::<u32>().ok());
        if number.is_none_or(|number| !(least..=most).contains(&number)) {
            return Err(EXPECT);
        }
    }
    if items.next().is_some() { Err(EXPECT) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_come_in_order_and_in_range() {
        assert_eq!(check_params("MaxCnt:1, HoldTime:5000, IntervalTime:1000"), Ok(()));
        assert_eq!(check_params("MaxCnt:10,HoldTime:0,IntervalTime:60000"), Ok(()));
        for bad in [
            "",
            "MaxCnt:1",
            "MaxCnt:0,HoldTime:5000,IntervalTime:1000",
            "MaxCnt:1,HoldTime:60001,IntervalTime:1000",
            "HoldTime:5000,MaxCnt:1,IntervalTime:1000",
            "MaxCnt:1,HoldTime:5000,IntervalTime:1000,MaxCnt:1",
            "MaxCnt:+1,HoldTime:5000,IntervalTime:1000",
        ] {
            assert!(check_params(bad).is_err(), "{bad}");
        }
    }
}
