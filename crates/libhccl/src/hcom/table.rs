//! Worlds of a rank table.

use std::ffi::{c_char, c_int};

use super::life::{InitConfig, RANKS_MAX, keep, needed, number, read};
use crate::border::hccl_call;
use crate::communicators::{check_process, cluster};
use crate::config::Config;
use crate::errors::Failure;

hccl_call! {
    /// Joins the world of a rank table that is a file.
    fn HcomInitByRankTable(path: *const c_char, rank: u32) {
        const CALL: &str = "HcomInitByRankTable";
        check_process()?;
        // SAFETY: NULL or a C string by the contract of this function.
        let path = unsafe { needed(CALL, "rankTable", path) }?;
        keep(cluster::join_table(CALL, &path, rank, Config::default())?)
    }
}

/// `HCCL_MODE_NORMAL`, and the last of the modes.
const NORMAL: c_int = 0;
const MODE_MAX: c_int = 4;

hccl_call! {
    /// Joins the world of a rank table that is a text, as the rank that `own` writes out.
    fn HcomInitByString(
        table: *const c_char,
        own: *const c_char,
        mode: c_int,
        config: *const InitConfig,
    ) {
        const CALL: &str = "HcomInitByString";
        check_process()?;
        // SAFETY: NULL or C strings by the contract of this function.
        let (table, own) =
            unsafe { (needed(CALL, "rankTableM", table)?, needed(CALL, "identify", own)?) };
        let rank = number(CALL, "identify", &own, 0, RANKS_MAX - 1)?;
        if mode != NORMAL {
            let (value, expect) = (mode.to_string(), "HCCL_MODE_NORMAL (0)");
            return Err(match mode {
                1..=MODE_MAX => Failure::unsupported(CALL, "commWorkMode", &value, expect),
                _ => Failure::argument(CALL, "commWorkMode", &value, expect),
            });
        }
        // SAFETY: NULL or readable by the contract of this function.
        let config = unsafe { read(CALL, config) }?;
        keep(cluster::join_text(CALL, "rankTableM", &table, rank as u32, config)?)
    }
}
