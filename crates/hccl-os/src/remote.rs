//! Memory of another process, copied by the kernel.

use crate::error::{OsError, OsResult};
use rustix::io::Errno;

/// Copies bytes from an address in another process.
///
/// The process is given by its number, which may be somebody else's once the process has ended:
/// see afterwards whether it still lives.
///
/// # Errors
/// When there is no such process, this one may not look into it, or it has no such memory.
///
/// # Safety
/// 1. `to` is writable for `len` bytes.
pub unsafe fn copy_from_process(pid: u32, from: u64, to: *mut u8, len: usize) -> OsResult<()> {
    let failed = |errno| Err(OsError::Call { call: "process_vm_readv", errno });
    let mut done = 0;
    while done < len {
        let local = libc::iovec { iov_base: to.wrapping_add(done).cast(), iov_len: len - done };
        let remote = libc::iovec {
            iov_base: std::ptr::without_provenance_mut((from as usize).wrapping_add(done)),
            iov_len: len - done,
        };
        // SAFETY: (1); the kernel checks what is read.
        let copied = unsafe {
            libc::process_vm_readv(pid as libc::pid_t, &raw const local, 1, &raw const remote, 1, 0)
        };
        match copied {
            1.. => done += copied as usize,
            0 => return failed(Errno::FAULT),
            _ => {
                let error = std::io::Error::last_os_error();
                let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                if errno != Errno::INTR {
                    return failed(errno);
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_copied_and_what_is_not_is_an_error() {
        let from: Vec<u32> = (0..10_000).map(|i| i * 7).collect();
        let mut to = vec![0u32; from.len()];
        let (own, len) = (crate::process::own_id(), size_of_val(&to[..]));
        // SAFETY: the vectors are as long.
        unsafe {
            copy_from_process(own, from.as_ptr().addr() as u64, to.as_mut_ptr().cast(), len)
                .unwrap();
        }
        assert_eq!(to, from);
        // SAFETY: as above.
        let error = unsafe { copy_from_process(own, 16, to.as_mut_ptr().cast(), 8) }.unwrap_err();
        assert!(error.to_string().contains("process_vm_readv"), "{error}");
        assert_eq!(to, from);
    }
}
