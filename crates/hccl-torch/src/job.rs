//! A collective on its way through the queue of its group.

use std::sync::Arc;
use std::time::Duration;

use hccl::{Communicator, Memory, Operation, Polled, Request};
use hccl_os::wait::Watch;

use crate::abi::Status;
use crate::call::Collective;
use crate::ticket::{Failure, Ticket};

/// What came of looking after something once.
pub(crate) enum Step {
    Over(Result<(), Failure>),
    /// It got on; look again at once.
    Progress,
    /// It waits for others: for a word to change, for so long.
    Pending {
        watch: Option<Watch>,
        spin: bool,
        sleep: Duration,
    },
}

pub(crate) struct Job {
    asked: Collective,
    operation: Option<Box<Operation>>,
    /// Whether the engine has heard of it.
    begun: bool,
}

/// A job that somebody waits for.
pub(crate) struct Queued {
    pub(crate) job: Job,
    pub(crate) ticket: Arc<Ticket>,
}

impl Job {
    pub(crate) fn new(asked: Collective) -> Self {
        Self { asked, operation: None, begun: false }
    }

    /// Brings it to the engine, unless that was done. True if it is through.
    fn begin(&mut self, communicator: &Communicator) -> Result<bool, Failure> {
        if self.begun {
            return Ok(false);
        }
        self.begun = true;
        let asked = &mut self.asked;
        // What the own rank does not read or write may be of any length, and is not touched.
        let is_root = communicator.rank() == asked.root;
        let rooted = asked.operator.is_rooted();
        let input = asked.input.memory()?;
        let output = match &mut asked.output {
            None => input,
            Some(output) => output.memory()?,
        };
        let reads = !rooted || is_root || asked.operator.input_blocks(2, false) > 0;
        if reads {
            asked.input.fill();
        }
        communicator.set_timeout(asked.timeout);
        let request = Request {
            operator: asked.operator,
            data_type: asked.data_type,
            reduce_op: asked.reduce_op,
            root: asked.root,
            count: asked.count,
            lengths: asked.lengths.clone(),
            input: if reads { input } else { Memory::NONE },
            output,
        };
        // SAFETY: blocks are kept until the end, and abandoned if it is no good one: those of this
        // job, and those of tensors.
        let operation = unsafe { communicator.start_or_finish_shared(request) }?;
        self.operation = operation.map(Box::new);
        Ok(self.operation.is_none())
    }

    /// Goes as far as it can. What is through has its results in its tensors.
    pub(crate) fn poll(&mut self, communicator: &Communicator, arm: bool) -> Step {
        match self.begin(communicator) {
            Ok(true) => return self.end(Ok(())),
            Ok(false) => {}
            Err(failure) => return self.end(Err(failure)),
        }
        let Some(operation) = &mut self.operation else { return Step::Over(Ok(())) };
        match operation.poll(arm) {
            Polled::Done => self.end(Ok(())),
            Polled::Failed(error) => self.end(Err(error.into())),
            Polled::Progress => Step::Progress,
            Polled::Pending { watch, spin, sleep } => Step::Pending { watch, spin, sleep },
        }
    }

    fn end(&mut self, result: Result<(), Failure>) -> Step {
        self.operation = None;
        let asked = &mut self.asked;
        match &result {
            Ok(()) => asked.output.as_ref().unwrap_or(&asked.input).empty(),
            // Nobody else has heard of it.
            Err(failure) if !self.begun || failure.status == Status::Invalid => {}
            Err(_) => {
                asked.input.abandon();
                if let Some(output) = &mut asked.output {
                    output.abandon();
                }
            }
        }
        Step::Over(result)
    }
}

impl Queued {
    /// It will not be run.
    pub(crate) fn refuse(mut self, failure: &Failure) -> Arc<Ticket> {
        self.job.end(Err(failure.clone()));
        self.ticket.set_over(Err(failure.clone()));
        self.ticket
    }
}
