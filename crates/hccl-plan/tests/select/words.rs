//! What wishes lead to, and what is said where they cannot be followed.

use hccl_plan::select::{Case, Forced, Product, Reach, select};
use hccl_plan::{Flat, Link, Operator, Ports, Topology};

use super::{case, chosen, name, topology, words};

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
