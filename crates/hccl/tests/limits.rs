//! A process without descriptors left. One test, since the limit is that of the process.

use std::sync::Barrier;

use hccl::{Error, run_threads};

#[test]
fn a_part_whose_leader_has_no_descriptor_fails_on_all_its_ranks() {
    let met = Barrier::new(2);
    run_threads(2, |c| {
        c.barrier().unwrap();
        if c.rank() == 0 {
            let limit = libc::rlimit { rlim_cur: 3, rlim_max: 4096 };
            // SAFETY: the structure is complete; open descriptors stay open.
            assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }, 0);
        }
        met.wait();
        match c.split(Some(7), 0) {
            Err(Error::Join(_)) if c.rank() == 0 => {}
            Err(Error::Broken { peer: 0, what, .. }) if c.rank() == 1 => {
                assert!(what.contains("root info"), "{what}");
            }
            other => panic!("rank {}: {:?}", c.rank(), other.map(|part| part.is_some())),
        }
        // The exchange itself went well.
        c.barrier().unwrap();
    })
    .unwrap();
}
