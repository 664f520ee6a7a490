//! How the data of a call gets from rank to rank on one host, and why so, in words.

use hccl_fabric::INLINE_BYTES;
use hccl_plan::{Algorithm, Operator};

use crate::communicator::BUFFER_BYTES;
use crate::exchange::{self, READ_BYTES};
use crate::room::ONE_SHOT_BYTES;
use crate::route;

/// The way of a call's data, for each kind of memory that a rank may bring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// From and to memory that all ranks map.
    pub shared: String,
    /// From and to memory of one process alone.
    pub private: String,
}

/// Bytes with a unit.
fn bytes(number: u64) -> String {
    match number {
        0..1024 => format!("{number} B"),
        1024..1_048_576 => format!("{} KiB", number / 1024),
        _ => format!("{} MiB", number >> 20),
    }
}

/// How ranks of one host move the data of a call of `count` elements a block, where the memory of
/// all is mapped.
pub fn path(
    algorithm: &Algorithm,
    operator: Operator,
    ranks: u32,
    (count, element_bytes): (u64, u64),
) -> Path {
    let block = count.saturating_mul(element_bytes);
    let direct = route::is_direct(algorithm);
    if direct && ranks > 1 && exchange::fits(operator, ranks, block) {
        let text = format!(
            "beside the calls, in the cache lines that ranks look at anyway: there is one meeting, \
             and the steps below are not run (up to {} of a rank, and {} for a rank to read)",
            bytes(INLINE_BYTES as u64),
            bytes(READ_BYTES)
        );
        return Path { shared: text.clone(), private: text };
    }
    let in_all = block.saturating_mul(ranks.into());
    let cache = hccl_os::cpu::last_level_cache();
    let stores = if direct && in_all > cache {
        format!(
            "; stores go past the cache, since the buffers are larger than its {}",
            bytes(cache)
        )
    } else {
        String::new()
    };
    let shared = format!("read and written where it is{stores}");
    let cut = |in_room| {
        let rounds = (BUFFER_BYTES, in_room);
        route::cut(algorithm, operator, ranks, (count, element_bytes), rounds)
    };
    let cut = cut(true);
    let rounds = match cut.rounds() {
        1 => "in one round".to_owned(),
        rounds => format!(
            "in {rounds} rounds of {}, which stay in a core's cache on the way",
            bytes(cut.chunk.saturating_mul(element_bytes))
        ),
    };
    let private = match operator {
        Operator::AllReduce if direct && in_all <= ONE_SHOT_BYTES => {
            "through shared room, and each rank reduces all of it: that is less than to wait for \
             what the others reduce"
                .to_owned()
        }
        _ if direct && route::pulls(operator) => format!(
            "what others read passes through shared room {rounds}; what this rank gets goes \
             straight to where it belongs{stores}"
        ),
        _ => format!("through shared room {rounds}"),
    };
    Path { shared, private }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hccl_plan::Mesh;

    #[test]
    fn the_way_changes_with_the_size() {
        let mesh = Algorithm::Mesh(Mesh::Direct);
        let of = |operator, count| path(&mesh, operator, 2, (count, 4));
        let small = of(Operator::AllReduce, 2048);
        assert!(small.shared.starts_with("beside the calls"), "{small:?}");
        assert_eq!(small.shared, small.private);
        let one_shot = of(Operator::AllReduce, 8192).private;
        assert!(one_shot.contains("each rank reduces all"), "{one_shot}");
        let rounds = of(Operator::AllReduce, 1 << 20);
        assert!(rounds.private.contains("32 rounds of 128 KiB"), "{rounds:?}");
        assert!(rounds.shared.starts_with("read and written where it is"), "{rounds:?}");
        let pulled = of(Operator::AllGather, 1 << 12).private;
        assert!(pulled.contains("in one round") && pulled.contains("straight"), "{pulled}");
        let ring = path(&Algorithm::Ring, Operator::AllReduce, 2, (1, 4)).private;
        assert!(ring.starts_with("through shared room"), "{ring}");
    }
}
