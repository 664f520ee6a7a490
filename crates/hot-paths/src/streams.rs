//! Putting a task on a stream of the software NPU, and waiting for it.
//!
//! The background thread would come in between at its own times. So it gets a task of another
//! stream that does not end.

use std::sync::{Arc, mpsc};

use anyhow::Result;
use softnpu::runtime::runtime;
use softnpu::stream::Stream;
use softnpu::task::{Poll, PollTask, Work};

use crate::Case;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::new("stream/submit", || {
            let npu = Npu::new()?;
            Ok(Box::new(move |meter| {
                let mut work = Some(nothing());
                meter.call(|| match work.take() {
                    Some(work) => Ok(npu.stream.submit(work)?),
                    None => Ok(()),
                })?;
                Ok(npu.stream.synchronize(None)?)
            }))
        }),
        Case::new("stream/synchronize", || {
            let npu = Npu::new()?;
            Ok(Box::new(move |meter| {
                npu.stream.submit(nothing())?;
                meter.call(|| Ok(npu.stream.synchronize(None)?))
            }))
        }),
    ]
}

/// A stream whose tasks nobody runs but who waits for them.
struct Npu {
    stream: Arc<Stream>,
    /// The background thread is busy until these are dropped.
    _busy: (mpsc::Sender<()>, Arc<Stream>),
}

impl Npu {
    fn new() -> Result<Self> {
        let context = runtime()?.set_device(0)?;
        let (release, released) = mpsc::channel();
        let (begin, begun) = mpsc::channel();
        let hold = move || {
            let _ = begin.send(());
            let _ = released.recv();
        };
        let other = context.create_stream(0, 0)?;
        other.submit(Work::Run(Some(Box::new(hold))))?;
        begun.recv()?;
        Ok(Self { stream: context.create_stream(0, 0)?, _busy: (release, other) })
    }
}

/// A task as collectives are, which has nothing to do.
fn nothing() -> Work {
    struct Nothing;

    impl PollTask for Nothing {
        fn poll(&mut self, _: bool) -> Poll {
            Poll::Done
        }

        fn name(&self) -> std::borrow::Cow<'_, str> {
            "nothing".into()
        }
    }

    Work::Poll(Box::new(Nothing))
}
