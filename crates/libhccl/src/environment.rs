//! HCCL's environment variables: read once, checked, and where one cannot act here, said so.

use std::sync::OnceLock;
use std::time::Duration;

use hccl::{BUFFER_BYTES, HcclAlgo, Product, Topology};
use hccl_kernels::Isa;

use crate::errors::{Failure, Record, Status};
use crate::expansion::{self, Mode};
use crate::runtime::{log_line, product};

/// What the environment asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Environment {
    /// How long ranks wait for each other at creation.
    pub(crate) connect_timeout: Duration,
    /// How long an operation waits for other ranks; `None` for as long as it takes.
    pub(crate) exec_timeout: Option<Duration>,
    /// Bytes that a call may have on its way before it is cut into rounds.
    pub(crate) buffer_bytes: u64,
    /// Which algorithms operators run.
    pub(crate) algo: Option<HcclAlgo>,
    /// How the devices of this host play at being servers of several.
    pub(crate) topology: Option<Topology>,
    /// A log line for each operator call.
    pub(crate) entry_log: bool,
    /// What kind of determinism is asked for, if any: 0 none, 1 some, 2 strict.
    pub(crate) deterministic: Option<i32>,
    /// Where operators are to be expanded.
    pub(crate) expansion: Option<Mode>,
    /// File of a plugin that says what algorithms cost.
    pub(crate) tuner_plugin: Option<String>,
}

const CONNECT_DEFAULT: u64 = 120;
const EXEC_DEFAULT: u64 = 1836;

/// Variables that act. The others that HCCL knows choose among things of which there is only one
/// here.
const ACTING: &[&str] = &[
    "HCCL_CONNECT_TIMEOUT",
    "HCCL_EXEC_TIMEOUT",
    "HCCL_BUFFSIZE",
    "HCCL_DETERMINISTIC",
    "HCCL_ENTRY_LOG_ENABLE",
];

/// On the products without a time-out of their own in the device, waits are as long as so many
/// seconds allow in whole steps.
const STEP_SECONDS: u64 = 68;
/// The longest wait there.
const LONGEST_SECONDS: u64 = 17340;

/// The longest wait on the others.
const LONGEST_ANYWHERE: u64 = 2_147_483_647;

/// How long a product waits where so many seconds are asked for: 0 is for as long as it takes,
/// which is `None`. The error says what is allowed.
pub(crate) fn exec_timeout(
    product: Product,
    seconds: u64,
) -> Result<Option<Duration>, &'static str> {
    match product {
        Product::Ascend910 | Product::Ascend310P => {
            if !(1..=LONGEST_SECONDS).contains(&seconds) {
                return Err(
                    "a number greater than or equal to 1s and less than or equal to 17340s",
                );
            }
            let whole = (seconds / STEP_SECONDS * STEP_SECONDS).max(STEP_SECONDS);
            Ok(Some(Duration::from_secs(whole)))
        }
        _ if seconds > LONGEST_ANYWHERE => {
            Err("a number greater than or equal to 0s and less than or equal to 2147483647s")
        }
        _ => Ok((seconds > 0).then(|| Duration::from_secs(seconds))),
    }
}

/// The variable that groups the devices of this host into servers, and these into superpods.
const TOPOLOGY: &str = "SOFTNPU_TOPOLOGY";

/// Reads the words of `HCCL_ALGO`, of a configuration's `hcclAlgo`, or of one like it. The error
/// says what is allowed.
pub(crate) fn parse_algo(name: &str, text: &str) -> Result<HcclAlgo, String> {
    HcclAlgo::parse(name, text).map_err(|error| {
        format!("{} ({}; allowed is {})", HcclAlgo::EXPECT, error.why, error.allowed)
    })
}

/// A variable that may not have its value.
fn invalid(name: &str, value: &str, expect: &str) -> Failure {
    Failure::new(Status::Para, Record::environment(name, value, expect))
}

/// The environment of this process.
pub(crate) fn environment() -> Result<&'static Environment, Failure> {
    static ENVIRONMENT: OnceLock<Result<Environment, Failure>> = OnceLock::new();
    let read = || {
        let text = |name: &str| Some(std::env::var_os(name)?.to_string_lossy().into_owned());
        let environment = Environment::from_lookup(text, product())?;
        let tell = |name: &str, value: &dyn std::fmt::Display| {
            let source = if std::env::var_os(name).is_some() { "environment" } else { "default" };
            log_line!(Event, "environment", "[HCCL_ENV] {name} set by {source} to [{value}]");
        };
        let seconds = |time: Duration| format!("{}s", time.as_secs());
        tell("HCCL_CONNECT_TIMEOUT", &seconds(environment.connect_timeout));
        let exec = environment.exec_timeout;
        tell("HCCL_EXEC_TIMEOUT", &exec.map_or_else(|| "never".to_owned(), seconds));
        let megabytes = format!("{}MB", environment.buffer_bytes >> 20);
        tell("HCCL_BUFFSIZE", &megabytes);
        if let Some(algo) = &environment.algo {
            tell("HCCL_ALGO", &algo.text());
        }
        tell(Isa::VARIABLE, &Isa::chosen());
        tell("HCCL_ENTRY_LOG_ENABLE", &u8::from(environment.entry_log));
        if let Some(path) = &environment.tuner_plugin {
            tell("HCCL_TUNER_PLUGIN", path);
        }
        let known = hccl_cluster::environment::VARIABLES.iter().map(|variable| variable.name);
        let idle = known.filter(|name| !ACTING.contains(name));
        for name in idle {
            if let Some(value) = text(name) {
                log_line!(
                    Warning,
                    "environment",
                    "[HCCL_ENV] {name} is set to [{value}] and has no effect in this version"
                );
            }
        }
        Ok(environment)
    };
    ENVIRONMENT.get_or_init(read).as_ref().map_err(Clone::clone)
}

impl Environment {
    fn from_lookup(
        lookup: impl Fn(&str) -> Option<String>,
        product: Product,
    ) -> Result<Self, Failure> {
        hccl_cluster::environment::check_all(&lookup)
            .map_err(|wrong| invalid(wrong.name, &wrong.value, wrong.expect))?;
        // What is read from here on has been found to be a number in its range or one of its words.
        // An empty value, and the literal that tools write for one, mean unset.
        let get = |name: &str| lookup(name).filter(|v| !v.is_empty() && v != "EmptyString");
        let number = |name: &str| get(name).and_then(|text| text.parse::<u64>().ok());
        let exec = number("HCCL_EXEC_TIMEOUT").unwrap_or(EXEC_DEFAULT);
        let exec_timeout = exec_timeout(product, exec)
            .map_err(|expect| invalid("HCCL_EXEC_TIMEOUT", &exec.to_string(), expect))?;
        let algo = match get("HCCL_ALGO") {
            Some(text) => Some(
                parse_algo("HCCL_ALGO", &text)
                    .map_err(|expect| invalid("HCCL_ALGO", &text, &expect))?,
            ),
            None => None,
        };
        let topology = match get(TOPOLOGY) {
            Some(text) => Some(text.parse::<Topology>().map_err(|error| {
                let expect = format!("a topology such as 8x4 or 2+3+5 ({})", error.why);
                invalid(TOPOLOGY, &text, &expect)
            })?),
            None => None,
        };
        // Reductions are in rank order always, which is what the strictest word asks for.
        let deterministic =
            get("HCCL_DETERMINISTIC").map(|word| match word.to_ascii_lowercase().as_str() {
                "strict" => 2,
                "true" => 1,
                _ => 0,
            });
        if deterministic == Some(2)
            && !matches!(product, Product::A2 | Product::A3 | Product::Ascend950)
        {
            let expect = "true or false on this product";
            let record = Record::environment("HCCL_DETERMINISTIC", "strict", expect);
            return Err(Failure::new(Status::NotSupport, record));
        }
        Ok(Self {
            connect_timeout: Duration::from_secs(
                number("HCCL_CONNECT_TIMEOUT").unwrap_or(CONNECT_DEFAULT),
            ),
            exec_timeout,
            buffer_bytes: number("HCCL_BUFFSIZE").map_or(BUFFER_BYTES, |megabytes| megabytes << 20),
            algo,
            topology,
            entry_log: number("HCCL_ENTRY_LOG_ENABLE") == Some(1),
            deterministic,
            expansion: get("HCCL_OP_EXPANSION_MODE").and_then(|word| expansion::parse(&word)),
            tuner_plugin: get("HCCL_TUNER_PLUGIN").filter(|path| path != "none"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)], product: Product) -> Result<Environment, Failure> {
        let lookup = |name: &str| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        Environment::from_lookup(lookup, product)
    }

    #[test]
    fn a_bad_value_is_named_also_where_the_variable_has_no_effect() {
        for (name, value) in [("HCCL_RDMA_TC", "133"), ("HCCL_IF_BASE_PORT", "80")] {
            let failure = read(&[(name, value)], Product::A2).unwrap_err();
            assert_eq!((failure.status, failure.record.code), (Status::Para, "EI0001"));
            assert!(failure.record.text.contains(name), "{}", failure.record.text);
        }
        assert!(read(&[("HCCL_RDMA_TC", "132")], Product::A2).is_ok());
    }

    #[test]
    fn strict_determinism_is_not_there_on_all_products() {
        let strict = [("HCCL_DETERMINISTIC", "strict")];
        assert_eq!(read(&strict, Product::A2).unwrap().deterministic, Some(2));
        assert_eq!(read(&strict, Product::Ascend910).unwrap_err().status, Status::NotSupport);
    }

    #[test]
    fn old_products_wait_in_steps() {
        let seconds = |text: &str, product| {
            read(&[("HCCL_EXEC_TIMEOUT", text)], product)
                .map(|it| it.exec_timeout.map(|time| time.as_secs()))
                .ok()
        };
        assert_eq!(seconds("600", Product::Ascend910), Some(Some(544)));
        assert_eq!(seconds("1", Product::Ascend310P), Some(Some(68)));
        assert_eq!(seconds("0", Product::Ascend910), None);
        assert_eq!(seconds("0", Product::A2), Some(None));
        assert_eq!(seconds("600", Product::A2), Some(Some(600)));
    }
}
