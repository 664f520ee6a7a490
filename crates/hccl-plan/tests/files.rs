//! Plans as files: they come back as they were, the schema that stands in the repository is that of
//! the types, and one plan is kept word by word.

mod common;

use common::{algorithms, applies, task};
use hccl_plan::{Algorithm, Operator, Plan, Task, expand};

/// Compares with a file of the repository; with `UPDATE=1` writes it.
fn golden(name: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "{name} is out of date: run this test with UPDATE=1 and read the change");
}

#[test]
fn plans_come_back_as_they_were() {
    for algorithm in algorithms(6) {
        for operator in Operator::ALL {
            let task = task(operator, 6, 3);
            if applies(&algorithm, &task) {
                let plan = expand(&algorithm, &task, 4).unwrap();
                let text = serde_json::to_string(&plan).unwrap();
                assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
            }
        }
    }
}

#[test]
fn the_schema_is_that_of_the_types() {
    golden("plan.schema.json", &(serde_json::to_string_pretty(&Plan::schema()).unwrap() + "\n"));
}

#[test]
fn a_plan_is_kept_word_by_word() {
    let task = Task::new(Operator::AllReduce, 3, 0);
    let plan = expand(&Algorithm::Ring, &task, 1).unwrap();
    golden("tests/ring.json", &(serde_json::to_string_pretty(&plan).unwrap() + "\n"));
}

#[test]
fn what_is_no_plan_is_refused() {
    let task = Task::new(Operator::AllReduce, 3, 0);
    let plan = expand(&Algorithm::Ring, &task, 1).unwrap();
    let mut json = serde_json::to_value(&plan).unwrap();
    json["color"] = "red".into();
    assert!(serde_json::from_value::<Plan>(json).is_err());
}
