//! One process of a job: some ranks, each on a thread and a device of its own, that run the cases
//! they are told and say what came out.

use std::ffi::c_void;
use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;

use crate::libraries::{Item, Libraries, ROOT_INFO_BYTES};
use crate::oracle::{Digest, Op, Type, mix};

/// What a job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suite {
    /// AllReduce, all types and reductions.
    AllReduce,
    /// The other operators.
    Operators,
    /// As `AllReduce`, of fewer sizes.
    AllReduceBrief,
    /// As `Operators`, of smaller sizes.
    OperatorsBrief,
    /// As `Operators`, on types for which the order of a reduction makes no difference.
    Forced,
    /// AllReduce without end.
    Endless,
    /// Every operator, type, reduction and place.
    Support,
}

impl Suite {
    const ALL: [Self; 7] = [
        Self::AllReduce,
        Self::Operators,
        Self::AllReduceBrief,
        Self::OperatorsBrief,
        Self::Forced,
        Self::Endless,
        Self::Support,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "allreduce",
            Self::Operators => "operators",
            Self::AllReduceBrief => "allreduce-brief",
            Self::OperatorsBrief => "operators-brief",
            Self::Forced => "forced",
            Self::Endless => "endless",
            Self::Support => "support",
        }
    }
}

impl Suite {
    /// Element counts of the cases of a suite of AllReduce.
    pub(crate) fn counts(self) -> &'static [u64] {
        match self {
            Self::AllReduceBrief => &[1, 7, 4_097],
            _ => &[0, 1, 7, 4_097, 1_000_003],
        }
    }

    /// Types and counts of the cases of a suite of operators.
    pub(crate) fn operator_cases(self) -> impl Iterator<Item = (Type, Operator, u64)> {
        // Sums of other types than whole numbers depend on the order of the ranks. With less room
        // than the largest case needs, it goes in rounds.
        let (types, counts): (_, &[u64]) = match self {
            Self::Forced => ([Type::I32, Type::I8], &[0, 1, 1_003, 40_009]),
            Self::OperatorsBrief => ([Type::F32, Type::I8], &[0, 1, 1_003, 20_011]),
            _ => ([Type::F32, Type::I8], &[0, 1, 1_003, 150_001]),
        };
        types.into_iter().flat_map(move |data_type| {
            let all = Operator::ALL.into_iter();
            all.flat_map(move |operator| counts.iter().map(move |&n| (data_type, operator, n)))
        })
    }
}

/// Operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    AllReduce,
    Reduce,
    ReduceScatter,
    ReduceScatterInPlace,
    Broadcast,
    AllGather,
    AllGatherInPlace,
    Scatter,
    AlltoAll,
    AllGatherV,
    ReduceScatterV,
    AlltoAllV,
    AlltoAllVC,
    /// Even ranks send to their successor and then receive from their predecessor, odd ones the
    /// other way round; several messages in a row.
    SendReceive,
    /// Everybody sends to its successor and to itself, and receives from its predecessor.
    Batch,
}

impl Operator {
    pub(crate) const ALL: [Self; 15] = [
        Self::AllReduce,
        Self::Reduce,
        Self::ReduceScatter,
        Self::ReduceScatterInPlace,
        Self::Broadcast,
        Self::AllGather,
        Self::AllGatherInPlace,
        Self::Scatter,
        Self::AlltoAll,
        Self::AllGatherV,
        Self::ReduceScatterV,
        Self::AlltoAllV,
        Self::AlltoAllVC,
        Self::SendReceive,
        Self::Batch,
    ];
}

/// Elements that a rank sends to another in a case of count `count`: uneven, and often none.
pub(crate) fn pair_count(count: u64, from: u32, to: u32) -> u64 {
    count * u64::from((from * 3 + to * 5) % 4) / 3
}

/// Seed of a case's values.
pub(crate) fn seed(case: u64) -> u64 {
    mix(case.wrapping_add(0x1234_5678))
}

/// A started process of a job.
pub(crate) struct Started {
    pub(crate) child: Child,
}

/// Starts a process with the ranks `ranks` of `total`.
pub(crate) fn start(
    libraries: &Path,
    suite: Suite,
    root: &[u8; ROOT_INFO_BYTES],
    ranks: &[u32],
    total: u32,
    environment: &[(&str, &str)],
) -> anyhow::Result<Started> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("--libraries")
        .arg(libraries)
        .arg("worker")
        .env("SOFTNPU_DEVICES", "8")
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let list: Vec<String> = ranks.iter().map(ToString::to_string).collect();
    let digits: String = root.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut stdin = child.stdin.take().context("a piped standard input")?;
    writeln!(stdin, "{}\n{total}\n{}\n{digits}", suite.name(), list.join(","))?;
    Ok(Started { child })
}

/// The started process's own side.
pub(crate) fn run(folder: &Path) -> anyhow::Result<()> {
    let mut lines = std::io::stdin().lock().lines();
    let mut line = || lines.next().context("a line of the job")?.map_err(anyhow::Error::from);
    let name = line()?;
    let suite = Suite::ALL.into_iter().find(|suite| suite.name() == name);
    let suite = suite.with_context(|| format!("no suite is called {name}"))?;
    let total: u32 = line()?.parse()?;
    let ranks: Vec<u32> = line()?.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let digits = line()?;
    let mut root = [0u8; ROOT_INFO_BYTES];
    for (i, byte) in root.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * i..2 * i + 2).context("hex digits")?, 16)?;
    }
    let libraries = Libraries::load(folder)?;
    run_ranks(&libraries, suite, &root, &ranks, total)
}

/// Runs ranks as threads of this process; each prints its results.
fn run_ranks(
    libraries: &Libraries,
    suite: Suite,
    root: &[u8; ROOT_INFO_BYTES],
    ranks: &[u32],
    total: u32,
) -> anyhow::Result<()> {
    // SAFETY: NULL means no configuration.
    libraries.check("aclInit", unsafe { (libraries.init)(std::ptr::null()) })?;
    std::thread::scope(|scope| {
        let run = |&rank: &u32| {
            scope.spawn(move || {
                let rank_on = Rank::join(*libraries, root, rank, total)?;
                match suite {
                    Suite::AllReduce | Suite::AllReduceBrief => rank_on.all_reduce_cases(suite),
                    Suite::Operators | Suite::OperatorsBrief | Suite::Forced => {
                        rank_on.operator_cases(suite)
                    }
                    Suite::Endless => rank_on.endless(),
                    Suite::Support => rank_on.support_cases(),
                }
                .with_context(|| format!("rank {rank} of {total}"))
            })
        };
        let threads: Vec<_> = ranks.iter().map(run).collect();
        for thread in threads {
            thread.join().map_err(|_| anyhow::anyhow!("a rank panicked"))??;
        }
        Ok(())
    })
}

/// Tells the parent.
pub(crate) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}");
    let _ = out.flush();
}

/// A rank on a thread and a device of its own.
pub(crate) struct Rank {
    pub(crate) libraries: Libraries,
    pub(crate) rank: u32,
    pub(crate) total: u32,
    pub(crate) comm: *mut c_void,
    pub(crate) stream: *mut c_void,
    pub(crate) input: *mut c_void,
    pub(crate) output: *mut c_void,
}

const HOST_TO_DEVICE: i32 = 1;
const DEVICE_TO_HOST: i32 = 2;
/// Bytes of each device buffer: the largest case of either suite.
const BUFFER_BYTES: usize = 10 << 20;

impl Rank {
    fn join(
        libraries: Libraries,
        root: &[u8; ROOT_INFO_BYTES],
        rank: u32,
        total: u32,
    ) -> anyhow::Result<Self> {
        let null = std::ptr::null_mut();
        let mut made =
            Self { libraries, rank, total, comm: null, stream: null, input: null, output: null };
        let device = (rank % 8) as i32;
        // SAFETY: places for results are fields of a live local; the root info has its size.
        unsafe {
            libraries.check("aclrtSetDevice", (libraries.set_device)(device))?;
            let stream = (libraries.create_stream)(&raw mut made.stream);
            libraries.check("aclrtCreateStream", stream)?;
            for buffer in [&raw mut made.input, &raw mut made.output] {
                libraries.check("aclrtMalloc", (libraries.malloc)(buffer, BUFFER_BYTES, 0))?;
            }
            let comm = (libraries.join)(total, root.as_ptr(), rank, &raw mut made.comm);
            libraries.check("HcclCommInitRootInfo", comm)?;
        }
        Ok(made)
    }

    pub(crate) fn upload(&self, to: *mut c_void, bytes: &[u8]) -> anyhow::Result<()> {
        let (len, from) = (bytes.len(), bytes.as_ptr().cast());
        // SAFETY: the device buffer is `BUFFER_BYTES` long, which the library checks.
        let code = unsafe { (self.libraries.memcpy)(to, len, from, len, HOST_TO_DEVICE) };
        self.libraries.check("aclrtMemcpy to the device", code)
    }

    pub(crate) fn download(&self, from: *mut c_void, len: usize) -> anyhow::Result<Vec<u8>> {
        let mut bytes = vec![0u8; len];
        let to = bytes.as_mut_ptr().cast();
        // SAFETY: as in `upload`.
        let code = unsafe { (self.libraries.memcpy)(to, len, from, len, DEVICE_TO_HOST) };
        self.libraries.check("aclrtMemcpy from the device", code)?;
        Ok(bytes)
    }

    pub(crate) fn synchronize(&self) -> anyhow::Result<()> {
        // SAFETY: a live stream.
        let code = unsafe { (self.libraries.synchronize)(self.stream) };
        self.libraries.check("aclrtSynchronizeStream", code)
    }

    fn all_reduce_cases(&self, suite: Suite) -> anyhow::Result<()> {
        let mut case = 0;
        for data_type in Type::ALL {
            for op in Op::ALL {
                for &count in suite.counts() {
                    for in_place in [false, true] {
                        case += 1;
                        if data_type.supports(op) {
                            self.all_reduce_case(case, data_type, op, count, in_place)?;
                        }
                    }
                }
            }
        }
        // SAFETY: a live communicator.
        let code = unsafe { (self.libraries.destroy)(self.comm) };
        self.libraries.check("HcclCommDestroy", code)
    }

    fn all_reduce_case(
        &self,
        case: u64,
        data_type: Type,
        op: Op,
        count: u64,
        in_place: bool,
    ) -> anyhow::Result<()> {
        let bytes = elements(data_type, seed(case), self.rank, 0, count);
        self.upload(self.input, &bytes)?;
        if !in_place {
            // What was there must not matter.
            self.upload(self.output, &vec![0xcd; bytes.len()])?;
        }
        let output = if in_place { self.input } else { self.output };
        // SAFETY: buffers, communicator and stream are live.
        let code = unsafe {
            let (ty, op) = (data_type.code(), op.code());
            (self.libraries.all_reduce)(self.input, output, count, ty, op, self.comm, self.stream)
        };
        self.libraries.check("HcclAllReduce", code)?;
        self.synchronize()?;
        let result = self.download(output, bytes.len())?;
        let kept = in_place || self.download(self.input, bytes.len())? == bytes;
        say(&format!("{case} {} {:016x} {kept}", self.rank, digest(data_type, &result).0));
        Ok(())
    }

    fn operator_cases(&self, suite: Suite) -> anyhow::Result<()> {
        for (case, (data_type, operator, count)) in (1..).zip(suite.operator_cases()) {
            self.operator_case(case, data_type, operator, count)?;
        }
        // SAFETY: a live communicator and stream.
        let code = unsafe { (self.libraries.barrier)(self.comm, self.stream) };
        self.libraries.check("HcclBarrier", code)?;
        self.synchronize()?;
        // SAFETY: a live communicator.
        let code = unsafe { (self.libraries.destroy)(self.comm) };
        self.libraries.check("HcclCommDestroy", code)
    }

    fn operator_case(
        &self,
        case: u64,
        data_type: Type,
        operator: Operator,
        count: u64,
    ) -> anyhow::Result<()> {
        use Operator as O;
        let ranks = u64::from(self.total);
        let root = root_of(case, self.total);
        let (null, is_root) = (std::ptr::null_mut(), self.rank == root);
        let (input_blocks, output_blocks) = match operator {
            O::AllReduce | O::Reduce | O::Broadcast => (1, 1),
            O::ReduceScatter | O::ReduceScatterInPlace | O::Scatter => (ranks, 1),
            O::AllGather | O::AllGatherInPlace => (1, ranks),
            O::AlltoAll => (ranks, ranks),
            O::AllGatherV | O::ReduceScatterV | O::AlltoAllV | O::AlltoAllVC => {
                return self.uneven_case(case, data_type, operator, count);
            }
            O::SendReceive | O::Batch => {
                return self.message_case(case, data_type, operator, count);
            }
        };
        let block = count as usize * data_type.size();
        let bytes = elements(data_type, seed(case), self.rank, 0, count * input_blocks);
        let own = self.rank as usize * block;
        // In place, the small buffer is the own block of the large one.
        let (input, output) = match operator {
            O::ReduceScatterInPlace => (self.input, self.input.wrapping_byte_add(own)),
            O::AllGatherInPlace => (self.output.wrapping_byte_add(own), self.output),
            O::Broadcast => (self.input, self.input),
            _ => (self.input, self.output),
        };
        self.upload(self.output, &vec![0xcd; block * output_blocks as usize])?;
        self.upload(input, &bytes)?;
        let (ty, sum) = (data_type.code(), Op::Sum.code());
        let (comm, stream, libs) = (self.comm, self.stream, &self.libraries);
        let scattered = if is_root { input } else { null };
        // SAFETY: buffers, communicator and stream are live.
        let code = unsafe {
            match operator {
                O::AllReduce => (libs.all_reduce)(input, output, count, ty, sum, comm, stream),
                O::Reduce => (libs.reduce)(input, output, count, ty, sum, root, comm, stream),
                O::ReduceScatter | O::ReduceScatterInPlace => {
                    (libs.reduce_scatter)(input, output, count, ty, sum, comm, stream)
                }
                O::Broadcast => (libs.broadcast)(input, count, ty, root, comm, stream),
                O::AllGather | O::AllGatherInPlace => {
                    (libs.all_gather)(input, output, count, ty, comm, stream)
                }
                O::Scatter => (libs.scatter)(scattered, output, count, ty, root, comm, stream),
                _ => (libs.all_to_all)(input, count, ty, output, count, ty, comm, stream),
            }
        };
        libs.check("the operator", code)?;
        self.synchronize()?;
        let result = self.download(output, block * output_blocks as usize)?;
        say(&format!("{case} {} {:016x} true", self.rank, digest(data_type, &result).0));
        Ok(())
    }

    fn uneven_case(
        &self,
        case: u64,
        data_type: Type,
        operator: Operator,
        count: u64,
    ) -> anyhow::Result<()> {
        let (rank, ranks) = (self.rank, self.total);
        // With displacements of its own each block has a gap behind it.
        let gap = u64::from(operator != Operator::AlltoAllVC);
        let layout = |counts: &[u64]| {
            let mut next = 0;
            let displacements: Vec<u64> = counts
                .iter()
                .map(|count| {
                    let at = next;
                    next += count + gap;
                    at
                })
                .collect();
            (displacements, next)
        };
        // What a gathering rank sends is the same for all, and so is what a rank gets of a sum.
        let to = |to: u32| if operator == Operator::AllGatherV { 0 } else { to };
        let from = |from: u32| if operator == Operator::ReduceScatterV { 0 } else { from };
        let sent: Vec<u64> =
            (0..ranks).map(|peer| pair_count(count, from(rank), to(peer))).collect();
        let received: Vec<u64> =
            (0..ranks).map(|peer| pair_count(count, from(peer), to(rank))).collect();
        let (sent_at, sent_total) = layout(&sent);
        let (received_at, received_total) = layout(&received);
        let bytes = elements(data_type, seed(case), rank, 0, sent_total);
        self.upload(self.input, &bytes)?;
        let len = match operator {
            Operator::ReduceScatterV => received[0] as usize * data_type.size(),
            _ => received_total as usize * data_type.size(),
        };
        self.upload(self.output, &vec![0xcd; len])?;
        let matrix: Vec<u64> = (0..ranks)
            .flat_map(|from| (0..ranks).map(move |to| pair_count(count, from, to)))
            .collect();
        let (ty, libs, comm, stream) = (data_type.code(), &self.libraries, self.comm, self.stream);
        let (input, output) = (self.input.cast_const(), self.output.cast_const());
        // SAFETY: buffers, communicator and stream are live; arrays have an entry a rank or pair.
        let code = unsafe {
            if operator == Operator::AllGatherV {
                let (to_counts, to_at) = (received.as_ptr(), received_at.as_ptr());
                (libs.all_gather_v)(
                    self.input,
                    sent[0],
                    self.output,
                    to_counts,
                    to_at,
                    ty,
                    comm,
                    stream,
                )
            } else if operator == Operator::ReduceScatterV {
                let (counts, at, sum) = (sent.as_ptr(), sent_at.as_ptr(), Op::Sum.code());
                let (to, own) = (self.output, received[0]);
                (libs.reduce_scatter_v)(self.input, counts, at, to, own, ty, sum, comm, stream)
            } else if operator == Operator::AlltoAllV {
                let (counts, at) = (sent.as_ptr(), sent_at.as_ptr());
                let (to_counts, to_at) = (received.as_ptr(), received_at.as_ptr());
                (libs.all_to_all_v)(
                    input, counts, at, ty, output, to_counts, to_at, ty, comm, stream,
                )
            } else {
                (libs.all_to_all_vc)(input, matrix.as_ptr(), ty, output, ty, comm, stream)
            }
        };
        libs.check("the uneven operator", code)?;
        self.finish_case(case, data_type, len)
    }

    fn message_case(
        &self,
        case: u64,
        data_type: Type,
        operator: Operator,
        count: u64,
    ) -> anyhow::Result<()> {
        let (rank, ranks) = (self.rank, self.total);
        let (next, previous) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        let block = count as usize * data_type.size();
        self.upload(self.input, &elements(data_type, seed(case), rank, 0, 2 * count))?;
        self.upload(self.output, &vec![0xcd; 2 * block])?;
        let (ty, libs, comm, stream) = (data_type.code(), &self.libraries, self.comm, self.stream);
        let at = |buffer: *mut c_void, index: usize| buffer.wrapping_byte_add(index * block);
        if operator == Operator::Batch {
            let item = |kind, buffer, remote_rank| Item {
                kind,
                buffer,
                count,
                data_type: ty,
                remote_rank,
            };
            let items = [
                item(0, at(self.input, 0), next),
                item(0, at(self.input, 1), rank),
                item(1, at(self.output, 1), rank),
                item(1, at(self.output, 0), previous),
            ];
            // SAFETY: buffers, communicator and stream are live.
            let code = unsafe { (libs.batch)(items.as_ptr(), 4, comm, stream) };
            libs.check("HcclBatchSendRecv", code)?;
        } else if ranks > 1 {
            let half = |to_send: bool| -> anyhow::Result<()> {
                for index in 0..2 {
                    // SAFETY: as above.
                    let code = unsafe {
                        if to_send {
                            (libs.send)(at(self.input, index), count, ty, next, comm, stream)
                        } else {
                            (libs.receive)(
                                at(self.output, index),
                                count,
                                ty,
                                previous,
                                comm,
                                stream,
                            )
                        }
                    };
                    libs.check("HcclSend or HcclRecv", code)?;
                }
                Ok(())
            };
            // The last of an odd number of ranks receives first, or the ring would not turn.
            let first = rank % 2 == 0 && !(ranks % 2 == 1 && rank == ranks - 1);
            half(first)?;
            half(!first)?;
        }
        self.finish_case(case, data_type, 2 * block)
    }

    /// Waits, and says what is in the output.
    fn finish_case(&self, case: u64, data_type: Type, len: usize) -> anyhow::Result<()> {
        self.synchronize()?;
        let result = self.download(self.output, len)?;
        say(&format!("{case} {} {:016x} true", self.rank, digest(data_type, &result).0));
        Ok(())
    }

    /// Reduces without end, so that somebody can end it.
    fn endless(&self) -> anyhow::Result<()> {
        let count = 2_000_000;
        let mut rounds = 0u64;
        loop {
            // SAFETY: buffers, communicator and stream are live.
            let code = unsafe {
                let (ty, op) = (Type::F32.code(), Op::Max.code());
                let (input, output) = (self.input, self.output);
                (self.libraries.all_reduce)(input, output, count, ty, op, self.comm, self.stream)
            };
            let result =
                self.libraries.check("HcclAllReduce", code).and_then(|()| self.synchronize());
            if let Err(error) = result {
                let mut code = 0;
                // SAFETY: a live communicator and a place for the result.
                unsafe { (self.libraries.async_error)(self.comm, &raw mut code) };
                say(&format!(
                    "failed {} {code} {}",
                    self.rank,
                    error.to_string().replace('\n', " ")
                ));
                return Ok(());
            }
            rounds += 1;
            if rounds == 1 {
                say(&format!("running {}", self.rank));
            }
        }
    }
}

/// Root of a case.
pub(crate) fn root_of(case: u64, ranks: u32) -> u32 {
    (seed(case) >> 32) as u32 % ranks
}

/// Elements of a rank as bytes.
pub(crate) fn elements(data_type: Type, seed: u64, rank: u32, first: u64, count: u64) -> Vec<u8> {
    let size = data_type.size();
    let mut bytes = Vec::with_capacity(count as usize * size);
    for index in first..first + count {
        bytes.extend_from_slice(&data_type.value(seed, rank, index).to_le_bytes()[..size]);
    }
    bytes
}

/// Digest of elements.
pub(crate) fn digest(data_type: Type, bytes: &[u8]) -> Digest {
    let mut digest = Digest::EMPTY;
    for element in bytes.chunks_exact(data_type.size()) {
        let mut bits = [0u8; 8];
        bits[..element.len()].copy_from_slice(element);
        digest.push(data_type.canonical(u64::from_le_bytes(bits)));
    }
    digest
}

/// How the ranks of a job are spread over processes.
pub(crate) fn layouts(ranks: u32) -> Vec<(&'static str, Vec<Vec<u32>>)> {
    let all: Vec<u32> = (0..ranks).collect();
    let mut layouts = vec![("threads", vec![all.clone()])];
    if ranks > 1 {
        layouts.push(("processes", all.iter().map(|&rank| vec![rank]).collect()));
    }
    if ranks > 3 {
        let (odd, even) = all.iter().partition(|&&rank| rank % 2 == 1);
        layouts.push(("threads in two processes", vec![even, odd]));
    }
    layouts
}

/// Where the libraries are, as an absolute path, since children start elsewhere.
pub(crate) fn absolute(folder: &Path) -> anyhow::Result<PathBuf> {
    folder.canonicalize().with_context(|| format!("no folder {}", folder.display()))
}
