//! What a peer says is checked: a rank that reads damaged calls ends with an error that names the
//! peer, never with a panic, a hang or a wrong answer.

mod common;

use std::sync::Arc;
use std::time::Duration;

use hccl::{
    Communicator, DataType, Error, Extent, Lengths, Memory, Operator, Options, Piece, ReduceOp,
    Request,
};
use hccl_fabric::{Call, Data, Fabric, Fault, HostFabric, Inline, Line, Message, Server};
use hccl_os::wait::Watch;

/// Shows this rank other calls than the peers made.
struct Damaged {
    inner: HostFabric,
    damage: fn(&mut Call),
}

impl Fabric for Damaged {
    fn call_of(&self, peer: u32, sequence: u64) -> Option<Call> {
        let mut call = self.inner.call_of(peer, sequence)?;
        (self.damage)(&mut call);
        Some(call)
    }

    fn rank(&self) -> u32 {
        self.inner.rank()
    }

    fn ranks(&self) -> u32 {
        self.inner.ranks()
    }

    fn now(&self) -> Duration {
        self.inner.now()
    }

    fn publish(&self, sequence: u64, call: &Call) {
        self.inner.publish(sequence, call);
    }

    unsafe fn publish_inline(&self, sequence: u64, call: &Call, digest: u64, data: Data) {
        // SAFETY: the caller's promise is the same.
        unsafe { self.inner.publish_inline(sequence, call, digest, data) };
    }

    fn inline_of(&self, peer: u32, sequence: u64) -> Option<Inline> {
        self.inner.inline_of(peer, sequence)
    }

    fn signal(&self, sequence: u64, level: u32) {
        self.inner.signal(sequence, level);
    }

    fn reached(&self, peer: u32, sequence: u64, level: u32) -> bool {
        self.inner.reached(peer, sequence, level)
    }

    fn position(&self, peer: u32) -> (u64, u32) {
        self.inner.position(peer)
    }

    fn post(&self, to: u32, number: u64, message: &Message) {
        self.inner.post(to, number, message);
    }

    fn posted(&self, from: u32, number: u64) -> Option<Message> {
        self.inner.posted(from, number)
    }

    fn take(&self, from: u32, number: u64) {
        self.inner.take(from, number);
    }

    fn taken(&self, to: u32, number: u64) -> bool {
        self.inner.taken(to, number)
    }

    fn announce(&self, line: Line) {
        self.inner.announce(line);
    }

    fn retract(&self, line: Line) {
        self.inner.retract(line);
    }

    fn watch(&self, line: Line) -> Option<Watch> {
        self.inner.watch(line)
    }

    fn cores_to_spare(&self) -> bool {
        self.inner.cores_to_spare()
    }

    fn memory(&self, peer: u32, offset: u64, len: u64) -> Option<*mut u8> {
        self.inner.memory(peer, offset, len)
    }

    fn all_copy(&self) -> bool {
        self.inner.all_copy()
    }

    unsafe fn copy_from(
        &self,
        peer: u32,
        from: u64,
        to: *mut u8,
        len: usize,
    ) -> Result<(), String> {
        // SAFETY: the caller's promise is the same.
        unsafe { self.inner.copy_from(peer, from, to, len) }
    }

    fn any_gone(&self) -> bool {
        self.inner.any_gone()
    }

    fn fault(&self, rank: u32) -> Option<Fault> {
        self.inner.fault(rank)
    }

    fn probe(&self) {
        self.inner.probe();
    }

    fn fail(&self, reason: u32) {
        self.inner.fail(reason);
    }

    fn leave(&self) {
        self.inner.leave();
    }

    fn process(&self, rank: u32) -> u32 {
        self.inner.process(rank)
    }
}

fn all_reduce() -> Request {
    Request {
        operator: Operator::AllReduce,
        data_type: DataType::F32,
        reduce_op: Some(ReduceOp::Sum),
        root: 0,
        count: 5000,
        lengths: None,
        input: Piece { offset: 0, len: 20_000 }.into(),
        output: Piece { offset: 65_536, len: 20_000 }.into(),
    }
}

/// On private memory, in several rounds.
fn from_private() -> Request {
    const COUNT: usize = 100_000;
    let buffer = || {
        let elements = vec![1f32; COUNT].leak();
        // SAFETY: leaked for this request alone.
        unsafe { Memory::private(elements.as_mut_ptr().cast(), 4 * COUNT as u64) }
    };
    Request { count: COUNT as u64, input: buffer(), output: buffer(), ..all_reduce() }
}

/// As a flag of a call says that its input is private.
const INPUT_REMOTE: u64 = 8;

/// From private memory where it is.
fn gather_from_private() -> Request {
    let request = from_private();
    let output = vec![0f32; 2 * request.count as usize].leak();
    // SAFETY: leaked for this request alone.
    let output = unsafe { Memory::private(output.as_mut_ptr().cast(), 4 * output.len() as u64) };
    Request { operator: Operator::AllGather, reduce_op: None, output, ..request }
}

fn exchange() -> Request {
    let extents = |start: u64| vec![Extent { start, len: 7 }, Extent { start: start + 7, len: 7 }];
    let lengths = Lengths::Pairs { sends: extents(0), receives: extents(2) };
    Request {
        operator: Operator::AlltoAllV,
        reduce_op: None,
        count: 0,
        lengths: Some(Arc::new(lengths)),
        ..all_reduce()
    }
}

fn options() -> Options {
    Options { copy_from_processes: true, ..common::options() }
}

/// What both ranks ask for, and what comes of the call that rank 1 publishes.
type Damage = (fn() -> Request, fn(&mut Call));

#[test]
fn damaged_calls_end_in_errors_that_name_the_peer() {
    let damages: [Damage; 16] = [
        (all_reduce, |call| call.words[0] = 0),
        (all_reduce, |call| call.input.offset = u64::MAX),
        (all_reduce, |call| call.input.offset += 2),
        (all_reduce, |call| call.input.len = u64::MAX),
        (all_reduce, |call| call.input.len = 8),
        (all_reduce, |call| call.output.len = 0),
        // Nobody reduces what lies in private memory of others.
        (all_reduce, |call| call.words[1] |= INPUT_REMOTE),
        (gather_from_private, |call| call.input.offset = 64),
        (gather_from_private, |call| call.input.offset = u64::MAX - 3),
        (gather_from_private, |call| call.input.len -= 4),
        (from_private, |call| call.words[0] = 1),
        (from_private, |call| call.input.len /= 2),
        (from_private, |call| call.output.len -= 8),
        (exchange, |call| call.scratch.offset += 4),
        (exchange, |call| call.scratch.len = 8),
        (exchange, |call| call.input.len = 12),
    ];
    for (index, (request, damage)) in damages.into_iter().enumerate() {
        let timeout = Duration::from_secs(20);
        let server = Server::open(0).unwrap();
        let root = server.info().clone();
        server.serve(timeout).unwrap();
        let run = |number: u32| {
            let (inner, _) = common::fabric(&root, (number, 2), timeout).unwrap();
            let fabric: Box<dyn Fabric> = match number {
                0 => Box::new(Damaged { inner, damage }),
                _ => Box::new(inner),
            };
            let communicator = Communicator::new(fabric, options());
            let result = communicator.start(request()).unwrap().wait();
            match (number, result) {
                (0, Err(Error::Broken { peer: 1, .. })) => {}
                // It is told, or was through before.
                (1, Ok(()) | Err(Error::Peer { .. })) => {}
                (number, other) => panic!("damage {index}: rank {number}: {other:?}"),
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| run(0));
            run(1);
        });
    }
}
