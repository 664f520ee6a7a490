//! Ends of links and links, in the layout of `hccl/hcomm_res_defs.h` and `hccl/hccl_rank_graph.h`.

/// What is not said is ones, as the functions that initialise these structures have it.
const UNSAID: u8 = 0xff;

/// `EndpointDesc`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Endpoint {
    protocol: i32,
    address_kind: i32,
    address: [u8; 36],
    place_kind: i32,
    place: [u8; 60],
    rest: [u8; 52],
}
const _: () = assert!(size_of::<Endpoint>() == 160);
const _: () = assert!(std::mem::offset_of!(Endpoint, place_kind) == 44);
const _: () = assert!(std::mem::offset_of!(Endpoint, rest) == 108);

/// `COMM_ADDR_TYPE_ID`: the number of the device is the address.
const BY_NUMBER: i32 = 2;
/// `ENDPOINT_LOC_TYPE_DEVICE`.
const ON_DEVICE: i32 = 0;

impl Endpoint {
    /// The end of a link at a device.
    pub(super) fn of_device(protocol: i32, device: u32, server: u32, pod: u32) -> Self {
        let mut address = [UNSAID; 36];
        address[..4].copy_from_slice(&device.to_le_bytes());
        let mut place = [UNSAID; 60];
        // Number on its host, number in its superpod, server, superpod.
        for (i, number) in [device, device, server, pod].into_iter().enumerate() {
            place[4 * i..4 * i + 4].copy_from_slice(&number.to_le_bytes());
        }
        Self {
            protocol,
            address_kind: BY_NUMBER,
            address,
            place_kind: ON_DEVICE,
            place,
            rest: [UNSAID; 52],
        }
    }

    /// Whether both are the same end of the same kind of link.
    pub(super) fn is(&self, other: &Self) -> bool {
        let what = |it: &Self| (it.protocol, it.address_kind, it.place_kind);
        what(self) == what(other)
            && self.address[..4] == other.address[..4]
            && self.place[..16] == other.place[..16]
    }
}

/// `CommAbiHeader`, `EndpointDesc` twice, and the attributes of a link: `CommLink`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Link {
    header: [u32; 4],
    ends: [Endpoint; 2],
    protocol: i32,
    hops: u8,
    rest: [u8; 123],
}
const _: () = assert!(size_of::<Link>() == 464);

const VERSION: u32 = 1;
const MAGIC: u32 = 0x0f0e_0f0f;

impl Link {
    pub(super) fn new(ends: [Endpoint; 2], protocol: i32, hops: u32) -> Self {
        Self {
            header: [VERSION, MAGIC, size_of::<Self>() as u32, 0],
            ends,
            protocol,
            hops: u8::try_from(hops).unwrap_or(u8::MAX),
            rest: [UNSAID; 123],
        }
    }
}
