//! Forks of a process that has communicators and buffers. One test, since a fork takes along
//! whatever other threads hold.

use std::future::Future as _;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake};

use hccl::{Buffer, Communicator, Error, JoinOptions, ReduceOp, Root, run_threads};

/// Long enough that freeing it gives pages back.
const LEN: usize = 1 << 20;

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait_as_a_future(c: &Communicator) {
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut call = pin!(c.barrier_async().unwrap());
    while call.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        std::thread::park();
    }
}

/// Late by a moment, so that the other rank is woken by the thread that wakes.
fn both(c: &Communicator) {
    if c.rank() == 1 {
        std::thread::sleep(std::time::Duration::from_millis(60));
    }
    wait_as_a_future(c);
}

fn child(c: &Communicator, mut inherited: Buffer<u32>, pairs: [Vec<Communicator>; 3]) {
    assert!(matches!(c.barrier(), Err(Error::Forked { .. })));
    // Of those the parent does not hear.
    pairs[0][0].leave();
    pairs[1][0].abort("in the child");
    drop(pairs);
    // Its memory is the parent's.
    assert!(inherited.iter().all(|value| *value == 0));
    inherited[0] = 5;
    drop(inherited);
    // New ones are its own, also where the parent has something.
    let own: Vec<Buffer<u32>> =
        (0..8).map(|i| Buffer::from_slice(&vec![i; LEN]).unwrap()).collect();
    assert!((0u32..).zip(&own).all(|(i, buffer)| buffer.iter().all(|value| *value == i)));
    run_threads(2, |c| {
        let mut sum = Buffer::from_slice(&[c.rank() + 1; 100]).unwrap();
        c.all_reduce_in_place(&mut sum, ReduceOp::Sum).unwrap();
        assert_eq!(*sum, [3; 100]);
        both(&c);
    })
    .unwrap();
}

#[test]
fn a_forked_child_is_refused_what_is_its_parents_and_may_begin_anew() {
    let root = Root::open().unwrap();
    let c = Communicator::join(root.info(), 0, 1, JoinOptions::default()).unwrap();
    // The thread that wakes runs in the parent.
    run_threads(2, |c| both(&c)).unwrap();
    let numbers: Vec<u32> = (0..LEN as u32).collect();
    let kept = Buffer::from_slice(&numbers).unwrap();
    let inherited = Buffer::from_slice(&numbers).unwrap();
    let pairs = [(); 3].map(|()| run_threads(2, |c| c).unwrap());
    // SAFETY: no other thread of this program holds anything that the child needs.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: a child that hangs ends by this signal.
        unsafe { libc::alarm(60) };
        let outcome =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| child(&c, inherited, pairs)));
        // SAFETY: ends the child without running anything of the parent's.
        unsafe { libc::_exit(i32::from(outcome.is_err())) };
    }
    let mut status = 0;
    // SAFETY: waits for the child just made; `status` is writable.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!(status, 0, "the child's own assertions are above");
    for pair in pairs {
        std::thread::scope(|scope| {
            for c in &pair {
                scope.spawn(|| c.barrier().unwrap());
            }
        });
    }
    assert_eq!((&*kept, &*inherited), (&*numbers, &*numbers), "the child wrote elsewhere");
    c.barrier().unwrap();
}
