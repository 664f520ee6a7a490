//! What it costs to wait for a rank that comes late: the share of a core that the waiting thread takes
//! meanwhile.
//!
//!     cargo bench -p hccl --bench waiting            # ten seconds for each row
//!     cargo bench -p hccl --bench waiting -- 2       # two seconds

use std::time::Duration;

use hccl::{Communicator, Error, ReduceOp, run_threads};

/// CPU time of the calling thread.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

type Call = fn(&Communicator, &mut [f32]) -> Result<(), Error>;

fn main() {
    let seconds = std::env::args().find_map(|text| text.parse().ok()).unwrap_or(10.0);
    let late = Duration::from_secs_f64(seconds);
    let barrier: Call = |ranks, _| ranks.barrier();
    let small: Call = |ranks, buffer| ranks.all_reduce_in_place(&mut buffer[..1], ReduceOp::Sum);
    let large: Call = |ranks, buffer| ranks.all_reduce_in_place(buffer, ReduceOp::Sum);
    let message: Call = |ranks, buffer| match ranks.rank() {
        0 => ranks.receive(&mut buffer[..1], 1),
        _ => ranks.send(&buffer[..1], 0),
    };
    let rows = [
        ("barrier", barrier),
        ("AllReduce of 4 B", small),
        ("AllReduce of 4 MiB", large),
        ("receive of 4 B", message),
    ];
    println!("waits {seconds} s for    share of a core");
    for (name, call) in rows {
        let shares = run_threads(2, |ranks| {
            let mut buffer = vec![1.0; 1 << 20];
            call(&ranks, &mut buffer)?;
            if ranks.rank() == 1 {
                std::thread::sleep(late);
            }
            let before = cpu_time();
            call(&ranks, &mut buffer)?;
            Ok::<_, Error>((cpu_time() - before).as_secs_f64() / seconds)
        });
        match shares.map(|mut shares| shares.swap_remove(0)) {
            Ok(Ok(share)) => println!("{name:<20} {:>16.2} %", 100.0 * share),
            Ok(Err(error)) | Err(error) => println!("{name:<20} {error}"),
        }
    }
}
