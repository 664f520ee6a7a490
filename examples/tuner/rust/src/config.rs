//! The rules of the JSON file: which calls they are for, and which algorithm they mean.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    version: u32,
    op_types: BTreeMap<OpType, Rules>,
}

/// Operators that rules can be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpType {
    #[serde(rename = "allreduce")]
    AllReduce,
    #[serde(rename = "allgather")]
    AllGather,
    Broadcast,
    Reduce,
    ReduceScatter,
    Scatter,
    #[serde(rename = "alltoall")]
    AllToAll,
    #[serde(rename = "alltoallv")]
    AllToAllV,
}

impl OpType {
    /// By the number of an operator, an `HcclCMDType`.
    pub fn from_code(code: i32) -> Option<Self> {
        Some(match code {
            1 => Self::Broadcast,
            2 => Self::AllReduce,
            3 => Self::Reduce,
            6 => Self::AllGather,
            7 => Self::ReduceScatter,
            8 => Self::AllToAllV,
            10 => Self::AllToAll,
            12 => Self::Scatter,
            _ => return None,
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    rules: Vec<Rule>,
}

/// The first rule of an operator that fits a call counts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    #[serde(rename = "match")]
    conditions: Conditions,
    engine: Engine,
    executor: Executor,
    /// One of the library's words; `mesh+nhr` for tiers.
    template: String,
    cost: f32,
}

/// All of them must hold; those that are left out do.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Conditions {
    min_ranks: u32,
    max_ranks: u32,
    min_bytes: u64,
    max_bytes: u64,
    data_type: Option<DataType>,
    /// A part of the communicator's name.
    comm_name: Option<String>,
    min_npus_per_server: Option<u32>,
    max_npus_per_server: Option<u32>,
    min_servers: Option<u32>,
    max_servers: Option<u32>,
    min_pods: Option<u32>,
    max_pods: Option<u32>,
    min_super_pods: Option<u32>,
    max_super_pods: Option<u32>,
    buffer_size: Option<u64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Engine {
    Aicpu,
    CcuMs,
    CcuSched,
    Aiv,
    Dpu,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Executor {
    Sole,
    Sequence,
    Parallel,
    Pipeline,
    Concur,
}

/// Values are those of `HcclDataType`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DataType {
    Int8 = 0,
    Int16 = 1,
    Int32 = 2,
    #[serde(alias = "float16")]
    Fp16 = 3,
    #[serde(alias = "float32")]
    Fp32 = 4,
    Int64 = 5,
    Uint64 = 6,
    Uint8 = 7,
    Uint16 = 8,
    Uint32 = 9,
    #[serde(alias = "float64")]
    Fp64 = 10,
    #[serde(alias = "bfloat16")]
    Bfp16 = 11,
}

/// A call, and the communicator that it is made on.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub bytes: u64,
    /// An `HcclDataType`.
    pub data_type: i32,
    pub comm_name: &'a str,
    pub ranks: u32,
    pub npus_per_server: u32,
    pub servers: u32,
    pub pods: u32,
    pub super_pods: u32,
    pub buffer_size: u64,
}

impl Config {
    /// Reads a file's text.
    ///
    /// # Errors
    /// What is wrong with it, and what is allowed there.
    pub fn parse(text: &str) -> Result<Self, String> {
        let config: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if config.version != 1 {
            return Err(format!("version is {}, 1 is expected", config.version));
        }
        let all = config.op_types.values().flat_map(|rules| &rules.rules);
        for (number, rule) in all.enumerate() {
            let Conditions { min_ranks, max_ranks, min_bytes, max_bytes, .. } = rule.conditions;
            if min_ranks > max_ranks || min_bytes > max_bytes {
                return Err(format!(
                    "rule {number}: ranks {min_ranks} to {max_ranks}, bytes {min_bytes} to \
                     {max_bytes}: no call fits"
                ));
            }
        }
        Ok(config)
    }

    /// The rule that counts for a call.
    pub fn rule(&self, op_type: OpType, call: &Call<'_>) -> Option<&Rule> {
        let rules = &self.op_types.get(&op_type)?.rules;
        rules.iter().find(|rule| rule.conditions.hold(call))
    }
}

impl Conditions {
    fn hold(&self, call: &Call<'_>) -> bool {
        let within = |value: u32, least: Option<u32>, most: Option<u32>| {
            least.is_none_or(|least| value >= least) && most.is_none_or(|most| value <= most)
        };
        (self.min_ranks..=self.max_ranks).contains(&call.ranks)
            && (self.min_bytes..=self.max_bytes).contains(&call.bytes)
            && self.data_type.is_none_or(|wanted| wanted as i32 == call.data_type)
            && self.comm_name.as_deref().is_none_or(|part| call.comm_name.contains(part))
            && within(call.npus_per_server, self.min_npus_per_server, self.max_npus_per_server)
            && within(call.servers, self.min_servers, self.max_servers)
            && within(call.pods, self.min_pods, self.max_pods)
            && within(call.super_pods, self.min_super_pods, self.max_super_pods)
            && self.buffer_size.is_none_or(|size| size == call.buffer_size)
    }
}

impl Rule {
    /// Whether it means the algorithm with these words.
    pub fn means(&self, engine: &str, executor: &str, template: &str) -> bool {
        // The words of the file are the names of the variants.
        let is = |word: &dyn std::fmt::Debug, other: &str| {
            format!("{word:?}").eq_ignore_ascii_case(other)
        };
        is(&self.engine, engine) && is(&self.executor, executor) && self.template == template
    }

    /// What the algorithm costs by it.
    pub fn cost(&self) -> f32 {
        self.cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: Call<'static> = Call {
        bytes: 4096,
        data_type: 4,
        comm_name: "hccl_world_group",
        ranks: 8,
        npus_per_server: 4,
        servers: 2,
        pods: 1,
        super_pods: 1,
        buffer_size: 200 << 20,
    };

    fn with(conditions: &str) -> Config {
        let text = format!(
            r#"{{"version": 1, "op_types": {{"allreduce": {{"rules": [{{
                "match": {{"min_ranks": 2, "max_ranks": 8, "min_bytes": 1, "max_bytes": 4096
                {conditions}}},
                "engine": "aicpu", "executor": "sole", "template": "nhr", "cost": 0.5}}]}}}}}}"#
        );
        Config::parse(&text).unwrap()
    }

    #[test]
    fn the_shipped_file_is_right() {
        let config = Config::parse(include_str!("../hccl_tuner_config.json")).unwrap();
        assert!(config.rule(OpType::AllReduce, &CALL).is_some());
    }

    #[test]
    fn conditions_are_joined_by_and() {
        let holds = |conditions: &str, call: &Call<'_>| {
            with(conditions).rule(OpType::AllReduce, call).is_some()
        };
        for conditions in [
            "",
            r#", "data_type": "fp32", "comm_name": "world""#,
            r#", "data_type": "float32", "min_servers": 2, "max_servers": 2"#,
            r#", "buffer_size": 209715200, "min_npus_per_server": 1, "max_npus_per_server": 4"#,
            r#", "min_pods": 1, "max_pods": 1, "min_super_pods": 0, "max_super_pods": 7"#,
        ] {
            assert!(holds(conditions, &CALL), "{conditions}");
            assert!(!holds(conditions, &Call { ranks: 9, ..CALL }), "{conditions}");
            assert!(!holds(conditions, &Call { bytes: 4097, ..CALL }), "{conditions}");
        }
        for conditions in [
            r#", "data_type": "fp16""#,
            r#", "comm_name": "other""#,
            r#", "max_servers": 1"#,
            r#", "min_super_pods": 2"#,
            r#", "buffer_size": 1"#,
        ] {
            assert!(!holds(conditions, &CALL), "{conditions}");
        }
        assert!(with("").rule(OpType::Broadcast, &CALL).is_none());
    }

    #[test]
    fn a_rule_means_one_algorithm() {
        let config = with("");
        let rule = config.rule(OpType::AllReduce, &CALL).unwrap();
        assert!(rule.means("aicpu", "sole", "nhr") && rule.cost() == 0.5);
        for other in [("aiv", "sole", "nhr"), ("aicpu", "concur", "nhr"), ("aicpu", "sole", "mesh")]
        {
            assert!(!rule.means(other.0, other.1, other.2), "{other:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_told() {
        let why = |text: &str| Config::parse(text).unwrap_err();
        assert!(why("{").contains("EOF"));
        assert!(why(r#"{"version": 2, "op_types": {}}"#).contains("version is 2, 1 is expected"));
        assert!(
            why(r#"{"version": 1, "op_types": {"gossip": {"rules": []}}}"#).contains("allreduce")
        );
        let rule = |engine: &str, most: u32| {
            why(&format!(
                r#"{{"version": 1, "op_types": {{"reduce": {{"rules": [{{"match": {{"min_ranks": 2,
                "max_ranks": {most}, "min_bytes": 0, "max_bytes": 1}}, "engine": "{engine}",
                "executor": "sole", "template": "nhr", "cost": 0.0}}]}}}}}}"#
            ))
        };
        assert!(rule("gpu", 8).contains("ccusched"), "{}", rule("gpu", 8));
        assert!(rule("aicpu", 1).contains("ranks 2 to 1"));
    }
}
