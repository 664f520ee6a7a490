//! Anonymous shared memory: created without a name, passed by descriptor, gone with its last user.
//!
//! The size is sealed at creation and checked on arrival, so a peer can neither shrink a segment
//! under us (SIGBUS) nor hand us one that is shorter than it says.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::LazyLock;

use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::mm::{Advice, MapFlags, ProtFlags};

use crate::error::{Named, OsError, OsResult};

/// Identity of a segment, the same in every process that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SegmentId {
    /// Device number of the memory file system.
    pub device: u64,
    /// Inode number there.
    pub inode: u64,
}

/// A segment of anonymous shared memory that this process made, mapped, with the descriptor by
/// which others get it.
#[derive(Debug)]
pub struct Segment {
    fd: OwnedFd,
    mapping: Mapping,
    id: SegmentId,
}

/// A segment mapped into this process. Unmapped on drop; other holders keep theirs.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping is memory that belongs to no thread; this type hands out its address only,
// and whoever dereferences it answers for the access.
unsafe impl Send for Mapping {}
// SAFETY: as above; all methods take the address or ask the kernel.
unsafe impl Sync for Mapping {}

const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

impl Segment {
    /// Creates `len` bytes of zeroed memory. `label` shows in `/proc/PID/maps` only. Pages are
    /// taken from the system when they are touched.
    ///
    /// # Errors
    /// When the kernel has no memory file, no address space or no descriptor left.
    pub fn create(label: &str, len: usize) -> OsResult<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = rustix::fs::memfd_create(label, flags).named("memfd_create")?;
        rustix::fs::ftruncate(&fd, len as u64).named("ftruncate")?;
        rustix::fs::fcntl_add_seals(&fd, SEALS).named("fcntl(F_ADD_SEALS)")?;
        let mapping = Mapping::new(&fd, 0, len)?;
        let stat = rustix::fs::fstat(&fd).named("fstat")?;
        let id = SegmentId { device: stat.st_dev, inode: stat.st_ino };
        Ok(Self { fd, mapping, id })
    }

    /// Gives pages back to the system; they read as zero afterwards. `offset` and `len` should be
    /// multiples of the page size (partial pages are zeroed in place).
    ///
    /// # Errors
    /// When the range is outside the segment or the kernel refuses.
    pub fn release(&self, offset: usize, len: usize) -> OsResult<()> {
        if offset.checked_add(len).is_none_or(|end| end > self.len()) {
            return Err(OsError::Unexpected {
                what: "range to release",
                found: format!("{offset}+{len}"),
                expected: format!("within {} bytes", self.len()),
            });
        }
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&self.fd, flags, offset as u64, len as u64).named("fallocate")
    }

    /// Which segment this is, in any process.
    pub fn id(&self) -> SegmentId {
        self.id
    }
}

impl std::ops::Deref for Segment {
    type Target = Mapping;

    fn deref(&self) -> &Mapping {
        &self.mapping
    }
}

impl Mapping {
    /// Maps a segment that came from somebody else; it must be sealed and exactly `len` bytes.
    ///
    /// # Errors
    /// When the descriptor is no such segment, or the mapping fails.
    pub fn adopt(fd: &OwnedFd, len: usize) -> OsResult<Self> {
        check_sealed(fd, len)?;
        Self::new(fd, 0, len)
    }

    /// Maps a piece of a segment of `file_len` bytes that came from somebody else.
    ///
    /// # Errors
    /// As [`Self::adopt`], and when the piece is not within the segment or begins inside a page.
    pub fn adopt_piece(fd: &OwnedFd, file_len: usize, offset: usize, len: usize) -> OsResult<Self> {
        check_sealed(fd, file_len)?;
        let within = offset.checked_add(len).is_some_and(|end| end <= file_len);
        if !within || len == 0 {
            return Err(OsError::Unexpected {
                what: "piece of a shared segment",
                found: format!("{offset}+{len}"),
                expected: format!("within {file_len} bytes"),
            });
        }
        Self::new(fd, offset, len)
    }

    fn new(fd: &OwnedFd, offset: usize, len: usize) -> OsResult<Self> {
        // SAFETY: a fresh mapping at an address of the kernel's choice; nothing else is there.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::NORESERVE,
                fd,
                offset as u64,
            )
        }
        .named("mmap")?;
        let base = NonNull::new(base.cast::<u8>())
            .ok_or(OsError::Call { call: "mmap", errno: rustix::io::Errno::NOMEM })?;
        Ok(Self { base, len })
    }

    /// Asks for huge pages, or for none where [`HUGE_PAGES`] says so; a refusal changes nothing but
    /// speed.
    pub fn advise_huge(&self) {
        let advice = if *HUGE { Advice::LinuxHugepage } else { Advice::LinuxNoHugepage };
        // SAFETY: the range is exactly this mapping; the advice does not change its contents.
        let _ = unsafe { rustix::mm::madvise(self.base.as_ptr().cast(), self.len, advice) };
    }

    /// First byte of the mapping in this process.
    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Bytes mapped.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never: a segment has at least one byte.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The environment variable that says whether shared memory asks for huge pages: 1, the default, or
/// 0. Read once; another word is reported on standard error and otherwise ignored.
pub const HUGE_PAGES: &str = "HCCL_HUGE_PAGES";

static HUGE: LazyLock<bool> = LazyLock::new(|| {
    let text = std::env::var_os(HUGE_PAGES).unwrap_or_default();
    let text = text.to_string_lossy();
    parse_huge_pages(&text).unwrap_or_else(|| {
        eprintln!("hccl: {HUGE_PAGES} is {text:?}: expected 0 or 1; 1 is used");
        true
    })
});

fn parse_huge_pages(text: &str) -> Option<bool> {
    match text.trim() {
        // People clear variables with an empty value.
        "" | "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}

impl AsFd for Segment {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this length and is given up exactly once;
        // holders of raw addresses keep the segment alive by contract.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// Whether a descriptor that came from somebody else is a segment of exactly `len` bytes that nobody
/// can shorten.
///
/// # Errors
/// When it is not.
pub fn check_sealed(fd: &OwnedFd, len: usize) -> OsResult<()> {
    let unexpected =
        |what, found: String, expected: String| Err(OsError::Unexpected { what, found, expected });
    let size = rustix::fs::fstat(fd).named("fstat")?.st_size;
    if size as u64 != len as u64 || len == 0 {
        return unexpected("shared segment", format!("{size} bytes"), format!("{len} bytes"));
    }
    // A descriptor that is no memory file has no seals to ask for: the call fails.
    let seals = rustix::fs::fcntl_get_seals(fd).named("fcntl(F_GET_SEALS)")?;
    if !seals.contains(SealFlags::SHRINK) {
        return unexpected("shared segment", format!("{seals:?}"), "F_SEAL_SHRINK".into());
    }
    Ok(())
}

/// Identity of the segment behind a descriptor.
///
/// # Errors
/// When the descriptor cannot be asked.
pub fn segment_id(fd: impl AsFd) -> OsResult<SegmentId> {
    let stat = rustix::fs::fstat(fd).named("fstat")?;
    Ok(SegmentId { device: stat.st_dev, inode: stat.st_ino })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mappings_share_and_released_pages_are_zero() {
        let a = Segment::create("test", 1 << 20).unwrap();
        let fd = a.as_fd().try_clone_to_owned().unwrap();
        assert_eq!(segment_id(&fd).unwrap(), a.id());
        let b = Mapping::adopt(&fd, 1 << 20).unwrap();
        // SAFETY: both mappings are at least 8192 bytes long and this test alone uses them.
        unsafe {
            a.base().add(4096).write_volatile(7);
            assert_eq!(b.base().add(4096).read_volatile(), 7);
            a.release(4096, 4096).unwrap();
            assert_eq!(b.base().add(4096).read_volatile(), 0);
        }
        assert!(a.release(1 << 20, 1).is_err());
        let piece = Mapping::adopt_piece(&fd, 1 << 20, 8192, 4096).unwrap();
        // SAFETY: as above.
        unsafe {
            a.base().add(8193).write_volatile(9);
            assert_eq!(piece.base().add(1).read_volatile(), 9);
        }
        for (offset, len) in [(8192, 0), (8192, 1 << 20), (usize::MAX, 2), (100, 4096)] {
            assert!(Mapping::adopt_piece(&fd, 1 << 20, offset, len).is_err(), "{offset} {len}");
        }
    }

    #[test]
    fn huge_pages_are_switched_by_a_word() {
        let read = ["", "1", " 0", "yes", "2"].map(parse_huge_pages);
        assert_eq!(read, [Some(true), Some(true), Some(false), None, None]);
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
            return;
        }
        // The kernel's word on the mapping: whether huge pages were asked for.
        let segment = Segment::create("huge-test", 4 << 20).unwrap();
        segment.advise_huge();
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let own = maps.lines().skip_while(|line| !line.contains("memfd:huge-test"));
        let flags = own.map(str::to_owned).find(|line| line.starts_with("VmFlags:")).unwrap();
        assert!(flags.contains(if *HUGE { " hg" } else { " nh" }), "{flags}");
    }

    #[test]
    fn a_segment_that_is_not_what_it_says_is_refused() {
        let a = Segment::create("test", 8192).unwrap();
        let fd = a.as_fd().try_clone_to_owned().unwrap();
        assert!(matches!(Mapping::adopt(&fd, 4096), Err(OsError::Unexpected { .. })));
        let unsealed = rustix::fs::memfd_create("x", MemfdFlags::ALLOW_SEALING).unwrap();
        rustix::fs::ftruncate(&unsealed, 4096).unwrap();
        assert!(matches!(Mapping::adopt(&unsealed, 4096), Err(OsError::Unexpected { .. })));
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let len = file.metadata().unwrap().len() as usize;
        assert!(Mapping::adopt(&file.into(), len).is_err());
    }
}
