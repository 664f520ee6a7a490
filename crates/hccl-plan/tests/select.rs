//! There is always an algorithm, it has plans for every rank, and the plans are right.

mod common;

use common::task;
use hccl_plan::check::prove;
use hccl_plan::select::{Case, Choice, Forced, HcclAlgo, Product, Reach, select};
use hccl_plan::{Access, Algorithm, Flat, Link, Mesh, Operator, Ports, Topology, expand, supports};
use proptest::prelude::*;

fn topology(text: &str) -> Topology {
    text.parse().unwrap()
}

fn case(operator: Operator, topology: &Topology, block_bytes: u64) -> Case<'_> {
    Case {
        operator,
        ranks: topology.ranks(),
        block_bytes,
        topology,
        reach: Reach::Network,
        forced: None,
        product: Product::A2,
    }
}

fn words(text: &str) -> Forced {
    Forced::HcclAlgo(HcclAlgo::parse("HCCL_ALGO", text).unwrap())
}

/// The choice, which must have plans that a network can run.
fn chosen(case: &Case<'_>) -> Choice {
    let choice = select(case);
    let task = task(case.operator, case.ranks, 3);
    for rank in [0, case.ranks / 2, case.ranks - 1] {
        let plan = expand(&choice.algorithm, &task, rank);
        let plan = plan.unwrap_or_else(|why| panic!("{why}: {case:?} {choice:?}"));
        let mapped = plan.access == Access::Mapped;
        assert!(!mapped || case.reach == Reach::Mapped, "{case:?} {choice:?}");
    }
    assert!(!choice.reason.is_empty() && !choice.row.is_empty());
    for rejected in &choice.rejected {
        assert_ne!(rejected.algorithm, choice.algorithm, "{case:?} {choice:?}");
        assert!(!rejected.reason.is_empty());
        // Only for a cheaper algorithm without a reason of its own, of which there is none.
        let bare = rejected.reason.contains("row does not compare");
        assert!(!bare, "{rejected:?} {} {} {case:?}", choice.algorithm, choice.reason);
    }
    choice
}

fn name(case: &Case<'_>) -> String {
    chosen(case).algorithm.to_string()
}

const TOPOLOGIES: &[&str] = &[
    "1",
    "2",
    "3",
    "8",
    "16",
    "1x2",
    "1x7",
    "1x8",
    "8x1",
    "2x2",
    "8x2",
    "4x3",
    "3x5",
    "2x2x2",
    "2x3x2",
    "1x3x2",
    "4x1x3",
    "2+3",
    "1+7",
    "2+3+5",
    "1+1+2",
    "4x2+4x3",
    "2x2x2+2x2x3",
    "2x1+3x1",
    "8x6",
    "5+6+7",
];

fn any_topology() -> impl Strategy<Value = Topology> {
    let link = || (0u64..200_000, 0u64..100_000_000_000);
    let links = prop::collection::vec(link(), 4);
    let text = prop::sample::select(TOPOLOGIES);
    let ports = prop::sample::select(&[None, Some(Ports::Pair), Some(Ports::Rank)][..]);
    (text, links, any::<bool>(), ports).prop_map(|(text, links, known, ports)| {
        let mut topology = topology(text);
        let link = |(latency_ns, bytes_per_s)| Link { latency_ns, bytes_per_s, ports };
        if known {
            topology.links = links.into_iter().take(topology.groups.len()).map(link).collect();
        }
        topology
    })
}

fn any_words() -> impl Strategy<Value = String> {
    let level0 = prop::sample::select(&["NA", "null", "ring", "fullmesh"][..]);
    let level1 = prop::sample::select(
        &[
            "ring",
            "H-D_R",
            "NHR",
            "NHR_V1",
            "NB",
            "AHC",
            "AHC_BROKE",
            "pipeline",
            "pairwise",
            "CP",
            "NA",
            "null",
        ][..],
    );
    let level2 = prop::sample::select(&["ring", "H-D_R", "NHR", "NB", "pipeline", "NA"][..]);
    (level0, level1, level2, any::<[bool; 4]>()).prop_map(|(zero, one, two, with)| {
        let all = [
            (with[0], format!("level0:{zero}")),
            (true, format!("level1:{one}")),
            (with[1], format!("level2:{two}")),
            (with[2] && with[3], "level3:NA".to_owned()),
        ];
        let levels: Vec<_> = all.into_iter().filter(|(with, _)| *with).map(|(_, l)| l).collect();
        levels.join(";")
    })
}

fn any_algorithm() -> impl Strategy<Value = Algorithm> {
    let size = || 0u32..12;
    let flat = || prop::sample::select(&Flat::ALL[..]);
    prop_oneof![
        prop::sample::select(vec![
            Algorithm::Mesh(Mesh::Direct),
            Algorithm::Mesh(Mesh::OneShot),
            Algorithm::Mesh(Mesh::TwoShot),
            Algorithm::Mesh(Mesh::Chunked(3)),
            Algorithm::Mesh(Mesh::Chunked(u32::MAX)),
            Algorithm::Ring,
            Algorithm::DoubleRing,
            Algorithm::Rhd,
            Algorithm::Nhr,
            Algorithm::Nb,
            Algorithm::Pairwise,
            Algorithm::Star,
        ]),
        size().prop_map(|group| Algorithm::Pipeline { group }),
        (prop::collection::vec(size(), 0..5), flat(), flat())
            .prop_map(|(groups, inside, between)| Algorithm::Ahc { groups, inside, between }),
        prop::collection::vec((size(), flat()), 0..4).prop_map(Algorithm::Hierarchy),
    ]
}

fn any_forced() -> impl Strategy<Value = Option<Forced>> {
    prop_oneof![
        Just(None),
        any_words().prop_map(|text| Some(words(&text))),
        any_words().prop_map(|text| {
            let text = text.replace("level0:null", "level0:NA");
            Some(words(&format!("allreduce={text}/others={text}")))
        }),
        any_algorithm().prop_map(|algorithm| Some(Forced::Algorithm(algorithm))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn what_is_chosen_does_what_the_operator_promises(
        topology in any_topology(),
        operator in prop::sample::select(&Operator::ALL[..]),
        block_bytes in prop_oneof![0u64..4096, 1u64 << 16..1 << 34, Just(u64::MAX)],
        mapped in any::<bool>(),
        forced in any_forced(),
        product in prop::sample::select(&Product::ALL[..]),
    ) {
        let reach = if mapped { Reach::Mapped } else { Reach::Network };
        let case = Case {
            reach,
            forced: forced.as_ref(),
            product,
            ..case(operator, &topology, block_bytes)
        };
        let choice = chosen(&case);
        prop_assert_eq!(&choice, &select(&case));
        let proof = prove(&choice.algorithm, &task(operator, case.ranks, 5));
        prop_assert!(proof.is_ok(), "{:?}: {:?} {:?}", proof, case, choice);
        // What was asked for is what runs, or it is said why not. A full mesh may be what runs
        // anyway.
        if let Some(Forced::HcclAlgo(words)) = case.forced {
            let open = ["NA", "null", "fullmesh"];
            let asks = words.text().split([':', ';', '/', '=']).any(|word| {
                !open.contains(&word) && !word.starts_with("level") && word.parse::<Operator>().is_err()
                    && word != "others"
            });
            let told = !choice.notes.is_empty() || choice.row == "asked for";
            prop_assert!(told || !asks || case.ranks == 1, "{:?} {:?}", case, choice);
        }
        if let Some(Forced::Algorithm(algorithm)) = case.forced {
            let runs = choice.algorithm == *algorithm;
            let told = choice.rejected.iter().any(|one| one.algorithm == *algorithm);
            prop_assert!(choice.notes.len() == usize::from(!(runs && choice.row == "asked for")));
            prop_assert!(runs || told, "{:?}", choice);
        }
    }

    #[test]
    fn contradictory_topologies_have_an_answer(
        groups in prop::collection::vec(prop::collection::vec(any::<u32>(), 0..4), 0..4),
        ranks in 1u32..100,
        operator in prop::sample::select(&Operator::ALL[..]),
        forced in any_forced(),
    ) {
        let (valid, topology) = (topology("1"), Topology { groups, links: Vec::new() });
        let case = case(operator, &valid, 99);
        let choice = select(&Case { ranks, topology: &topology, forced: forced.as_ref(), ..case });
        prop_assert!(supports(&choice.algorithm, operator, ranks).is_ok(), "{:?}", choice);
    }
}

#[test]
fn large_clusters_have_plans() {
    for text in ["8x32", "8x125", "16x8x8", "1x1000", "8x64+8x61", "64+63+61"] {
        let topology = topology(text);
        for operator in Operator::ALL {
            for block_bytes in [1 << 10, 1 << 20, 1 << 30] {
                chosen(&case(operator, &topology, block_bytes));
            }
        }
    }
}

#[test]
fn one_host_runs_the_direct_mesh() {
    for text in ["1", "2", "8", "64", "4x2", "2+3"] {
        let topology = topology(text);
        for operator in Operator::ALL {
            let case = Case { reach: Reach::Mapped, ..case(operator, &topology, 1 << 20) };
            let choice = chosen(&case);
            assert_eq!(choice.algorithm, Algorithm::Mesh(Mesh::Direct));
            assert_eq!(choice.row, if topology.ranks() == 1 { "alone" } else { "mapped" });
            assert!(choice.notes.is_empty());
        }
    }
}

#[test]
fn the_table_by_example() {
    use Operator::{AllGather, AllReduce, AlltoAll, Barrier, Broadcast, Gather, ReduceScatterV};
    let (k, m, g) = (1u64 << 10, 1u64 << 20, 1u64 << 30);
    for (text, operator, bytes, row, algorithm) in [
        ("8", AllReduce, 64 * k, "all-reduce in a mesh", "mesh:one-shot"),
        ("8", AllReduce, m, "all-reduce in a mesh", "mesh:two-shot"),
        ("8", AllReduce, g, "large all-reduce in a mesh", "mesh:chunked:16"),
        ("2", AllReduce, m, "all-reduce in a mesh", "mesh:one-shot"),
        ("8", AllGather, m, "mesh", "mesh:two-shot"),
        ("8", Broadcast, k, "broadcast or reduce in a mesh", "star"),
        ("8", Broadcast, m, "broadcast or reduce in a mesh", "mesh:two-shot"),
        ("8", AlltoAll, m, "all-to-all in a mesh", "mesh"),
        ("8", Operator::AlltoAllV, m, "all-to-all in a mesh", "mesh"),
        ("1x8", AllReduce, m, "one tier", "nhr"),
        ("1x2", AllReduce, m, "one tier", "ring"),
        ("1x8", Broadcast, k, "one tier", "star"),
        ("1x8", Broadcast, m, "one tier", "rhd"),
        ("1x8", Broadcast, 64 * m, "one tier", "nhr"),
        ("1x8", Gather, m, "one tier", "star"),
        ("1x1000", Gather, k, "one tier", "nhr"),
        ("1x8", Operator::AlltoAllVC, m, "all-to-all of lengths", "pairwise"),
        ("8x4", AllReduce, k, "tiers", "hierarchy:8*mesh,4*nhr"),
        ("8x2", AllReduce, k, "tiers", "hierarchy:8*mesh,2*ring"),
        ("8x4", AllGather, k, "tiers", "hierarchy:8*mesh,4*nhr"),
        ("8x4", AllGather, 4 * m, "tiers", "pipeline:8"),
        ("8x4", ReduceScatterV, m, "tiers", "hierarchy:8*mesh,4*nhr"),
        ("8x4x2", AllReduce, m, "tiers", "hierarchy:8*mesh,4*nhr,2*ring"),
        ("8x4+8x3", AllReduce, m, "tiers", "hierarchy:8*mesh,7*nhr"),
        ("8x4", AlltoAll, 64, "all-to-all over servers", "hierarchy:8*mesh,4*mesh"),
        ("8x4", AlltoAll, 16 * m, "all-to-all over servers", "pairwise"),
        ("8+7", AllReduce, 16 * m, "uneven servers", "ahc:8+7:mesh:ring"),
        ("8+7", AllGather, m, "uneven servers", "nhr"),
        ("8x4", Barrier, 0, "barrier", "mesh"),
        ("8x128", Barrier, 0, "barrier", "nb"),
        ("8x4", Operator::BatchSendRecv, m, "messages", "pairwise"),
    ] {
        let topology = topology(text);
        let choice = chosen(&case(operator, &topology, bytes));
        let found = (choice.row.as_str(), choice.algorithm.to_string());
        assert_eq!(found, (row, algorithm.to_owned()), "{operator} on {text}: {choice:#?}");
    }
}

#[test]
fn reasons_name_the_numbers_that_were_compared() {
    let mut topology = topology("8x4");
    let choice = chosen(&case(Operator::AllReduce, &topology, 1 << 10));
    for part in [
        "60 us and 25 GB/s between servers, assumed",
        "hierarchy:8*mesh,4*nhr is estimated at 250 us in 6 rounds",
    ] {
        assert!(choice.reason.contains(part), "{part}: {choice:#?}");
    }
    let why = |algorithm: &str| {
        let algorithm: Algorithm = algorithm.parse().unwrap();
        let one = choice.rejected.iter().find(|one| one.algorithm == algorithm);
        one.map(|one| one.reason.clone()).unwrap_or_default()
    };
    assert!(why("mesh").contains("does not map"));
    assert!(why("mesh:two-shot").contains("link for each pair"));
    assert!(why("double-ring").contains("share one port"));
    assert!(why("ring").contains("estimated at 3.72 ms in 62 rounds"), "{}", why("ring"));
    // Links that are known decide instead of those that are assumed.
    let link = |latency_ns, bytes_per_s| Link { latency_ns, bytes_per_s, ports: None };
    topology.links = vec![link(1_000, 1_000_000_000), link(1_000_000, 1_000_000_000)];
    let choice = chosen(&case(Operator::AllReduce, &topology, 1 << 10));
    assert!(choice.reason.contains("1 ms and 1 GB/s between servers)"), "{}", choice.reason);
    assert!(choice.reason.contains("4 ms"), "{}", choice.reason);
}

#[test]
fn words_act_on_their_levels() {
    let (two, three, one, flat) =
        (topology("4x4"), topology("2x4x2"), topology("8"), topology("1x6"));
    let all_reduce = |topology, forced: &Forced, product| {
        let case = case(Operator::AllReduce, topology, 1 << 20);
        name(&Case { forced: Some(forced), product, ..case })
    };
    for (topology, text, product, algorithm) in [
        (&two, "level0:NA;level1:ring", Product::A2, "hierarchy:4*mesh,4*ring"),
        (&two, "level0:NA;level1:NHR", Product::A2, "hierarchy:4*mesh,4*nhr"),
        (&two, "level1:H-D_R", Product::A2, "hierarchy:4*mesh,4*rhd"),
        (&two, "level1:NB", Product::A2, "hierarchy:4*mesh,4*nb"),
        (&two, "level0:ring;level1:NB", Product::A2, "hierarchy:4*ring,4*nb"),
        (&two, "level0:ring", Product::A2, "hierarchy:4*ring,4*nhr"),
        (&two, "level0:NA;level1:pipeline", Product::A2, "pipeline:4"),
        (&two, "level0:NA;level1:AHC", Product::A3, "ahc:4+4+4+4:mesh:nhr"),
        (&two, "level0:ring;level1:AHC_BROKE", Product::A3, "ahc:4+4+4+4:ring:nhr"),
        (&two, "allreduce=level0:NA;level1:ring", Product::A2, "hierarchy:4*mesh,4*ring"),
        (&two, "others=level0:NA;level1:ring", Product::A2, "hierarchy:4*mesh,4*ring"),
        (&three, "level1:ring;level2:NB", Product::A3, "hierarchy:2*mesh,4*ring,2*nb"),
        (&three, "level2:NHR", Product::A3, "hierarchy:2*mesh,4*nhr,2*nhr"),
        (&one, "level0:ring", Product::A2, "ring"),
        (&one, "level0:fullmesh", Product::A2, "mesh:two-shot"),
        (&flat, "level1:ring", Product::A2, "ring"),
        (&flat, "level1:H-D_R", Product::A2, "rhd"),
        (&flat, "level0:NA;level1:NHR", Product::Ascend950, "nhr"),
    ] {
        assert_eq!(all_reduce(topology, &words(text), product), algorithm, "{text}");
    }
    let ports = Link { ports: Some(Ports::Rank), latency_ns: 9, bytes_per_s: 9 };
    let switched = topology("8").with_links(vec![ports]);
    assert_eq!(all_reduce(&switched, &words("level0:fullmesh"), Product::A2), "mesh:two-shot");
    assert_eq!(all_reduce(&switched, &words("level0:ring"), Product::A2), "ring");
    // On mapped memory as well.
    let forced = words("level1:NB");
    let case =
        Case { reach: Reach::Mapped, forced: Some(&forced), ..case(Operator::AllReduce, &two, 9) };
    assert_eq!(name(&case), "hierarchy:4*mesh,4*nb");
}

#[test]
fn a_named_operator_goes_before_others_and_the_rest_is_free() {
    let forced = words("others=level1:ring/allgather=level1:NB/reduce=level0:NA");
    let topology = topology("4x4");
    let runs = |operator| {
        let choice = chosen(&Case { forced: Some(&forced), ..case(operator, &topology, 1 << 10) });
        assert!(choice.notes.is_empty(), "{choice:?}");
        choice.algorithm.to_string()
    };
    assert_eq!(runs(Operator::AllReduce), "hierarchy:4*mesh,4*ring");
    assert_eq!(runs(Operator::AllGather), "hierarchy:4*mesh,4*nb");
    assert_eq!(runs(Operator::AllGatherV), "hierarchy:4*mesh,4*nb");
    assert_eq!(runs(Operator::Reduce), "star");
}

#[test]
fn what_cannot_be_followed_is_said() {
    for (topology_text, text, product, operator, algorithm, parts) in [
        // By the lists of the products.
        (
            "4x4",
            "level1:ring",
            Product::A2,
            Operator::Broadcast,
            "hierarchy:4*mesh,4*nhr",
            "does not cover Broadcast on a2; NHR runs there instead",
        ),
        (
            "4x4",
            "level1:H-D_R",
            Product::A2,
            Operator::Scatter,
            "hierarchy:4*mesh,4*nhr",
            "does not cover Scatter on a2; NHR runs there instead",
        ),
        (
            "4x4",
            "level1:NHR",
            Product::A2,
            Operator::Reduce,
            "hierarchy:4*mesh,4*rhd",
            "does not cover Reduce on a2; H-D_R runs there instead",
        ),
        (
            "4x4",
            "level1:pipeline",
            Product::A2,
            Operator::AlltoAll,
            "pairwise",
            "pairwise runs there instead",
        ),
        ("4x4", "level1:CP", Product::A2, Operator::AlltoAllV, "pairwise", "is not built"),
        (
            "4x4",
            "level1:NHR_V1",
            Product::A2,
            Operator::AllReduce,
            "hierarchy:4*mesh,4*nhr",
            "older form of NHR",
        ),
        (
            "4x4",
            "level1:ring",
            Product::Ascend950,
            Operator::AllReduce,
            "hierarchy:4*mesh,4*nhr",
            "950 lists NHR there",
        ),
        (
            "4x4",
            "level1:ring",
            Product::A2,
            Operator::AlltoAll,
            "hierarchy:4*mesh,4*mesh",
            "chosen automatically",
        ),
        (
            "4x4",
            "level1:ring",
            Product::Ascend310P,
            Operator::AllReduce,
            "hierarchy:4*mesh,4*nhr",
            "no effect on 310p",
        ),
        (
            "2x4x2",
            "level1:ring;level2:NHR",
            Product::A2,
            Operator::AllReduce,
            "hierarchy:2*mesh,4*ring,2*ring",
            "a2 lists nothing there",
        ),
        (
            "2x4x2",
            "level1:NHR;level2:pipeline",
            Product::A3,
            Operator::AllGather,
            "hierarchy:2*mesh,4*nhr,2*nhr",
            "is not built between superpods",
        ),
        // By the topology.
        (
            "8",
            "level0:NA;level1:ring",
            Product::A2,
            Operator::AllGather,
            "mesh:two-shot",
            "level1:ring has nothing to act on: all ranks are in one server",
        ),
        (
            "4x4",
            "level1:NHR;level2:NHR",
            Product::A3,
            Operator::AllReduce,
            "hierarchy:4*mesh,4*nhr",
            "level2:NHR has nothing to act on: there is one superpod",
        ),
        (
            "1x6",
            "level0:ring;level1:NHR",
            Product::A2,
            Operator::AllReduce,
            "nhr",
            "level0:ring has nothing to act on: each server has one rank",
        ),
        (
            "4x1x3",
            "level1:ring",
            Product::A3,
            Operator::AllReduce,
            "hierarchy:4*mesh,3*ring",
            "each superpod has one server",
        ),
        (
            "4x2+4x3",
            "level1:ring;level2:NHR",
            Product::A3,
            Operator::AllReduce,
            "hierarchy:4*mesh,5*ring",
            "level1 runs between all servers",
        ),
        (
            "4x6",
            "level1:H-D_R",
            Product::A2,
            Operator::AllReduce,
            "hierarchy:4*mesh,6*nhr",
            "powers of two in a tier, not 6 members; NHR runs there instead",
        ),
        (
            "2+3",
            "level0:ring;level1:ring",
            Product::A2,
            Operator::AllReduce,
            "ring",
            "servers differ in size",
        ),
        (
            "2x2x2",
            "level1:pipeline",
            Product::A2,
            Operator::AllReduce,
            "hierarchy:2*mesh,2*nhr,2*ring",
            "needs two levels",
        ),
        (
            "2x4x2",
            "level1:AHC;level2:ring",
            Product::A3,
            Operator::AllReduce,
            "ahc:2+2+2+2+2+2+2+2:mesh:nhr",
            "level2:ring is not followed: ahc",
        ),
        (
            "4x4",
            "level3:ring",
            Product::A3,
            Operator::AllReduce,
            "hierarchy:4*mesh,4*nhr",
            "reserved",
        ),
        ("8", "level0:ring", Product::A2, Operator::AlltoAllV, "mesh", "goes by pairs"),
        ("4x4", "level1:ring", Product::A2, Operator::Barrier, "mesh", "does not act on Barrier"),
    ] {
        let topology = topology(topology_text);
        let forced = words(text);
        let case = Case { forced: Some(&forced), product, ..case(operator, &topology, 1 << 10) };
        let choice = chosen(&case);
        let told =
            choice.notes.iter().any(|note| note.contains(parts) && note.contains("HCCL_ALGO"));
        assert!(told && choice.notes.len() == 1, "{text} {operator}: {choice:#?}");
        assert_eq!(choice.algorithm.to_string(), algorithm, "{text} {operator}: {choice:#?}");
    }
}

#[test]
fn an_algorithm_that_cannot_run_gives_way_with_a_reason() {
    let topology = topology("4x4");
    let mut notes = Vec::new();
    for (operator, text) in [
        (Operator::AllReduce, "star"),
        (Operator::AllReduce, "mesh"),
        (Operator::AllReduce, "pipeline:3"),
        (Operator::AlltoAllV, "ring"),
    ] {
        let forced = Forced::Algorithm(text.parse().unwrap());
        let choice = chosen(&Case { forced: Some(&forced), ..case(operator, &topology, 1 << 10) });
        assert_ne!(choice.row, "asked for");
        assert_eq!(choice.rejected[0].algorithm.to_string(), text);
        notes.extend(choice.notes);
    }
    for (note, part) in
        notes.iter().zip(["no AllReduce", "does not map", "groups of 3", "no AlltoAllV"])
    {
        assert!(note.contains(part) && note.contains("automatic"), "{note}");
    }
    // AHC on rows of very many groups would be a plan without end.
    let many = Topology::uneven(&[vec![1; 400], vec![2]].concat());
    let forced = Forced::Algorithm(many.algorithm(&[Flat::Nb]));
    let choice =
        select(&Case { forced: Some(&forced), ..case(Operator::AllGather, &many, 1 << 10) });
    assert!(choice.notes[0].contains("pieces"), "{choice:?}");
}
