//! Many copies in one call.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use softnpu::context::current;
use softnpu::copy::{Place, copy_in_order, copy_now, place};
use softnpu::stream::Stream;
use softnpu::{NpuError, NpuResult};

use crate::border::{In, Out, StreamHandle, acl};

/// `aclrtMemLocation`: number and kind of a place.
#[repr(C)]
#[derive(Clone, Copy)]
struct Location {
    id: u32,
    kind: c_int,
}

/// `aclrtMemcpyBatchAttr`: where both ends lie.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Ends {
    to: Location,
    from: Location,
    reserved: [u8; 16],
}
const _: () = assert!(size_of::<Ends>() == 32);

const HOST: c_int = 0;
const DEVICE: c_int = 1;

/// A list of copies as it comes in.
struct Batch {
    to: In<*mut c_void>,
    room: In<usize>,
    from: In<*mut c_void>,
    sizes: In<usize>,
    count: usize,
    ends: In<Ends>,
    first: In<usize>,
    kinds: usize,
}

struct Copy {
    to: *mut u8,
    from: *const u8,
    len: usize,
}

/// A failure, and the copy whose fault it is.
type Failure = (NpuError, Option<usize>);

impl Batch {
    /// Checks everything before anything is copied.
    fn check(&self) -> Result<Vec<Copy>, Failure> {
        let general = |error: NpuError| (error, None);
        for (is_null, name) in [
            (self.to.is_null(), "dsts"),
            (self.room.is_null(), "destMaxs"),
            (self.from.is_null(), "srcs"),
            (self.sizes.is_null(), "sizes"),
            (self.ends.is_null(), "attrs"),
            (self.first.is_null(), "attrsIndexes"),
        ] {
            if is_null {
                return Err(general(NpuError::null(name)));
            }
        }
        if self.count == 0 || self.kinds == 0 || self.kinds > self.count {
            let given = format!("{} with {} attributes", self.count, self.kinds);
            let allowed = "1 or more, with 1 attribute or more, and no more than copies";
            return Err(general(NpuError::argument("numBatches", given, allowed)));
        }
        let first = self.first.list(self.kinds).map_err(general)?;
        let ascends = first.windows(2).all(|pair| pair[0] < pair[1]);
        if first[0] != 0 || !ascends || first[self.kinds - 1] >= self.count {
            let given = format!("{first:?}");
            let allowed = "numbers of copies that begin with 0 and ascend";
            return Err(general(NpuError::argument("attrsIndexes", given, allowed)));
        }
        let ends = self.ends.list(self.kinds).map_err(general)?;
        for one in &ends {
            if !matches!((one.to.kind, one.from.kind), (DEVICE, HOST) | (HOST, DEVICE)) {
                let given = format!("from type {} to type {}", one.from.kind, one.to.kind);
                let allowed = "between the host (0) and a device (1)";
                return Err(general(NpuError::argument("attrs", given, allowed)));
            }
        }
        current().map_err(general)?;
        // One after the other, with room as it comes: the number may be anything.
        let mut copies = Vec::new();
        for i in 0..self.count {
            let kind = first.partition_point(|&first| first <= i) - 1;
            let (to, from) = (self.to.at(i).cast(), self.from.at(i).cast_const().cast());
            let copy = Copy { to, from, len: self.sizes.at(i) };
            copy.check(self.room.at(i), ends[kind]).map_err(|error| (error, Some(i)))?;
            copies.push(copy);
        }
        Ok(copies)
    }

    fn run(&self, stream: Option<&Arc<Stream>>) -> Result<(), Failure> {
        for (i, copy) in self.check()?.iter().enumerate() {
            let done = match stream {
                // SAFETY: checked as far as the memory is known; host memory is valid by the
                // contract of the C functions, until the stream has passed the copy.
                Some(stream) => unsafe {
                    copy_in_order(copy.to, copy.from, copy.len, false, stream)
                },
                // SAFETY: as above.
                None => unsafe { copy_now(copy.to, copy.from, copy.len) },
            };
            done.map_err(|error| (error, Some(i)))?;
        }
        Ok(())
    }
}

impl Copy {
    fn check(&self, room: usize, ends: Ends) -> NpuResult<()> {
        if self.to.is_null() {
            return Err(NpuError::null("dst"));
        }
        if self.from.is_null() {
            return Err(NpuError::null("src"));
        }
        if self.len == 0 || self.len > room {
            let allowed = format!("1 to destMax, {room}");
            return Err(NpuError::value("size", self.len, &allowed));
        }
        for (name, address, said) in
            [("dst", self.to.cast_const(), ends.to.kind), ("src", self.from, ends.from.kind)]
        {
            let found = match place(name, address, self.len)? {
                Place::Device(_) => DEVICE,
                Place::Pinned | Place::Pageable => HOST,
            };
            if found != said {
                let given = format!("{address:p}, which is of type {found}");
                let allowed = format!("memory of type {said}, as the attribute says");
                return Err(NpuError::value(name, given, &allowed));
            }
        }
        Ok(())
    }
}

/// Tells which copy failed, if it was one's fault.
fn finish(result: Result<(), Failure>, failed: Option<Out<usize>>) -> NpuResult<()> {
    result.map_err(|(error, which)| {
        if let Some(failed) = failed {
            failed.put_if_wanted(which.unwrap_or(usize::MAX));
        }
        error
    })
}

acl! {
    /// Copies at once; `failed` receives the number of the copy that failed.
    fn aclrtMemcpyBatch(
        to: In<*mut c_void>,
        room: In<usize>,
        from: In<*mut c_void>,
        sizes: In<usize>,
        count: usize,
        ends: In<Ends>,
        first: In<usize>,
        kinds: usize,
        failed: Out<usize>,
    ) {
        failed.check("failIndex")?;
        let batch = Batch { to, room, from, sizes, count, ends, first, kinds };
        finish(batch.run(None), Some(failed))
    }
}

acl! {
    /// Copies in stream order; `failed` receives the number of the copy that was refused.
    fn aclrtMemcpyBatchAsync(
        to: In<*mut c_void>,
        room: In<usize>,
        from: In<*mut c_void>,
        sizes: In<usize>,
        count: usize,
        ends: In<Ends>,
        first: In<usize>,
        kinds: usize,
        failed: Out<usize>,
        stream: StreamHandle,
    ) {
        failed.check("failIndex")?;
        let batch = Batch { to, room, from, sizes, count, ends, first, kinds };
        finish(batch.run(Some(&stream.here()?)), Some(failed))
    }
}

acl! {
    /// As `aclrtMemcpyBatch`, without the number of the copy that failed.
    fn aclrtMemcpyBatchV2(
        to: In<*mut c_void>,
        room: In<usize>,
        from: In<*mut c_void>,
        sizes: In<usize>,
        count: usize,
        ends: In<Ends>,
        first: In<usize>,
        kinds: usize,
    ) {
        let batch = Batch { to, room, from, sizes, count, ends, first, kinds };
        finish(batch.run(None), None)
    }
}

acl! {
    /// As `aclrtMemcpyBatchAsync`, without the number of the copy that was refused.
    fn aclrtMemcpyBatchAsyncV2(
        to: In<*mut c_void>,
        room: In<usize>,
        from: In<*mut c_void>,
        sizes: In<usize>,
        count: usize,
        ends: In<Ends>,
        first: In<usize>,
        kinds: usize,
        stream: StreamHandle,
    ) {
        let batch = Batch { to, room, from, sizes, count, ends, first, kinds };
        finish(batch.run(Some(&stream.here()?)), None)
    }
}
