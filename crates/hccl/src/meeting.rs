//! Meeting a peer in a call: whether it called the same, and where its buffers are.

use hccl_fabric::{Call, Span};
use hccl_plan::{Operator, Peers};

use crate::call::{describe, describe_plan};
use crate::error::Error;
use crate::lengths::Lengths;
use crate::operation::Operation;
use crate::room::{HALVES, INPUT_IN_ROOM, INPUT_REMOTE, OUTPUT_IN_ROOM, ROW_BYTES};
use crate::route;
use crate::views::{Peer, View};

impl Operation {
    /// The peers of a wait have come: looks at their calls, each once.
    pub(crate) fn meet(&mut self, peers: Peers) -> Result<(), Error> {
        let (first, end) = match peers {
            Peers::All => (0, self.inner.fabric.ranks()),
            Peers::One(peer) => (peer, peer + 1),
        };
        let mut chunk = self.cut.chunk;
        for rank in first..end {
            if self.views.peers[rank as usize].met {
                continue;
            }
            let Some(call) = self.inner.fabric.call_of(rank, self.sequence) else {
                // It went on to later calls. It would not have, did this rank need its buffers.
                self.views.peers[rank as usize].met = true;
                continue;
            };
            if call.signature != self.signature {
                return Err(self.mismatch());
            }
            if call.words[0] == 0 && self.cut.count > 0 {
                let what = "rounds of no elements".into();
                return Err(Error::Broken { context: self.context(), peer: rank, what });
            }
            let found = self.find_buffers(rank, &call)?;
            if self.direct && self.in_room.0 && call.words[0] < self.room_chunk {
                // What is in the room is cut for the own rounds.
                let own = self.room_chunk;
                let what =
                    format!("rounds of {} elements, where this rank's have {own}", call.words[0]);
                return Err(Error::Broken { context: self.context(), peer: rank, what });
            }
            self.collecting |= found.collects;
            self.views.peers[rank as usize] = found;
            chunk = chunk.min(call.words[0]);
        }
        if matches!(peers, Peers::All) {
            self.inner.seen_all(self.sequence);
        }
        if self.direct && matches!(peers, Peers::All) {
            // Who brings private memory moves it in rounds, and the others go along.
            self.cut.chunk = chunk;
            self.cut.check(self.request.operator)?;
            self.one_shot = self.is_small() && self.views.peers.iter().all(|peer| peer.collects);
        }
        Ok(())
    }

    pub(crate) fn mismatch(&self) -> Error {
        let fabric = &*self.inner.fabric;
        let calls: Vec<Option<Call>> = (0..fabric.ranks())
            .map(|peer| match peer == fabric.rank() {
                true => Some(self.call),
                false => fabric.call_of(peer, self.sequence),
            })
            .collect();
        let nothing = |rank: u32| match fabric.reached(rank, self.sequence, 1) {
            true => "a call that it overwrote",
            false => "nothing yet",
        };
        Error::Mismatch { context: self.context(), table: table(&calls, nothing) }
    }

    /// Addresses of a peer's buffers. What it says is checked against the memory that it shares,
    /// and every use against the lengths that it gave.
    fn find_buffers(&self, peer: u32, call: &Call) -> Result<Peer, Error> {
        let size = self.views.size;
        let align = self.request.data_type.align() as u64;
        let broken = |what: String| Error::Broken { context: self.context(), peer, what };
        let find = |what: &str, span: Span| {
            if span.len == 0 {
                return Ok(std::ptr::null_mut());
            }
            let aligned = !self.request.operator.reduces() || span.offset.is_multiple_of(align);
            let found = self.inner.fabric.memory(peer, span.offset, span.len);
            found.filter(|_| aligned).ok_or_else(|| {
                broken(format!("{what} of {} bytes at offset {}", span.len, span.offset))
            })
        };
        let [chunk, flags] = call.words;
        let halves = if flags & HALVES != 0 { 2 } else { 1 };
        let view = |what: &str, span: Span, blocks: u64, in_room: bool| {
            let base = find(what, span)?;
            let room = blocks.checked_mul(chunk).and_then(|len| len.checked_mul(halves * size));
            if in_room && self.request.lengths.is_none() && room != Some(span.len) {
                // Where a round begins there follows from this.
                let what = format!("{what} of {} bytes for rounds of {chunk} elements", span.len);
                return Err(broken(what));
            }
            Ok::<_, Error>(if in_room && halves == 2 {
                View::halves(base, span.len, chunk)
            } else if in_room {
                View::round(base, span.len, chunk)
            } else {
                View::whole(base, span.len, self.cut.count)
            })
        };
        let (input, output) = self.blocks_of(peer);
        let mut found = Peer {
            met: true,
            collects: self.can_collect() && flags & OUTPUT_IN_ROOM != 0,
            input: match flags & INPUT_REMOTE {
                0 => view("its input", call.input, input, flags & INPUT_IN_ROOM != 0)?,
                _ => self.find_remote(peer, call.input)?,
            },
            output: view("its output", call.output, output, flags & OUTPUT_IN_ROOM != 0)?,
            // A rank without private memory gives no chunk: scratch memory has that of the plan.
            scratch: View::round(
                find("its scratch memory", call.scratch)?,
                call.scratch.len,
                self.cut.chunk,
            ),
        };
        if self.request.operator == Operator::AlltoAllV {
            found.input = self.row(peer, &found)?;
        }
        Ok(found)
    }

    /// The private input of a peer, for the kernel to copy from.
    fn find_remote(&self, peer: u32, Span { offset, len }: Span) -> Result<View, Error> {
        let may = self.direct
            && route::copies(self.request.operator)
            && self.inner.fabric.all_copy()
            && offset.checked_add(len).is_some();
        if may {
            return Ok(View::remote(offset, len, self.cut.count));
        }
        let what = format!("private input of {len} bytes at {offset:#x}");
        Err(Error::Broken { context: self.context(), peer, what })
    }

    /// What a peer has for this rank, by the table in its scratch memory.
    fn row(&self, peer: u32, found: &Peer) -> Result<View, Error> {
        let rank = self.inner.fabric.rank();
        let at = u64::from(rank) * ROW_BYTES;
        let base = found.scratch.base();
        if at + ROW_BYTES > found.scratch.len() || !(base as usize).is_multiple_of(8) {
            let what = format!("a table of {} bytes at {base:p}", found.scratch.len());
            return Err(Error::Broken { context: self.context(), peer, what });
        }
        // SAFETY: inside the peer's scratch memory, and aligned; the peer wrote it before it
        // published the call. Should it write again, any two numbers will do.
        let [start, len] = [0, 1].map(|i| unsafe {
            let word = base.add(at as usize).cast::<u64>().add(i);
            u64::from_le(word.read_volatile())
        });
        let expected = match self.request.lengths.as_deref() {
            Some(Lengths::Pairs { receives, .. }) => receives[peer as usize].len,
            _ => 0,
        };
        if len != expected {
            let table = format!(
                "rank {peer} sends {len} {} to rank {rank}, which receives {expected}",
                self.request.data_type
            );
            return Err(Error::Mismatch { context: self.context(), table });
        }
        Ok(self.part_of(found.input, start, len))
    }
}

/// Who called what, equal calls together.
fn table(calls: &[Option<Call>], nothing: impl Fn(u32) -> &'static str) -> String {
    let same = |one: fn(&[u8; hccl_fabric::SIGNATURE_BYTES]) -> String| {
        let mut texts = calls.iter().flatten().map(|call| one(&call.signature));
        let first = texts.next();
        texts.all(|text| Some(text) == first)
    };
    // The same call, run in different ways.
    let text = if same(describe) { describe_plan } else { describe };
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for (rank, call) in (0u32..).zip(calls) {
        let text = call.map_or_else(|| nothing(rank).to_owned(), |call| text(&call.signature));
        match rows.iter_mut().find(|(known, _)| *known == text) {
            Some((_, ranks)) => ranks.push(rank.to_string()),
            None => rows.push((text, vec![rank.to_string()])),
        }
    }
    let row = |(text, ranks): &(String, Vec<String>)| {
        let word = if ranks.len() == 1 { "rank" } else { "ranks" };
        format!("{word} {}: {text}", ranks.join(", "))
    };
    rows.iter().map(row).collect::<Vec<_>>().join("; ")
}
