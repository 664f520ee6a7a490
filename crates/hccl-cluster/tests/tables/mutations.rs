//! Good tables that are damaged at random: each is refused with a code, or read as a table for
//! which all holds that must hold.

use std::cell::Cell;

use hccl_cluster::RankTable;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::{invariants, texts};

/// One change of a table. Numbers are taken modulo what there is.
#[derive(Clone, Debug)]
enum Change {
    /// Takes a value away.
    Remove { at: usize },
    /// Puts a value that stands elsewhere, or one of the odd ones, in the place of another.
    Replace { at: usize, by: usize },
    /// Writes a number one higher or lower, as a text or not.
    Step { at: usize, up: bool },
    /// Repeats an item of a list.
    Repeat { at: usize },
    /// Exchanges two values.
    Swap { one: usize, other: usize },
}

fn change() -> impl Strategy<Value = Change> {
    let at = || 0..usize::MAX;
    prop_oneof![
        at().prop_map(|at| Change::Remove { at }),
        (at(), at()).prop_map(|(at, by)| Change::Replace { at, by }),
        (at(), any::<bool>()).prop_map(|(at, up)| Change::Step { at, up }),
        at().prop_map(|at| Change::Repeat { at }),
        (at(), at()).prop_map(|(one, other)| Change::Swap { one, other }),
    ]
}

fn odd_values() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(-1),
        json!(0),
        json!(0.5),
        json!(u64::MAX),
        json!(1e300),
        json!(""),
        json!("0"),
        json!("99999999999999999999"),
        json!("1.0"),
        json!("1.2"),
        json!("2.0"),
        json!("initializing"),
        json!("fd00::9"),
        json!("\u{0}\n"),
        json!([]),
        json!([[]]),
        json!({}),
    ]
}

/// The ways to all values below the top.
fn ways(value: &Value, way: &str, all: &mut Vec<String>) {
    let mut enter = |step: String, value: &Value| {
        let way = format!("{way}/{step}");
        all.push(way.clone());
        ways(value, &way, all);
    };
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| enter(i.to_string(), item));
        }
        Value::Object(items) => items.iter().for_each(|(key, item)| enter(key.clone(), item)),
        _ => {}
    }
}

fn apply(table: &mut Value, change: &Change) -> Option<()> {
    let mut all = Vec::new();
    ways(table, "", &mut all);
    let way = |number: &usize| all.get(number % all.len().max(1)).map(String::as_str);
    match change {
        Change::Remove { at } => {
            let (parent, last) = way(at)?.rsplit_once('/')?;
            match table.pointer_mut(parent)? {
                Value::Array(items) => drop(items.remove(last.parse().ok()?)),
                Value::Object(items) => drop(items.remove(last)),
                _ => {}
            }
        }
        Change::Replace { at, by } => {
            let odd = odd_values();
            let new = match by % 2 {
                0 => table.pointer(way(&(by / 2))?)?.clone(),
                _ => odd[by / 2 % odd.len()].clone(),
            };
            *table.pointer_mut(way(at)?)? = new;
        }
        Change::Step { at, up } => {
            let step = |number: u64| if *up { number + 1 } else { number.saturating_sub(1) };
            let place = table.pointer_mut(way(at)?)?;
            if let Some(number) = place.as_u64().filter(|&number| number < 1 << 40) {
                *place = json!(step(number));
            } else if let Some(number) = place.as_str().and_then(|text| text.parse::<u32>().ok()) {
                *place = json!(step(number.into()).to_string());
            }
        }
        Change::Repeat { at } => {
            let (parent, last) = way(at)?.rsplit_once('/')?;
            if let Value::Array(items) = table.pointer_mut(parent)? {
                let item = items.get(last.parse::<usize>().ok()?)?.clone();
                items.push(item);
            }
        }
        Change::Swap { one, other } => {
            let (one, other) = (way(one)?, way(other)?);
            let (a, b) = (table.pointer(one)?.clone(), table.pointer(other)?.clone());
            *table.pointer_mut(one)? = b;
            *table.pointer_mut(other)? = a;
        }
    }
    Some(())
}

/// Reads a text and says whether it is a table.
fn judge(text: &str) -> bool {
    match RankTable::parse(text) {
        Ok(table) => {
            invariants::check(&table);
            assert_eq!(RankTable::parse(text).map(|table| table.digest()), Ok(table.digest()));
            true
        }
        Err(error) => {
            let json = serde_json::from_str::<Value>(text).is_ok();
            let code = error.code();
            assert!(json || code == "EI0004", "{error}");
            assert!(["EI0001", "EI0003", "EI0004", "EI0014", "EI0017"].contains(&code), "{error}");
            assert_eq!(error.key().is_none(), code == "EI0004", "{error}");
            assert!(!error.to_string().contains('\n'), "{error}");
            false
        }
    }
}

fn runner() -> TestRunner {
    TestRunner::new(Config { cases: 3000, failure_persistence: None, ..Config::default() })
}

#[test]
fn changed_tables() {
    let (good, bad) = (Cell::new(0), Cell::new(0));
    let cases = (0..texts::ALL.len(), prop::collection::vec(change(), 1..4));
    let outcome = runner().run(&cases, |(table, changes)| {
        let mut table: Value = serde_json::from_str(texts::ALL[table]).unwrap();
        for change in &changes {
            let _ = apply(&mut table, change);
        }
        let count = if judge(&table.to_string()) { &good } else { &bad };
        count.set(count.get() + 1);
        Ok(())
    });
    outcome.unwrap();
    // Neither way is an exception, so both are tested.
    assert!(good.get() > 200 && bad.get() > 200, "{} good, {} bad", good.get(), bad.get());
}

#[test]
fn damaged_texts() {
    let at = any::<prop::sample::Index>();
    let cases = (0..texts::ALL.len(), at, at_most_three());
    let outcome = runner().run(&cases, |(table, cut, damage)| {
        let mut text: Vec<char> = texts::ALL[table].chars().collect();
        for (at, new) in damage {
            let at = at.index(text.len());
            text[at] = new;
        }
        let whole: String = text.iter().collect();
        judge(&whole);
        let short: String = text[..cut.index(text.len())].iter().collect();
        assert!(!judge(&short), "{short}");
        Ok(())
    });
    outcome.unwrap();
}

fn at_most_three() -> impl Strategy<Value = Vec<(prop::sample::Index, char)>> {
    let characters =
        prop::sample::select("0123456789\"{}[],:.-/exs\u{fc}\\ ".chars().collect::<Vec<_>>());
    prop::collection::vec((any::<prop::sample::Index>(), characters), 0..4)
}
