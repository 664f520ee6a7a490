//! The built program: its numbers are those of the library, and whatever it is given, it answers in
//! words.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use hccl_plan::simulate::{Model, Simulator, Size};
use hccl_plan::{Algorithm, Cluster, Operator, Task};

/// After this a run hangs. It is minutes more than any of them takes.
const LIMIT: Duration = Duration::from_secs(300);

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hccl"));
    command.arg("simulate").args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits for the end, and kills what does not come to one.
fn watched(mut child: Child) -> Output {
    let drain = |mut pipe: Box<dyn std::io::Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.read_to_end(&mut bytes).map(|_| bytes)
        })
    };
    let stdout = child.stdout.take().map(|pipe| drain(Box::new(pipe)));
    let stderr = child.stderr.take().map(|pipe| drain(Box::new(pipe)));
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("still running after {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let joined = |thread: Option<std::thread::JoinHandle<std::io::Result<Vec<u8>>>>| {
        thread.map_or(Vec::new(), |thread| thread.join().unwrap().unwrap())
    };
    Output { status, stdout: joined(stdout), stderr: joined(stderr) }
}

fn run(arguments: &[&str]) -> Output {
    watched(command(arguments).spawn().unwrap())
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The standard output of a run that must succeed.
fn answer(arguments: &[&str]) -> String {
    let output = run(arguments);
    let message = text(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {message}");
    text(&output.stdout).to_owned()
}

/// The message of a run that must fail, and not by a panic.
fn refusal(arguments: &[&str]) -> String {
    let output = run(arguments);
    let message = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments:?}: {message}");
    assert!(output.stdout.is_empty() && !message.contains("panicked"), "{message}");
    message.to_owned()
}

/// Fields of a line; those in quotes may have commas.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    for c in line.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            c => fields.last_mut().unwrap().push(c),
        }
    }
    fields
}

fn microseconds(model: &Model, algorithm: &str, operator: Operator, bytes: u64) -> f64 {
    let ranks = model.topology.ranks();
    let algorithm: Algorithm = algorithm.parse().unwrap();
    let simulator = Simulator::new(model, &algorithm, &Task::new(operator, ranks, 0)).unwrap();
    let outcome = simulator.run(Size::new(operator, ranks, bytes, 4)).unwrap();
    outcome.time_ps as f64 / 1e6
}

/// Every line of a CSV, against the library.
#[test]
fn numbers_are_those_of_the_library() {
    let answer = answer(&[
        "--cluster",
        "a2-server,superpod-384",
        "--operator",
        "allreduce,reducescatter",
        "--bytes",
        "64K:64M:32",
        "--algorithm",
        "nhr,hierarchy:mesh+nhr",
        "--format",
        "csv",
    ]);
    let mut lines = answer.lines();
    let header = fields(lines.next().unwrap());
    assert_eq!(header.len(), 10 + 2 * 2);
    let mut count = 0;
    for line in lines {
        let fields = fields(line);
        assert_eq!(fields.len(), header.len(), "{line}");
        let column = |name: &str| {
            let at = header.iter().position(|column| column == name).unwrap();
            fields[at].as_str()
        };
        let number = |name: &str| column(name).parse::<f64>().unwrap();
        let model = Cluster::named(column("topology")).unwrap().model();
        let operator: Operator = column("operator").parse().unwrap();
        let bytes: u64 = column("bytes").parse().unwrap();
        let time = microseconds(&model, column("algorithm"), operator, bytes);
        assert_eq!(number("time_us"), time, "{line}");
        let bandwidth = bytes as f64 / time / 1e3;
        assert!((number("algbw_gb_per_s") / bandwidth - 1.0).abs() < 1e-9, "{line}");
        let ranks = f64::from(model.topology.ranks());
        let times = if operator == Operator::AllReduce { 2.0 } else { 1.0 };
        let factor = times * (ranks - 1.0) / ranks;
        assert!((number("busbw_gb_per_s") / bandwidth / factor - 1.0).abs() < 1e-9, "{line}");
        count += 1;
    }
    // Three sizes; on one server the hierarchy is a mesh, and both are there.
    assert_eq!(count, 2 * 2 * 3 * 2);
}

#[test]
fn the_example_runs_in_every_form() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/simulate/clusters.toml");
    let file = file.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chart.svg");
    let table = answer(&[file]);
    for part in ["a2-server", "superpod-384", "uneven", "AllGather of bf16", "ahc:8+8+6:nb:nb"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    // For each of three networks, two operators and six amounts one is best, or several alike.
    assert!(table.matches("  best").count() >= 3 * 2 * 6, "{table}");
    // The one-shot mesh has no AllGather.
    let (all_reduce, all_gather) = (4 + 3 + 4, 3 + 3 + 4);
    let csv = answer(&[file, "--format", "csv"]);
    assert_eq!(csv.lines().count(), 1 + 6 * (all_reduce + all_gather));
    let nothing = answer(&[file, "--format", "svg", "--output", path.to_str().unwrap()]);
    assert_eq!(nothing, "");
    let svg = std::fs::read_to_string(&path).unwrap();
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("class=\"title\"").count(), 3 * 2);
    // Two plots and a legend for each line.
    assert_eq!(svg.matches("<polyline").count(), 3 * (all_reduce + all_gather));
}

#[test]
fn ranges_are_read_in_both_ways() {
    let common = ["--ranks", "4", "--format", "csv", "-a", "ring"];
    let one = answer(&[&common[..], &["-b", "8:512:4"]].concat());
    let other = answer(&[&common[..], &["-b", "8", "-e", "512", "-f", "4"]].concat());
    assert_eq!(one, other);
    assert_eq!(one.lines().count(), 1 + 4);
    // Without types and links that are said, those of the defaults.
    let said = ["-l", "5us:28GB/s", "-d", "fp32", "-o", "allreduce", "-b", "8:512:4"];
    assert_eq!(answer(&[&common[..], &said].concat()), one);
}

#[test]
fn rates_and_roots_count() {
    let time = |more: &[&str]| {
        let common = ["--ranks", "8", "--format", "csv", "-a", "star", "-o", "reduce", "-b", "1M"];
        let answer = answer(&[&common[..], more].concat());
        fields(answer.lines().nth(1).unwrap())[6].parse::<f64>().unwrap()
    };
    let free = time(&[]);
    // Seven times a megabyte at 10^9 bytes a second.
    let slow = time(&["--reduce", "1GB/s"]);
    assert!((slow - free - 7.0 * 1_048_576.0 / 1e3).abs() < 0.01, "{slow} {free}");
    assert_eq!(time(&["--root", "5"]), free);
}

#[test]
fn the_critical_path_ends_with_the_time() {
    let answer =
        answer(&["--ranks", "8x4", "-a", "hierarchy:mesh+nhr", "-b", "64M", "--critical-path"]);
    let time = answer.lines().find(|line| line.ends_with("best")).unwrap();
    let time = time.split_whitespace().nth(2).unwrap();
    let last = answer.lines().last().unwrap();
    assert_eq!(last.split_whitespace().nth(1).unwrap(), time);
    assert!(answer.contains("over mesh") && answer.contains("over host"), "{answer}");
}

/// Readers may go: `| head -1`.
#[test]
fn a_closed_pipe_is_no_error() {
    let arguments = ["--ranks", "64", "-a", "ring,nhr,nb", "-b", "1K:64K:2", "--critical-path"];
    for format in ["table", "csv", "svg"] {
        let mut arguments = arguments.to_vec();
        if format != "table" {
            arguments.pop();
        }
        arguments.extend(["--format", format]);
        let mut child = command(&arguments).spawn().unwrap();
        // Reads a little and closes; the whole is longer than a pipe holds.
        let mut line = String::new();
        BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty());
        let output = watched(child);
        let message = text(&output.stderr);
        assert!(output.status.success() && message.is_empty(), "{format}: {message}");
    }
    // And nobody reads at all.
    let mut child = command(&["--ranks", "4", "-b", "1K"]).spawn().unwrap();
    drop(child.stdout.take());
    assert!(watched(child).status.success());
}

#[test]
fn what_does_not_apply_is_said_and_the_rest_is_priced() {
    let output = run(&["--ranks", "6", "-a", "star,ring", "-b", "1K"]);
    assert!(output.status.success());
    assert!(text(&output.stderr).contains("star has no AllReduce"));
    assert!(text(&output.stdout).contains("ring"));
    let message = refusal(&["--ranks", "6", "-a", "star", "-b", "1K"]);
    assert!(message.contains("nothing could be priced"), "{message}");
    let message = refusal(&["--ranks", "140000", "-a", "ring", "-b", "1K"]);
    assert!(message.contains("more than 131072 ranks"), "{message}");
}

#[test]
fn what_is_wrong_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.toml");
    std::fs::write(&file, "operators = [\"allreduce\"]\nbytes = 7x\n").unwrap();
    let file = file.to_str().unwrap();
    let missing = folder.path().join("missing/out.csv");
    let missing = missing.to_str().unwrap();
    for (arguments, why) in [
        (&[][..], "--cluster NAME or --ranks GROUPS"),
        (&["-r", "0"], "`0` is no topology"),
        (&["-r", "8x"], "no number"),
        (&["-r", "99999999x99999999"], "too many"),
        (&["-r", "8", "-l", "5us"], "`5us` is no link"),
        (&["-r", "8x4", "-l", "5us:1GB/s"], "2 tiers, but there are 1 links"),
        (&["-r", "8", "-b", "0"], "`0` is no amount of data"),
        (&["-r", "8", "-b", "1K:1:2"], "ends at 1, before it begins at 1024"),
        (&["-r", "8", "-b", "1K", "-e", "1M", "-f", "1"], "1 is no factor"),
        (&["-r", "8", "-a", "nhrr"], "`nhrr` is no algorithm"),
        (&["-r", "8", "-o", "allreduse"], "`allreduse` is no operator"),
        (&["-r", "8", "-o", "send"], "`send` is no operator that can be priced"),
        (&["-r", "8", "-d", "fp33"], "`fp33` is no data type"),
        (&["-r", "8", "-o", "reduce", "--root", "8"], "root 8 is none of the 8 ranks"),
        (&["-r", "8", "--reduce", "quick"], "`quick` is no rate"),
        (&["-r", "8", "--critical-path", "--format", "csv"], "--format table only"),
        (&["-r", "8", "-c", "a2-server"], "cannot be used with"),
        (&["-c", "a3-server"], "possible values: a2-server"),
        (&["-r", "8", "-b", "1K", "--output", missing], "cannot write"),
        (&["missing.toml"], "cannot read missing.toml"),
        (&["/"], "cannot read /"),
        (&[file], "job.toml: TOML parse error at line 2"),
        (&[file, "-b", "1K"], "cannot be used with"),
    ] {
        let message = refusal(arguments);
        assert!(message.contains(why), "{arguments:?}: {message}");
    }
}
