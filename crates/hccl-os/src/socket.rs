//! Message sockets between processes of one host, in the abstract namespace: no file, nothing to
//! clean up. A message arrives whole and may carry descriptors.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};

use crate::error::{Named, OsError, OsResult};

/// Descriptors that one message can carry (the kernel's own limit is 253).
pub const FDS_MAX: usize = 128;
/// Bytes that one message can carry.
pub const MESSAGE_MAX: usize = 64 * 1024;

/// A listening socket.
#[derive(Debug)]
pub struct Listener(OwnedFd);

/// One end of a connection.
#[derive(Debug)]
pub struct Connection(OwnedFd);

/// A message as it arrived.
#[derive(Debug)]
pub struct Message {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its descriptors, close-on-exec.
    pub fds: Vec<OwnedFd>,
}

/// Who is at the other end of a connection, by the kernel's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Process number, in our namespace (0 if it has none there).
    pub pid: i32,
    /// Effective user.
    pub uid: u32,
}

fn seqpacket() -> OsResult<OwnedFd> {
    rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )
    .named("socket")
}

fn address(name: &[u8]) -> OsResult<SocketAddrUnix> {
    SocketAddrUnix::new_abstract_name(name).named("abstract socket name")
}

impl Listener {
    /// Listens under an abstract name.
    ///
    /// # Errors
    /// When the name is taken or too long.
    pub fn bind(name: &[u8]) -> OsResult<Self> {
        let fd = seqpacket()?;
        rustix::net::bind(&fd, &address(name)?).named("bind")?;
        rustix::net::listen(&fd, 1024).named("listen")?;
        Ok(Self(fd))
    }

    /// A connection that waits, if there is one.
    ///
    /// # Errors
    /// When there is none that can be taken for a reason other than that none waits.
    pub fn accept(&self) -> OsResult<Option<Connection>> {
        loop {
            match rustix::net::accept_with(&self.0, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(fd) => return Ok(Some(Connection(fd))),
                Err(Errno::AGAIN) => return Ok(None),
                // The visitor left again, or a signal came: look for the next one.
                Err(Errno::CONNABORTED | Errno::INTR) => {}
                Err(errno) => {
                    return Err(OsError::Call { call: "accept", errno });
                }
            }
        }
    }
}

impl Connection {
    /// Connects to a listener, trying again while nobody listens there, until `deadline`.
    ///
    /// # Errors
    /// [`OsError::TimedOut`] when nobody took the connection in time.
    pub fn connect(name: &[u8], deadline: Instant) -> OsResult<Self> {
        let address = address(name)?;
        loop {
            let fd = seqpacket()?;
            match rustix::net::connect(&fd, &address) {
                Ok(()) => return Ok(Self(fd)),
                // Nobody listens (yet), or more visitors than the listener holds.
                Err(Errno::CONNREFUSED | Errno::AGAIN | Errno::INTR) => {
                    if Instant::now() >= deadline {
                        return Err(OsError::TimedOut);
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(errno) => {
                    return Err(OsError::Call { call: "connect", errno });
                }
            }
        }
    }

    /// Two connected ends.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub fn pair() -> OsResult<(Self, Self)> {
        let (a, b) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            None,
        )
        .named("socketpair")?;
        Ok((Self(a), Self(b)))
    }

    /// Who is at the other end.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn peer(&self) -> OsResult<Peer> {
        let mut cred = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
        let mut len = size_of::<libc::ucred>() as libc::socklen_t;
        let fd = std::os::fd::AsRawFd::as_raw_fd(&self.0);
        // SAFETY: `cred` and `len` are writable and of the size that this option fills.
        let result = unsafe {
            libc::getsockopt(
                fd,
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                (&raw mut cred).cast(),
                &raw mut len,
            )
        };
        if result != 0 {
            let errno = Errno::from_io_error(&std::io::Error::last_os_error());
            return Err(OsError::Call {
                call: "getsockopt(SO_PEERCRED)",
                errno: errno.unwrap_or(Errno::INVAL),
            });
        }
        Ok(Peer { pid: cred.pid, uid: cred.uid })
    }

    /// Sends one message, waiting for room until `deadline`.
    ///
    /// # Errors
    /// [`OsError::Closed`] when the other end is gone, [`OsError::TimedOut`] when it does not read.
    pub fn send(&self, bytes: &[u8], fds: &[BorrowedFd<'_>], deadline: Instant) -> OsResult<()> {
        if bytes.len() > MESSAGE_MAX || fds.len() > FDS_MAX {
            return Err(OsError::Unexpected {
                what: "message to send",
                found: format!("{} bytes, {} descriptors", bytes.len(), fds.len()),
                expected: format!("at most {MESSAGE_MAX} and {FDS_MAX}"),
            });
        }
        loop {
            let mut space = [MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(FDS_MAX))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
                return Err(OsError::Call { call: "sendmsg", errno: Errno::MSGSIZE });
            }
            let parts = [IoSlice::new(bytes)];
            match rustix::net::sendmsg(&self.0, &parts, &mut ancillary, SendFlags::NOSIGNAL) {
                Ok(_) => return Ok(()),
                Err(Errno::AGAIN) => self.wait(PollFlags::OUT, deadline)?,
                Err(Errno::INTR) => {}
                Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => {
                    return Err(OsError::Closed);
                }
                Err(errno) => {
                    return Err(OsError::Call { call: "sendmsg", errno });
                }
            }
        }
    }

    /// The next message, if one is there.
    ///
    /// # Errors
    /// [`OsError::Closed`] when the other end is gone; an error too when a message was cut.
    pub fn try_recv(&self) -> OsResult<Option<Message>> {
        let mut bytes = vec![0u8; MESSAGE_MAX];
        let mut space = [MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(FDS_MAX))];
        loop {
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            let mut parts = [IoSliceMut::new(&mut bytes)];
            let flags = RecvFlags::CMSG_CLOEXEC;
            match rustix::net::recvmsg(&self.0, &mut parts, &mut ancillary, flags) {
                Ok(got) => {
                    let mut fds = Vec::new();
                    for message in ancillary.drain() {
                        if let RecvAncillaryMessage::ScmRights(rights) = message {
                            fds.extend(rights);
                        }
                    }
                    // Every message here has at least one byte: none means the end.
                    if got.bytes == 0 {
                        return Err(OsError::Closed);
                    }
                    let cut = rustix::net::ReturnFlags::TRUNC | rustix::net::ReturnFlags::CTRUNC;
                    if got.flags.intersects(cut) {
                        return Err(OsError::Unexpected {
                            what: "received message",
                            found: "a truncated one (too long, or no descriptor left)".into(),
                            expected: format!("at most {MESSAGE_MAX} bytes, {FDS_MAX} descriptors"),
                        });
                    }
                    bytes.truncate(got.bytes);
                    return Ok(Some(Message { bytes, fds }));
                }
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(Errno::CONNRESET) => return Err(OsError::Closed),
                Err(errno) => {
                    return Err(OsError::Call { call: "recvmsg", errno });
                }
            }
        }
    }

    /// The next message, waiting for it until `deadline`.
    ///
    /// # Errors
    /// As [`Self::try_recv`], and [`OsError::TimedOut`].
    pub fn recv(&self, deadline: Instant) -> OsResult<Message> {
        loop {
            if let Some(message) = self.try_recv()? {
                return Ok(message);
            }
            self.wait(PollFlags::IN, deadline)?;
        }
    }

    fn wait(&self, what: PollFlags, deadline: Instant) -> OsResult<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(OsError::TimedOut);
        }
        let mut fds = [PollFd::new(&self.0, what)];
        poll(&mut fds, left)
    }
}

/// Waits until one of the sockets has something, at most `limit`.
///
/// # Errors
/// When the kernel refuses to wait.
pub fn poll(fds: &mut [PollFd<'_>], limit: Duration) -> OsResult<()> {
    let limit =
        Timespec { tv_sec: limit.as_secs().min(3600) as i64, tv_nsec: limit.subsec_nanos().into() };
    match rustix::event::poll(fds, Some(&limit)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(OsError::Call { call: "poll", errno }),
    }
}

/// Waits until a connection comes to `listener`, or a message (or the end) to one of
/// `connections`, at most `limit`.
///
/// # Errors
/// When the kernel refuses to wait.
pub fn wait_for_any(
    listener: &Listener,
    connections: &[&Connection],
    limit: Duration,
) -> OsResult<()> {
    let mut fds = Vec::with_capacity(connections.len() + 1);
    fds.push(PollFd::new(&listener.0, PollFlags::IN));
    fds.extend(connections.iter().map(|c| PollFd::new(&c.0, PollFlags::IN)));
    poll(&mut fds, limit)
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(200)
    }

    #[test]
    fn messages_and_descriptors_arrive_whole() {
        let (a, b) = Connection::pair().unwrap();
        let file = std::fs::File::open("/proc/self/status").unwrap();
        let fds = vec![file.as_fd(); FDS_MAX];
        a.send(b"one", &fds, soon()).unwrap();
        a.send(b"two", &[], soon()).unwrap();
        let one = b.recv(soon()).unwrap();
        assert_eq!((one.bytes.as_slice(), one.fds.len()), (b"one".as_slice(), FDS_MAX));
        assert_eq!(b.recv(soon()).unwrap().bytes, b"two");
        assert_eq!(b.recv(soon()).unwrap_err(), OsError::TimedOut);
        assert_eq!(a.peer().unwrap().pid as u32, std::process::id());
        drop(a);
        assert_eq!(b.recv(soon()).unwrap_err(), OsError::Closed);
    }

    #[test]
    fn a_name_belongs_to_one_listener_and_vanishes_with_it() {
        let name = format!("hccl-os-test-{}", std::process::id());
        let listener = Listener::bind(name.as_bytes()).unwrap();
        assert!(Listener::bind(name.as_bytes()).is_err());
        let client = Connection::connect(name.as_bytes(), soon()).unwrap();
        let server = listener.accept().unwrap().unwrap();
        client.send(b"x", &[], soon()).unwrap();
        assert_eq!(server.recv(soon()).unwrap().bytes, b"x");
        drop(listener);
        let gone = Connection::connect(name.as_bytes(), soon());
        assert_eq!(gone.unwrap_err(), OsError::TimedOut);
    }
}
