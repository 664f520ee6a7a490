//! `hccl plan` as people and programs run it.

use std::process::{Command, Output, Stdio};

use hccl_plan::check::{Placement, check};
use hccl_plan::select::{Case, Choice, Product, Reach, select};
use hccl_plan::{Algorithm, Extents, Operator, Plan, Step, Task, Topology, expand};

/// The program with an environment that asks for nothing.
fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hccl"));
    command.arg("plan").args(arguments).env_remove("HCCL_ALGO");
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

/// What it writes when all is well.
fn written(arguments: &[&str]) -> String {
    let output = run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// What it says when it refuses.
fn refused(mut command: Command, code: i32) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{command:?}: {errors}");
    assert!(output.stdout.is_empty());
    errors
}

/// What follows a name at the beginning of a line, lines that go on included.
fn field(text: &str, name: &str) -> String {
    let mut lines = text.lines().skip_while(|line| !line.starts_with(name));
    let first = lines.next().unwrap_or_else(|| panic!("no {name} in {text}"));
    let more = lines.take_while(|line| line.starts_with("         "));
    let words = std::iter::once(&first[name.len()..]).chain(more).flat_map(str::split_whitespace);
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn text_names_the_row_and_what_was_compared() {
    let text = written(&["allreduce", "--ranks", "8x4", "--bytes", "1K", "--rank", "9"]);
    assert!(
        text.starts_with("AllReduce of 32 ranks (8x4), 1 KiB of float32 a block, over a network")
    );
    assert_eq!(field(&text, "runs"), "hierarchy:8*mesh,4*nhr");
    assert_eq!(field(&text, "row"), "tiers");
    let why = field(&text, "why");
    assert!(why.contains("250 us in 6 rounds") && why.contains("assumed"), "{why}");
    assert_eq!(field(&text, "levels"), "7");
    assert_eq!(field(&text, "scratch"), "0 B a rank at most");
    assert!(field(&text, "proved").contains("steps of all ranks give each output element"));
    // Inside a server each reads 7/8 twice; between, 3/4 of an eighth twice.
    assert_eq!(field(&text, "moved"), "56 KiB inside servers, all ranks together");
    assert!(text.contains("6 KiB between servers, all ranks together"), "{text}");
    assert!(text.contains("  ring                     estimated at 3.72 ms in 62 rounds, against"));
    let steps: Vec<_> = text.lines().skip_while(|line| *line != "rank 9").collect();
    assert!(steps.iter().any(|line| line.contains("wait until rank 10 has called")), "{text}");
    let reduce = "reduce 1/8 of the block (parts 4-7 of 32, 128 B) from the input of ranks 8-15 to \
                  the own output";
    assert!(steps.iter().any(|line| line.contains(reduce)), "{text}");
    assert!(!text.contains("\nrank 8\n"));
    // Few ranks are all shown; one host maps its memory.
    let text = written(&["reduce", "--ranks", "3", "--root", "2", "--count", "7"]);
    assert!(
        text.starts_with("Reduce of 3 ranks (3), root 2, 28 B of float32 a block, over mapped")
    );
    assert_eq!(field(&text, "row"), "mapped");
    for part in
        ["rank 0\n", "rank 2\n", "to the output of rank 2", "wait until all ranks have called"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn links_and_clusters_decide() {
    let links = ["--links", "1us:1GB/s,1ms:1GB/s", "--rank", "0"];
    let text = written(&[&["allreduce", "--ranks", "8x4", "--bytes", "1K"], &links[..]].concat());
    let why = field(&text, "why");
    assert!(
        why.contains("4 ms in 6 rounds") && why.contains("1 us and 1 GB/s inside servers"),
        "{why}"
    );
    assert!(!why.contains("assumed"), "{why}");
    let text = written(&["allreduce", "--cluster", "superpod-384", "--bytes", "1K"]);
    assert!(text.starts_with("AllReduce of 384 ranks (8x48)"), "{text}");
    assert!(field(&text, "why").contains("392 GB/s inside servers, 6 us and 380 GB/s between"));
}

#[test]
fn many_ranks_have_an_answer_without_a_proof() {
    let text = written(&["allreduce", "--ranks", "16x64", "--bytes", "64M"]);
    assert_eq!(field(&text, "proved"), "not here: more than 64 ranks");
    assert!(text.contains("--rank 0 shows those of rank 0"), "{text}");
    assert!(field(&text, "moved").ends_with("rank 0"));
    assert!(!text.contains("\nrank 0\n"));
    let text = written(&["allreduce", "--ranks", "64", "--algo", "mesh:chunked:64", "--rank", "0"]);
    assert_eq!(field(&text, "proved"), "not here: more than 150000 steps");
    let text = written(&["allreduce", "--ranks", "64", "--algo", "mesh:chunked:1024"]);
    assert!(field(&text, "moved").ends_with("rank 0"), "{text}");
    let text = written(&["allreduce", "--ranks", "16x64", "--rank", "1000"]);
    assert!(text.contains("\nrank 1000\n"));
}

#[test]
fn wishes_are_followed_and_it_is_said_whose_they_are() {
    let of = |arguments: &[&str], variable: Option<&str>| {
        let mut command = command(&[&["allreduce", "--ranks", "4x4"], arguments].concat());
        if let Some(text) = variable {
            command.env("HCCL_ALGO", text);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?} {variable:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let nb = Some("level0:NA;level1:NB");
    let text = of(&[], nb);
    assert_eq!(field(&text, "runs"), "hierarchy:4*mesh,4*nb");
    assert_eq!(field(&text, "row"), "asked for");
    assert_eq!(field(&text, "wish"), "HCCL_ALGO of the environment: level0:NA;level1:NB");
    // A flag goes before the environment.
    let text = of(&["--hccl-algo", "level1:ring"], nb);
    assert_eq!(field(&text, "runs"), "hierarchy:4*mesh,4*ring");
    assert_eq!(field(&text, "wish"), "--hccl-algo: level1:ring");
    let text = of(&["--algo", "H-D_R"], nb);
    assert_eq!(field(&text, "runs"), "rhd");
    assert_eq!(field(&text, "wish"), "--algo: rhd");
    for (arguments, variable) in
        [(&["--algo", "auto"][..], nb), (&[], Some("")), (&[], Some("EmptyString")), (&[], None)]
    {
        let text = of(arguments, variable);
        assert_eq!(field(&text, "row"), "tiers");
        assert!(!text.contains("\nwish"), "{text}");
    }
    // What cannot be followed is said.
    let text = of(&["--algo", "star"], None);
    assert!(field(&text, "note").contains("star has no AllReduce"), "{text}");
    assert!(text.contains("  star"), "{text}");
    let text = of(&["--hccl-algo", "level1:AHC", "--product", "950"], None);
    assert!(field(&text, "note").contains("950 lists NHR there"), "{text}");
}

#[test]
fn json_reads_back_as_the_choice_and_the_plans() {
    let lens: &[u64] = &[3, 0, 5, 2];
    let matrix = [vec![1, 2, 0], vec![0, 4, 5], vec![7, 0, 9]];
    for (operator, ranks, more, extents) in [
        (Operator::AllReduce, "2x3", &["--algo", "nb"][..], None),
        (Operator::AllReduce, "2+3", &[], None),
        (Operator::Broadcast, "2x2", &["--root", "3"], None),
        (Operator::AlltoAll, "2x2", &[], None),
        (Operator::Barrier, "1x4", &[], None),
        (Operator::AllGatherV, "2x2", &["--lengths", "3,0,5,2"], Some(Extents::packed(lens))),
        (
            Operator::AlltoAllVC,
            "1x3",
            &["--lengths", "1,2,0/0,4,5/7,0,9"],
            Some(Extents::matrix(&matrix)),
        ),
    ] {
        let name = operator.name();
        let arguments =
            [&[name, "--ranks", ranks, "--format", "json", "--bytes", "96"], more].concat();
        let file: serde_json::Value = serde_json::from_str(&written(&arguments)).unwrap();
        let choice: Choice = serde_json::from_value(file["choice"].clone()).unwrap();
        let plans: Vec<Plan> = serde_json::from_value(file["plans"].clone()).unwrap();
        let topology: Topology = serde_json::from_value(file["topology"].clone()).unwrap();
        assert_eq!(topology, ranks.parse().unwrap());
        let root = file["root"].as_u64().unwrap() as u32;
        let task = Task { operator, ranks: topology.ranks(), root, extents };
        assert_eq!(plans.len(), topology.ranks() as usize);
        for (rank, plan) in (0..).zip(&plans) {
            assert_eq!(*plan, expand(&choice.algorithm, &task, rank).unwrap(), "{name} {rank}");
        }
        assert!(check(&plans, &task, Placement::Apart, None).is_ok());
        assert_eq!(file["proved"], true);
        assert_eq!(file["operator"], serde_json::to_value(operator).unwrap());
        if more.is_empty() && task.extents.is_none() {
            let case = Case {
                operator,
                ranks: topology.ranks(),
                block_bytes: file["block_bytes"].as_u64().unwrap(),
                topology: &topology,
                reach: Reach::Network,
                forced: None,
                product: Product::A2,
            };
            assert_eq!(choice, select(&case));
        }
    }
    let some = written(&["allgather", "--ranks", "1x9", "--rank", "7,2-3", "--format", "json"]);
    let file: serde_json::Value = serde_json::from_str(&some).unwrap();
    let ranks: Vec<_> =
        file["plans"].as_array().unwrap().iter().map(|plan| &plan["rank"]).collect();
    assert_eq!(ranks, [2, 3, 7]);
    assert_eq!(file["moved"][1]["bytes"], (9 * 8) << 20);
}

/// Whether elements nest, attributes are quoted and unique, and nothing is left unescaped.
fn is_well_formed(xml: &str) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = xml;
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        if text.contains('>') || text.split('&').skip(1).any(|entity| !is_entity(entity)) {
            return Err(format!("unescaped: {text}"));
        }
        let end = rest[at..].find('>').ok_or("a tag without end")? + at;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("</{name}> ends nothing"));
            }
            continue;
        }
        let (body, closed) = tag.strip_suffix('/').map_or((tag, false), |body| (body, true));
        let name = body.split(' ').next().unwrap_or("");
        let mut names = Vec::new();
        let mut attributes = body[name.len()..].trim();
        while !attributes.is_empty() {
            let (attribute, value) =
                attributes.split_once("=\"").ok_or("an attribute without =")?;
            let (value, more) = value.split_once('"').ok_or("a value without end")?;
            if names.contains(&attribute) || value.contains('<') || attribute.contains(' ') {
                return Err(format!("attribute {attribute} of {name}"));
            }
            names.push(attribute);
            attributes = more.trim();
        }
        if !closed {
            open.push(name);
        }
    }
    if open.is_empty() && rest.trim().is_empty() { Ok(()) } else { Err(format!("open: {open:?}")) }
}

fn is_entity(text: &str) -> bool {
    ["amp;", "lt;", "gt;", "quot;"].iter().any(|entity| text.starts_with(entity))
}

/// Places of other ranks among these that a plan touches.
fn touched(plan: &Plan, among: &[u32]) -> usize {
    let places = |step: &Step| match step {
        Step::Copy { source, target, .. } => vec![*source, *target],
        Step::Reduce { sources, targets, .. } => [&**sources, &**targets].concat(),
        _ => Vec::new(),
    };
    let other = |rank: u32| rank != plan.rank && among.contains(&rank);
    plan.steps.iter().flat_map(places).filter(|place| other(place.rank)).count()
}

#[test]
fn a_picture_has_an_arrow_for_each_transfer() {
    let all: Vec<u32> = (0..64).collect();
    for (operator, ranks, algorithm, drawn) in [
        (Operator::AllReduce, "8", "mesh", 8),
        (Operator::AllReduce, "4x2", "hierarchy:4*mesh,2*ring", 8),
        (Operator::Broadcast, "1x5", "ring", 5),
        (Operator::AlltoAll, "2x3", "pairwise", 6),
        (Operator::AllGather, "8x6", "nhr", 32),
        (Operator::AllReduce, "2+3", "ahc:2+3:mesh:ring", 5),
    ] {
        let name = operator.name();
        let svg = written(&[name, "--ranks", ranks, "--algo", algorithm, "--format", "svg"]);
        assert_eq!(is_well_formed(&svg), Ok(()));
        let topology: Topology = ranks.parse().unwrap();
        let algorithm: Algorithm = algorithm.parse().unwrap();
        let task = Task::new(operator, topology.ranks(), 0);
        let arrows: usize = (0..drawn)
            .map(|rank| touched(&expand(&algorithm, &task, rank).unwrap(), &all[..drawn as usize]))
            .sum();
        assert_eq!(svg.matches("class=\"arrow").count(), arrows, "{name} {ranks}");
        assert_eq!(svg.matches("class=\"rank\"").count(), drawn as usize);
        assert_eq!(svg.contains("ranks are drawn, without"), topology.ranks() > drawn);
        assert_eq!(svg.contains(">between servers<"), topology.groups.len() > 1);
        assert!(svg.contains("prefers-color-scheme: dark"));
        assert!(svg.contains("class=\"share\""));
    }
    let some = written(&["allgather", "--ranks", "4", "--rank", "1,3", "--format", "svg"]);
    assert_eq!(some.matches("class=\"arrow").count(), 2);
    assert!(some.contains("2 of 4 ranks are drawn, without 4 transfers"), "{some}");
}

#[test]
fn the_check_of_pictures_can_fail() {
    for bad in
        ["<a>", "<a></b>", "<a b=\"1\" b=\"2\"/>", "<a>&x</a>", "<a>></a>", "<a b=1/>", "<a/>x"]
    {
        assert!(is_well_formed(bad).is_err(), "{bad}");
    }
    assert_eq!(is_well_formed("<a b=\"1\"><c/>&lt;</a>"), Ok(()));
}

#[test]
fn wrong_words_are_named_with_those_that_are_allowed() {
    for (arguments, parts) in [
        (&["allreduced", "--ranks", "8"][..], &["`allreduced`", "allreduce, reduce"][..]),
        (&["allreduce", "--ranks", "8y"], &["`8y`", "8x4"]),
        (&["allreduce", "--ranks", "131072"], &["131072", "65536"]),
        (&["allreduce"], &["--ranks"]),
        (&["allreduce", "--ranks", "8", "--links", "5us"], &["`5us`", "60us:200Gb/s"]),
        (&["allreduce", "--ranks", "8x2", "--links", "5us:1GB/s"], &["1 links for 2 tiers"]),
        (&["allreduce", "--cluster", "a4"], &["`a4`", "a2-server"]),
        (&["allreduce", "--cluster", "a2-server", "--ranks", "8"], &["--ranks"]),
        (&["allreduce", "--ranks", "8", "--bytes", "1X"], &["`1X`", "K, M, G or T"]),
        (&["allreduce", "--ranks", "8", "--bytes", "7"], &["7", "multiple of the 4 bytes"]),
        (&["allreduce", "--ranks", "8", "--bytes", "8", "--count", "2"], &["--count"]),
        (&["allreduce", "--ranks", "8", "--count", "9223372036854775807"], &["at most"]),
        (&["allreduce", "--ranks", "8", "--dtype", "fp4"], &["`fp4`", "float32", "bfloat16"]),
        (&["allreduce", "--ranks", "8", "--root", "1"], &["no root", "Broadcast"]),
        (&["reduce", "--ranks", "8", "--root", "8"], &["--root 8", "0 to 7"]),
        (&["allreduce", "--ranks", "8", "--rank", "8"], &["8 is none", "0 to 7"]),
        (&["allreduce", "--ranks", "8", "--rank", "x"], &["`x`", "0,3,5-7"]),
        (&["allreduce", "--ranks", "8", "--algo", "x"], &["`x`", "double-ring", "auto"]),
        (&["allreduce", "--ranks", "8", "--hccl-algo", "level1:x"], &["`x`", "NHR, NHR_V1"]),
        (&["allreduce", "--ranks", "8", "--algo", "nb", "--hccl-algo", "x"], &["--hccl-algo"]),
        (&["allreduce", "--ranks", "8", "--product", "a4"], &["`a4`", "910, 310p, a2"]),
        (&["allreduce", "--ranks", "8", "--reach", "x"], &["mapped, network"]),
        (&["allreduce", "--ranks", "8", "--format", "x"], &["text, json, svg"]),
        (&["allreduce", "--ranks", "8", "--lengths", "1"], &["all the same"]),
        (&["allgatherv", "--ranks", "3", "--lengths", "1,2"], &["3 ranks", "one for each rank"]),
        (&["alltoallv", "--ranks", "2", "--lengths", "1,2"], &["a row for each"]),
        (&["alltoallv", "--ranks", "2", "--lengths", "x"], &["`x`", "1,2/3,4"]),
        (&["alltoallv", "--ranks", "4096"], &["4096 ranks", "pairs"]),
        (&["allgatherv", "--ranks", "2", "--lengths", "9223372036854775807,1"], &["2^63"]),
    ] {
        let errors = refused(command(arguments), 2);
        for part in parts {
            assert!(errors.contains(part), "{part}: {errors}");
        }
    }
    let mut environment = command(&["allreduce", "--ranks", "8"]);
    environment.env("HCCL_ALGO", "level1:nhr");
    let errors = refused(environment, 1);
    for part in ["HCCL_ALGO is `level1:nhr`", "`nhr` is no word of level1", "ring, H-D_R, NHR"] {
        assert!(errors.contains(part), "{errors}");
    }
    // More than anybody can read.
    let ring = ["allreduce", "--ranks", "65536", "--algo", "ring", "--rank", "all"];
    let errors = refused(command(&ring), 1);
    assert!(errors.contains("65536 plans") && errors.contains("--rank"), "{errors}");
    let nowhere = refused(command(&["allreduce", "--ranks", "2", "--output", "/nowhere/x"]), 1);
    assert!(nowhere.contains("/nowhere/x"), "{nowhere}");
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let mut environment = command(&["allreduce", "--ranks", "8"]);
    environment.env("HCCL_ALGO", std::ffi::OsStr::from_bytes(b"level1:\xff"));
    assert!(refused(environment, 1).contains("HCCL_ALGO"));
}

#[test]
fn every_operator_has_a_plan_by_its_name() {
    for operator in Operator::ALL {
        for ranks in ["1", "3", "2x2", "1+2"] {
            let text =
                written(&[&operator.name().to_lowercase(), "--ranks", ranks, "--dtype", "int8"]);
            assert!(text.starts_with(operator.name()), "{text}");
            assert!(field(&text, "proved").contains("of all ranks"), "{text}");
        }
    }
    assert!(written(&["recv", "--ranks", "2"]).starts_with("Send of 2 ranks"));
    let text = written(&["send", "--ranks", "3", "--lengths", "0,0,0/0,0,6/0,0,0", "--rank", "2"]);
    assert!(text.contains("copy 6 elements (24 B) from the input of rank 1"), "{text}");
}

#[test]
fn files_hold_what_stdout_would() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan.json");
    let arguments = ["allreduce", "--ranks", "4", "--format", "json"];
    let to_file = [&arguments[..], &["--output", file.to_str().unwrap()]].concat();
    assert_eq!(written(&to_file), "");
    assert_eq!(std::fs::read_to_string(file).unwrap(), written(&arguments));
}

/// A reader that goes early, as `head` does, is no failure.
#[test]
fn a_reader_may_leave() {
    let arguments = ["allreduce", "--ranks", "1x64", "--rank", "all", "--format", "json"];
    let mut child =
        command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
