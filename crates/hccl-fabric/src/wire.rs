//! Messages of the rendezvous. All numbers are little-endian; a message that is not exactly as
//! long as its kind says is refused.

/// First bytes of every message.
const MAGIC: u32 = 0x4c43_4348;
/// Version of the messages.
const VERSION: u32 = 3;
/// Bytes of the settings of a rank.
pub(crate) const SETTINGS_MAX: u32 = 4096;
/// Ranks that one host can hold.
pub(crate) const RANKS_MAX: u32 = 1024;

/// What one rank tells of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Its process, by its own number.
    pub(crate) pid: u32,
    /// Its device.
    pub(crate) device: i32,
    /// Drawn once a process: ranks with equal tags share one.
    pub(crate) process_tag: [u8; 16],
    /// Bytes of the memory that it shares.
    pub(crate) memory: u64,
    /// Whether fences of others reach its process.
    pub(crate) registered: bool,
    /// Where its tag is in its memory, so that others see whether they can copy from there.
    pub(crate) tag_at: u64,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// From a rank: who it is, and what it was told that all ranks must be told alike. Carries its
    /// memory and its process handle.
    Hello { nonce: [u8; 16], ranks: u32, rank: u32, member: Member, settings: String },
    /// To a rank: everybody is here. Carries the board.
    Welcome { board: u64, members: Vec<Member> },
    /// To a rank: memory and process handles of the ranks from `first` on, two descriptors each.
    Handles { first: u32, count: u32 },
    /// From a rank: it has all it needs.
    Ready,
    /// To a rank: all have all they need.
    Go,
    /// To a rank: it will not come about, and why.
    Refuse { kind: Refusal, text: String },
}

/// Why a rendezvous fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// What the rank said cannot be.
    Invalid = 1,
    /// Ranks are missing.
    Missing = 2,
    /// A rank went away.
    Left = 3,
    /// The root had trouble of its own.
    Internal = 4,
    /// Ranks were told different things.
    Differs = 5,
}

const HELLO: u32 = 1;
const WELCOME: u32 = 2;
const HANDLES: u32 = 3;
const READY: u32 = 4;
const GO: u32 = 5;
const REFUSE: u32 = 6;

impl Wire {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut put = |bytes: &[u8]| out.extend_from_slice(bytes);
        put(&MAGIC.to_le_bytes());
        put(&VERSION.to_le_bytes());
        let member = |put: &mut dyn FnMut(&[u8]), member: &Member| {
            put(&member.pid.to_le_bytes());
            put(&member.device.to_le_bytes());
            put(&member.process_tag);
            put(&member.memory.to_le_bytes());
            put(&u32::from(member.registered).to_le_bytes());
            put(&member.tag_at.to_le_bytes());
        };
        match self {
            Self::Hello { nonce, ranks, rank, member: own, settings } => {
                put(&HELLO.to_le_bytes());
                put(nonce);
                put(&ranks.to_le_bytes());
                put(&rank.to_le_bytes());
                member(&mut put, own);
                put(&(settings.len() as u32).to_le_bytes());
                put(settings.as_bytes());
            }
            Self::Welcome { board, members } => {
                put(&WELCOME.to_le_bytes());
                put(&board.to_le_bytes());
                put(&(members.len() as u32).to_le_bytes());
                members.iter().for_each(|one| member(&mut put, one));
            }
            Self::Handles { first, count } => {
                put(&HANDLES.to_le_bytes());
                put(&first.to_le_bytes());
                put(&count.to_le_bytes());
            }
            Self::Ready => put(&READY.to_le_bytes()),
            Self::Go => put(&GO.to_le_bytes()),
            Self::Refuse { kind, text } => {
                put(&REFUSE.to_le_bytes());
                put(&(*kind as u32).to_le_bytes());
                put(text.as_bytes());
            }
        }
        out
    }

    /// Reads a message; `None` for anything that is not exactly one.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        if reader.u32()? != MAGIC || reader.u32()? != VERSION {
            return None;
        }
        let message = match reader.u32()? {
            HELLO => Self::Hello {
                nonce: reader.take()?,
                ranks: reader.u32()?,
                rank: reader.u32()?,
                member: reader.member()?,
                settings: {
                    let len = reader.u32().filter(|&len| len <= SETTINGS_MAX)?;
                    String::from_utf8_lossy(reader.bytes(len as usize)?).into_owned()
                },
            },
            WELCOME => {
                let board = reader.u64()?;
                let count = reader.u32().filter(|&count| count <= RANKS_MAX)?;
                let members = (0..count).map(|_| reader.member()).collect::<Option<_>>()?;
                Self::Welcome { board, members }
            }
            HANDLES => Self::Handles { first: reader.u32()?, count: reader.u32()? },
            READY => Self::Ready,
            GO => Self::Go,
            REFUSE => {
                let kind = match reader.u32()? {
                    1 => Refusal::Invalid,
                    2 => Refusal::Missing,
                    3 => Refusal::Left,
                    4 => Refusal::Internal,
                    5 => Refusal::Differs,
                    _ => return None,
                };
                let text = String::from_utf8_lossy(std::mem::take(&mut reader.0)).into_owned();
                Self::Refuse { kind, text }
            }
            _ => return None,
        };
        reader.0.is_empty().then_some(message)
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(head)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn member(&mut self) -> Option<Member> {
        Some(Member {
            pid: self.u32()?,
            device: self.take().map(i32::from_le_bytes)?,
            process_tag: self.take()?,
            memory: self.u64()?,
            registered: self.u32()? != 0,
            tag_at: self.u64()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_and_rubbish_does_not() {
        let member = Member {
            pid: 1,
            device: -2,
            process_tag: [3; 16],
            memory: 4,
            registered: true,
            tag_at: 5,
        };
        let messages = [
            Wire::Hello { nonce: [1; 16], ranks: 8, rank: 3, member, settings: "200 MB".into() },
            Wire::Welcome { board: 4096, members: vec![member; 3] },
            Wire::Handles { first: 64, count: 2 },
            Wire::Ready,
            Wire::Go,
            Wire::Refuse { kind: Refusal::Left, text: "rank 3 left".into() },
        ];
        for message in messages {
            let bytes = message.to_bytes();
            assert_eq!(Wire::from_bytes(&bytes).as_ref(), Some(&message));
            let cut = if matches!(message, Wire::Refuse { .. }) { 12 } else { bytes.len() };
            for len in 0..cut {
                assert_eq!(Wire::from_bytes(&bytes[..len]), None, "{message:?} cut to {len}");
            }
        }
        assert_eq!(Wire::from_bytes(&[0xff; 300]), None);
    }
}
