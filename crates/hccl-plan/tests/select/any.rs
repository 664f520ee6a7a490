//! Whatever is asked, wherever: the plans of the choice are proved, and wishes are answered.

use hccl_plan::check::prove;
use hccl_plan::select::{Case, Forced, Product, Reach, select};
use hccl_plan::{Algorithm, Flat, Link, Mesh, Operator, Ports, Topology, supports};
use proptest::prelude::*;

use super::common::task;
use super::{case, chosen, topology, words};

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
