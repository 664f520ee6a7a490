//! The 4108 bytes by which ranks find their root. They travel by means of the user's, as raw bytes.
//!
//! Layout, little-endian: magic 8, version u32 at 8, nonce 16 at 12, boot id 16 at 28, network
//! namespace u64 at 44, root's process u32 at 52, root's device i32 at 56, microseconds u64 at 60,
//! checksum u64 at 68, zeros to the end.

use hccl_os::OsError;
use hccl_os::host::HostId;

/// Size of the block, fixed by the HCCL interface.
pub const ROOT_INFO_BYTES: usize = 4108;

const MAGIC: [u8; 8] = *b"HCCLRSRI";
const VERSION: u32 = 1;
const CHECKED: usize = 68;

/// Where the ranks of one communicator meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootInfo {
    /// Random, so that neither strangers nor ranks of an earlier job get in.
    pub nonce: [u8; 16],
    /// Host and network namespace of the root.
    pub host: HostId,
    /// Process of the root, for names and messages; 0 where ranks agreed on a place without knowing
    /// who opens it.
    pub process: u32,
    /// Device of the root, for names and messages.
    pub device: i32,
    /// When it was made, microseconds since 1970.
    pub micros: u64,
}

/// The bytes are no root info.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RootInfoError {
    /// They do not begin as one.
    #[error("it begins with {found:02x?}, a root info begins with {MAGIC:02x?}")]
    Magic {
        /// The first bytes.
        found: [u8; 8],
    },
    /// Another version of the library made them.
    #[error("it has version {found}, this library reads version {VERSION}")]
    Version {
        /// The version.
        found: u32,
    },
    /// They were damaged on the way.
    #[error("it was damaged on the way: its checksum is {found:#x}, not {expected:#x}")]
    Checksum {
        /// What stands there.
        found: u64,
        /// What should stand there.
        expected: u64,
    },
}

impl RootInfo {
    /// A meeting place that ranks of this user on this host find without a word between them: it
    /// follows from what all of them know. One rank opens it ([`Server::open_at`](crate::Server)).
    ///
    /// # Errors
    /// When the host cannot be told apart from others.
    pub fn agreed(device: i32, known: &[&[u8]]) -> Result<Self, OsError> {
        let user = hccl_os::process::own_user().to_le_bytes();
        let mut sum = Fnv128::new();
        for part in [b"agreed".as_slice(), &user].iter().chain(known) {
            // Lengths keep ("ab", "c") and ("a", "bc") apart.
            sum.add(&(part.len() as u64).to_le_bytes());
            sum.add(part);
        }
        let host = hccl_os::host::host_id()?;
        Ok(Self { nonce: sum.0.to_le_bytes(), host, process: 0, device, micros: 0 })
    }

    /// Whether ranks work out by themselves where it is, so that they may come again.
    pub(crate) fn is_agreed(&self) -> bool {
        self.process == 0
    }

    /// The root in words.
    pub(crate) fn whom(&self) -> String {
        match self.process {
            0 => "the root".to_owned(),
            process => format!("the root (process {process})"),
        }
    }

    /// The block as it travels.
    pub fn to_bytes(&self) -> [u8; ROOT_INFO_BYTES] {
        let mut bytes = [0u8; ROOT_INFO_BYTES];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..28].copy_from_slice(&self.nonce);
        bytes[28..44].copy_from_slice(&self.host.boot);
        bytes[44..52].copy_from_slice(&self.host.network.to_le_bytes());
        bytes[52..56].copy_from_slice(&self.process.to_le_bytes());
        bytes[56..60].copy_from_slice(&self.device.to_le_bytes());
        bytes[60..68].copy_from_slice(&self.micros.to_le_bytes());
        let sum = checksum(&bytes[..CHECKED]);
        bytes[CHECKED..CHECKED + 8].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads a block.
    ///
    /// # Errors
    /// When it is not one that [`Self::to_bytes`] of this version made.
    pub fn from_bytes(bytes: &[u8; ROOT_INFO_BYTES]) -> Result<Self, RootInfoError> {
        let found: [u8; 8] = field(bytes, 0);
        if found != MAGIC {
            return Err(RootInfoError::Magic { found });
        }
        let version = u32::from_le_bytes(field(bytes, 8));
        if version != VERSION {
            return Err(RootInfoError::Version { found: version });
        }
        let found = u64::from_le_bytes(field(bytes, CHECKED));
        let expected = checksum(&bytes[..CHECKED]);
        if found != expected {
            return Err(RootInfoError::Checksum { found, expected });
        }
        Ok(Self {
            nonce: field(bytes, 12),
            host: HostId { boot: field(bytes, 28), network: u64::from_le_bytes(field(bytes, 44)) },
            process: u32::from_le_bytes(field(bytes, 52)),
            device: i32::from_le_bytes(field(bytes, 56)),
            micros: u64::from_le_bytes(field(bytes, 60)),
        })
    }

    /// Name of the communicator if the user gives none.
    pub fn identifier(&self) -> String {
        format!("hccl_{}_{}_{}", self.process, self.device, self.micros)
    }

    /// Name of the root's socket.
    pub(crate) fn socket_name(&self) -> Vec<u8> {
        let digits: String = self.nonce.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("hccl-{digits}").into_bytes()
    }
}

fn field<const N: usize>(bytes: &[u8; ROOT_INFO_BYTES], at: usize) -> [u8; N] {
    let mut field = [0u8; N];
    field.copy_from_slice(&bytes[at..at + N]);
    field
}

/// FNV-1a of 128 bits: places of different jobs do not meet by chance, and those of other users are
/// told by the kernel.
struct Fnv128(u128);

impl Fnv128 {
    fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn add(&mut self, bytes: &[u8]) {
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
        for &byte in bytes {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(PRIME);
        }
    }
}

/// FNV-1a, which is enough against damage; the nonce is what keeps strangers out.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreed_places_follow_from_what_is_known() {
        let place = |known: &[&[u8]]| RootInfo::agreed(1, known).unwrap().nonce;
        assert_eq!(place(&[b"ab", b"c"]), place(&[b"ab", b"c"]));
        assert_ne!(place(&[b"ab", b"c"]), place(&[b"a", b"bc"]));
        assert_ne!(place(&[b"ab"]), place(&[b"ab", b""]));
    }

    #[test]
    fn a_block_survives_the_way_and_damage_is_found() {
        let info = RootInfo {
            nonce: [7; 16],
            host: HostId { boot: [9; 16], network: 77 },
            process: 5,
            device: 3,
            micros: 1234,
        };
        let bytes = info.to_bytes();
        assert_eq!(RootInfo::from_bytes(&bytes), Ok(info));
        for at in 0..CHECKED + 8 {
            let mut damaged = bytes;
            damaged[at] ^= 0x40;
            assert!(RootInfo::from_bytes(&damaged).is_err(), "{at}");
        }
        assert!(RootInfo::from_bytes(&[0xa5; ROOT_INFO_BYTES]).is_err());
    }
}
