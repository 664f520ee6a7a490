//! `hccl perf` as a program: ranks as processes, forms of the result, comparisons, bad words.

use std::process::{Command, Output};

fn hccl(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hccl"));
    command.arg("perf").args(arguments).output().expect("the program starts")
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("text")
}

const SHORT: [&str; 8] = ["-b", "64", "-e", "4K", "-f", "8", "-n", "5"];

#[test]
fn processes_are_measured_and_every_size_is_checked() {
    for more in [&["allreduce", "-p", "3"][..], &["alltoall", "-m", "shared"], &["allgather", "-i"]]
    {
        let table = text(&hccl(&[more, &SHORT].concat()));
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(rows.len(), 3, "{table}");
        assert!(rows.iter().all(|row| row.ends_with("yes")), "{table}");
    }
}

#[test]
fn forms_hold_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("one.json");
    let path = file.to_str().unwrap();
    text(&hccl(&[&SHORT[..], &["--format", "json", "--output", path, "--as", "threads"]].concat()));
    let report: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let bytes: Vec<u64> = report["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["bytes"].as_u64().unwrap())
        .collect();
    assert_eq!(bytes, [64, 512, 4096]);
    let table = text(&hccl(&["compare", path, path]));
    assert!(table.contains("1.00  even") && table.contains("mean of 3 sizes: 1.00"), "{table}");
    let csv = text(&hccl(&[&SHORT[..], &["--format", "csv", "barrier"]].concat()));
    let mut lines = csv.lines();
    assert!(lines.next().unwrap().starts_with("operator,ranks,bytes"));
    assert!(lines.next().unwrap().starts_with("barrier,2,0,0,5,"), "{csv}");
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let refused = [
        (&["-r", "2"][..], "a rank from 0 to 1"),
        (&["broadcast", "-i"], "does not work in place"),
        (&["pingpong", "-p", "1"], "2 or more"),
        (&["-b", "8", "-e", "4"], "sizes from 8 to 4"),
        (&["--algo", "fastest"], "fastest"),
        (&["sort"], "possible values"),
        (&["-f", "1"], "1 is not in 2.."),
        (&["-b", "x"], "no size"),
        (&["compare", "/nowhere", "/nowhere"], "/nowhere"),
    ];
    for (arguments, expected) in refused {
        let output = hccl(arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(expected), "{arguments:?}: {text}");
    }
}
