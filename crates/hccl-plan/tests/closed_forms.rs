//! On a uniform network the simulator agrees with the closed forms by which HCCL documents its
//! algorithms, to a hundredth.
//!
//! Where a plan of ours is another than the form describes, the form that stands here is that of
//! the plan, with the reason beside it.

use hccl_plan::simulate::{Model, Simulator, Size};
use hccl_plan::{Algorithm, Flat, Link, Mesh, Operator, Ports, Task, Topology};

use Operator::{AllGather, AllReduce, AlltoAll, Broadcast, Gather, Reduce, ReduceScatter, Scatter};

/// Seconds a step, a byte moved, a byte reduced.
const ALPHA: f64 = 3e-6;
const BETA: f64 = 1.0 / 20e9;
const GAMMA: f64 = 1.0 / 70e9;

const RANKS: [u32; 4] = [2, 8, 64, 1000];

fn link(ports: Ports) -> Link {
    Link { latency_ns: 3_000, bytes_per_s: 20_000_000_000, ports: Some(ports) }
}

fn model(topology: Topology, links: Vec<Link>) -> Model {
    let reduce_bytes_per_s = Some(70_000_000_000);
    Model { reduce_bytes_per_s, ..Model::new(topology.with_links(links)) }
}

fn uniform(ranks: u32, ports: Ports) -> Model {
    model(Topology::uniform(&[ranks]), vec![link(ports)])
}

/// Bytes at which latency, moving and reducing all count; whole parts for every algorithm.
fn sizes(ranks: u32) -> Vec<u64> {
    let part = u64::from(ranks) * u64::from(ranks.next_power_of_two()) * 128;
    let sized = |bytes: u64| bytes.div_ceil(part) * part;
    match ranks {
        // Enough for the largest; it takes a second or two.
        1000 => vec![sized(60_000_000)],
        _ => vec![sized(1_000), sized(100_000), sized(40_000_000)],
    }
}

/// Compares with a form of the bytes of the operator.
fn compare(
    model: &Model,
    algorithm: &Algorithm,
    operator: Operator,
    bytes: &[u64],
    form: impl Fn(f64) -> f64,
) {
    let ranks = model.topology.ranks();
    let root = if operator.is_rooted() { ranks / 3 } else { 0 };
    let simulator = Simulator::new(model, algorithm, &Task::new(operator, ranks, root)).unwrap();
    for &bytes in bytes {
        let outcome = simulator.run(Size::new(operator, ranks, bytes, 4)).unwrap();
        let (found, expected) = (outcome.time_ps as f64 / 1e12, form(bytes as f64));
        assert!(
            (found / expected - 1.0).abs() < 0.01,
            "{algorithm} {operator} of {ranks}, {bytes} bytes, {:?}: {found:e} s, not {expected:e} s\n{}",
            model.topology.links,
            if outcome.path.0.len() < 40 { outcome.path.to_string() } else { String::new() }
        );
    }
}

fn compare_uniform(
    algorithm: &Algorithm,
    operator: Operator,
    ranks: u32,
    ports: Ports,
    form: impl Fn(f64) -> f64,
) {
    compare(&uniform(ranks, ports), algorithm, operator, &sizes(ranks), form);
}

fn log_ceil(p: u32) -> f64 {
    f64::from(p.next_power_of_two().trailing_zeros())
}

/// (p - 1) / p.
fn rest(p: u32) -> f64 {
    f64::from(p - 1) / f64::from(p)
}

/// All pairs at once over links of their own.
#[test]
fn mesh() {
    for p in RANKS {
        let share = |n: f64| n * BETA / f64::from(p);
        let reduced = |n: f64| rest(p) * n * GAMMA;
        let one = |n: f64| ALPHA + share(n);
        let two = |n: f64| 2.0 * ALPHA + 2.0 * share(n);
        let check = |mesh, operator, form: &dyn Fn(f64) -> f64| {
            compare_uniform(&Algorithm::Mesh(mesh), operator, p, Ports::Pair, form);
        };
        for mesh in [Mesh::TwoShot, Mesh::Direct] {
            check(mesh, Scatter, &one);
            check(mesh, Gather, &one);
            // The direct form reads and then writes: two steps as well.
            check(mesh, AllReduce, &|n| two(n) + reduced(n));
            if p == 1000 && mesh == Mesh::Direct {
                continue;
            }
            check(mesh, AllGather, &one);
            check(mesh, ReduceScatter, &|n| one(n) + reduced(n));
            check(mesh, Reduce, &|n| two(n) + reduced(n));
        }
        check(Mesh::TwoShot, Broadcast, &two);
        // The direct form takes the whole buffer from the root.
        check(Mesh::Direct, Broadcast, &|n| ALPHA + n * BETA);
        if p < 1000 {
            check(Mesh::Direct, AlltoAll, &one);
            // The second latency: nobody may overwrite an input before all have read it.
            check(Mesh::OneShot, AllReduce, &|n| {
                2.0 * ALPHA + n * BETA + f64::from(p - 1) * n * GAMMA
            });
            // Rounds do not overlap their transfers with their reductions, so chunks cost a
            // latency each and gain nothing.
            check(Mesh::Chunked(4), AllReduce, &|n| 5.0 * ALPHA + 2.0 * share(n) + reduced(n));
        }
    }
}

#[test]
fn ring() {
    for p in RANKS {
        let steps = f64::from(p - 1);
        let one = |n: f64| steps * ALPHA + rest(p) * n * BETA;
        let reduced = |n: f64| rest(p) * n * GAMMA;
        for ports in [Ports::Pair, Ports::Rank] {
            if p == 1000 && ports == Ports::Pair {
                continue;
            }
            let check = |operator, form: &dyn Fn(f64) -> f64| {
                compare_uniform(&Algorithm::Ring, operator, p, ports, form);
            };
            check(Scatter, &one);
            check(Gather, &one);
            if p < 1000 {
                // For a thousand they are in AllReduce.
                check(AllGather, &one);
                check(ReduceScatter, &|n| one(n) + reduced(n));
            }
            check(AllReduce, &|n| 2.0 * one(n) + reduced(n));
            check(Broadcast, &|n| steps * (ALPHA + n * BETA));
            check(Reduce, &|n| steps * (ALPHA + n * (BETA + GAMMA)));
        }
    }
    // Two rings of pairs move half of the data each, and share the ports of ranks.
    for p in [8, 64] {
        let steps = f64::from(p - 1);
        for (ports, times) in [(Ports::Pair, 0.5), (Ports::Rank, 1.0)] {
            compare_uniform(&Algorithm::DoubleRing, AllReduce, p, ports, |n| {
                2.0 * (steps * ALPHA + times * rest(p) * n * BETA) + rest(p) * n * GAMMA
            });
        }
    }
}

#[test]
fn nhr_and_nb() {
    for p in RANKS {
        let one = |n: f64| log_ceil(p) * ALPHA + rest(p) * n * BETA;
        let reduced = |n: f64| rest(p) * n * GAMMA;
        for algorithm in [Algorithm::Nhr, Algorithm::Nb] {
            for ports in [Ports::Pair, Ports::Rank] {
                let check = |operator, form: &dyn Fn(f64) -> f64| {
                    compare_uniform(&algorithm, operator, p, ports, form);
                };
                check(AllReduce, &|n| 2.0 * one(n) + reduced(n));
                if p < 1000 || ports == Ports::Rank {
                    check(AllGather, &one);
                    check(ReduceScatter, &|n| one(n) + reduced(n));
                }
            }
        }
    }
}

/// Rooted operators: here a rank takes what it needs as soon as it is there, not in turn, so its
/// parent serves several at a time. That is as good as taking turns where each pair has a link of
/// its own, and needs as many steps as the longest way has hops: one for each binary digit of the
/// distance that is set.
#[test]
fn trees_of_rooted_operators() {
    for p in RANKS {
        let hops = (0..p).map(u32::count_ones).max().map_or(0.0, f64::from);
        for algorithm in [Algorithm::Nhr, Algorithm::Nb] {
            compare_uniform(&algorithm, Scatter, p, Ports::Pair, |n| {
                hops * ALPHA + rest(p) * n * BETA
            });
            compare_uniform(&algorithm, Broadcast, p, Ports::Pair, |n| {
                (hops + log_ceil(p)) * ALPHA + 2.0 * rest(p) * n * BETA
            });
        }
        compare_uniform(&Algorithm::Rhd, Broadcast, p, Ports::Pair, |n| hops * (ALPHA + n * BETA));
    }
}

#[test]
fn halving_and_doubling() {
    for p in [2, 8, 64, 512] {
        let one = |n: f64| log_ceil(p) * ALPHA + rest(p) * n * BETA;
        let reduced = |n: f64| rest(p) * n * GAMMA;
        for ports in [Ports::Pair, Ports::Rank] {
            let check = |operator, form: &dyn Fn(f64) -> f64| {
                compare_uniform(&Algorithm::Rhd, operator, p, ports, form);
            };
            check(AllGather, &one);
            check(ReduceScatter, &|n| one(n) + reduced(n));
            check(AllReduce, &|n| 2.0 * one(n) + reduced(n));
            check(Reduce, &|n| 2.0 * one(n) + reduced(n));
        }
    }
}

#[test]
fn halving_and_doubling_of_other_numbers() {
    for p in [3u32, 6, 12, 100, 1000] {
        let (q, k) = (1u32 << p.ilog2(), f64::from(p.ilog2()));
        let check = |operator, form: &dyn Fn(f64) -> f64| {
            compare_uniform(&Algorithm::Rhd, operator, p, Ports::Pair, form);
        };
        check(AllReduce, &|n| {
            (2.0 * k + 2.0) * ALPHA + (2.0 * rest(q) + 2.0) * n * BETA + (rest(q) + 1.0) * n * GAMMA
        });
        check(Reduce, &|n| {
            (2.0 * k + 1.0) * ALPHA + (2.0 * rest(q) + 1.0) * n * BETA + (rest(q) + 1.0) * n * GAMMA
        });
        // The form has a sum of rounded halves of p; the ranks that were merged stand for two
        // blocks each and lie together, so the largest halves are counted.
        let pairs = p - q;
        let cells = |first: u32, len: u32| len + pairs.saturating_sub(first).min(len);
        let block: f64 = (0..p.ilog2()).map(|i| f64::from(cells(0, q >> (i + 1)))).sum();
        let of = |n: f64| n / f64::from(p);
        check(ReduceScatter, &|n| {
            ALPHA
                + n * (BETA + GAMMA)
                + k * ALPHA
                + block * of(n) * (BETA + GAMMA)
                + ALPHA
                + of(n) * BETA
        });
        // Backwards the largest halves need not meet: a member doubles with its partner of the
        // round, when both are so far. What a partner of the fold brought itself it does not fetch.
        check(AllGather, &|n| {
            let step = |cells: u32| ALPHA + f64::from(cells) * of(n) * BETA;
            let is_keeper = |member: u32| member < pairs;
            let mut at: Vec<f64> =
                (0..q).map(|member| if is_keeper(member) { step(1) } else { 0.0 }).collect();
            for d in (0..p.ilog2()).map(|round| 1 << round) {
                at = (0..q)
                    .map(|member| {
                        let partner = member ^ d;
                        let both = at[member as usize].max(at[partner as usize]);
                        both + step(cells(partner / d * d, d))
                    })
                    .collect();
            }
            let ends = (0..q).map(|member| {
                at[member as usize] + if is_keeper(member) { step(p - 1) } else { 0.0 }
            });
            ends.fold(0.0, f64::max)
        });
    }
}

#[test]
fn pairwise_and_star() {
    for p in RANKS {
        let (steps, others) = (f64::from(p - 1), f64::from(p - 1));
        for ports in [Ports::Pair, Ports::Rank] {
            compare_uniform(&Algorithm::Pairwise, AlltoAll, p, ports, |n| {
                steps * ALPHA + steps * n / f64::from(p) * BETA
            });
        }
        // The form has n for what goes over a link: a star has a link to each.
        let star = |operator, ports, form: &dyn Fn(f64) -> f64| {
            compare_uniform(&Algorithm::Star, operator, p, ports, form);
        };
        star(Broadcast, Ports::Pair, &|n| ALPHA + n * BETA);
        star(Reduce, Ports::Pair, &|n| ALPHA + n * BETA + others * n * GAMMA);
        star(Scatter, Ports::Pair, &|n| ALPHA + n / f64::from(p) * BETA);
        star(Gather, Ports::Pair, &|n| ALPHA + n / f64::from(p) * BETA);
        // With one port at the root all of them share it.
        star(Broadcast, Ports::Rank, &|n| ALPHA + others * n * BETA);
        star(Gather, Ports::Rank, &|n| ALPHA + rest(p) * n * BETA);
    }
}

/// Two tiers that differ, at the same time.
#[test]
fn pipeline() {
    for (size, groups) in [(2, 4), (8, 8), (8, 125)] {
        let ranks = size * groups;
        for (inner, outer) in [("4us:30GB/s", "9us:20GB/s"), ("9us:20GB/s", "1us:70GB/s")] {
            if groups == 125 && outer == "1us:70GB/s" {
                continue;
            }
            let links: Vec<Link> = vec![inner.parse().unwrap(), outer.parse().unwrap()];
            let time = |link: &Link, bytes: f64| {
                link.latency_ns as f64 / 1e9 + bytes / link.bytes_per_s as f64
            };
            let moved = |n: f64| {
                let (inside, between) = (time(&links[0], n), time(&links[1], n));
                f64::from(groups - 1) * inside.max(between) + inside
            };
            let share = |n: f64| n / f64::from(ranks);
            // The form leaves out the reductions: in each round those of a group, and after the
            // first round what came from the group before.
            let reduced = |n: f64| {
                let sources = f64::from(groups) * f64::from(size - 1) + f64::from(groups - 1);
                sources * share(n) * GAMMA
            };
            let topology = Topology::uniform(&[size, groups]);
            let model = model(topology, links.clone());
            let algorithm = Algorithm::Pipeline { group: size };
            let bytes = sizes(if ranks > 64 { 1000 } else { ranks });
            if groups < 125 {
                compare(&model, &algorithm, AllGather, &bytes, |n| moved(share(n)));
                compare(&model, &algorithm, ReduceScatter, &bytes, |n| {
                    moved(share(n)) + reduced(n)
                });
            }
            compare(&model, &algorithm, AllReduce, &bytes, |n| 2.0 * moved(share(n)) + reduced(n));
        }
    }
}

/// NB inside and between, groups that differ by one, and groups that do not.
#[test]
fn ahc() {
    for groups in [vec![1, 1], vec![4, 4], vec![7, 8], vec![8; 8], vec![7, 8, 8, 8], vec![500, 500]]
    {
        let ranks: u32 = groups.iter().sum();
        let (least, most) = (groups.iter().min().unwrap(), *groups.iter().max().unwrap());
        let (m, g) = (f64::from(*least), groups.len() as u32);
        let form = |n: f64| {
            let between = rest(g) / m;
            2.0 * (log_ceil(most) + log_ceil(g)) * ALPHA
                + 2.0 * (rest(most) + between) * n * BETA
                + (rest(most) + between) * n * GAMMA
        };
        let nb = Flat::Nb;
        let algorithm = Algorithm::Ahc { groups: groups.clone(), inside: nb, between: nb };
        let part = groups.iter().map(|&size| u64::from(size)).product::<u64>().min(1 << 20);
        let bytes: Vec<u64> =
            sizes(ranks.min(64)).iter().map(|n| n.div_ceil(part * 1024) * part * 1024).collect();
        let links = vec![link(Ports::Rank); 2];
        compare(&model(Topology::uneven(&groups), links), &algorithm, AllReduce, &bytes, form);
    }
}

/// Tiers one after the other: each costs what its form says, of its own share.
#[test]
fn hierarchy() {
    let (tiers, flats) = ([8, 16, 8], [Flat::Mesh, Flat::Nhr, Flat::Ring]);
    let links: Vec<Link> =
        ["2us:56GB/s", "7us:25GB/s", "13us:12GB/s"].map(|link| link.parse().unwrap()).into();
    let steps = [1.0, 4.0, 7.0];
    let moved = |tier: usize, n: f64| {
        let link = links[tier];
        let share = if tier == 0 { 1.0 / 8.0 } else { rest(tiers[tier]) };
        steps[tier] * link.latency_ns as f64 / 1e9 + share * n / link.bytes_per_s as f64
    };
    let reduced = |tier: usize, n: f64| rest(tiers[tier]) * n * GAMMA;
    let algorithm = Algorithm::Hierarchy(tiers.into_iter().zip(flats).collect());
    let model = model(Topology::uniform(&tiers), links.clone());
    let bytes = [1 << 20, 1 << 26];
    compare(&model, &algorithm, AllReduce, &bytes, |n| {
        let share = [n, n / 8.0, n / 128.0];
        (0..3).map(|tier| 2.0 * moved(tier, share[tier]) + reduced(tier, share[tier])).sum()
    });
    compare(&model, &algorithm, AllGather, &bytes, |n| {
        let share = [n / 128.0, n / 8.0, n];
        (0..3).map(|tier| moved(tier, share[tier])).sum()
    });
}
