//! What is asked of every fabric: the contract in the documentation of `Fabric`, point by point.

use std::collections::BTreeSet;

use hccl_fabric::simulated::Dice;
use hccl_fabric::{BODY_BYTES, Data, Fabric, Fault, INLINE_BYTES, Line, Message, reason};

use crate::world::{MEMORY, Make, World, call};

/// A test, which fails by a panic.
type Test = fn(Make<'_>);

/// Every test of the suite. A new implementation makes worlds and runs these.
pub(crate) const TESTS: &[(&str, Test)] = &[
    ("ranks_know_who_they_are", ranks_know_who_they_are),
    ("progress_only_grows", progress_only_grows),
    ("calls_are_two_deep", calls_are_two_deep),
    ("levels_bring_what_was_written_before", levels_bring_what_was_written_before),
    ("data_goes_beside_calls", data_goes_beside_calls),
    ("memory_has_bounds", memory_has_bounds),
    ("private_memory_is_copied_from", private_memory_is_copied_from),
    ("messages_go_one_way_in_order", messages_go_one_way_in_order),
    ("sleepers_are_woken", sleepers_are_woken),
    ("the_first_word_stands", the_first_word_stands),
    ("who_did_its_part_is_not_missed", who_did_its_part_is_not_missed),
    ("dropping_is_leaving", dropping_is_leaving),
    ("death_is_found_by_probing", death_is_found_by_probing),
];

fn ranks_know_who_they_are(make: Make<'_>) {
    let world = make(3);
    for rank in 0..3 {
        let fabric = world.fabric(rank);
        assert_eq!((fabric.rank(), fabric.ranks()), (rank, 3));
        assert_eq!(fabric.position(rank), (0, 0));
        for peer in 0..3 {
            assert_eq!(fabric.process(peer), world.fabric(peer).process(peer));
            assert!(fabric.reached(peer, 0, 0) && !fabric.reached(peer, 1, 1));
            assert_eq!((fabric.fault(peer), fabric.call_of(peer, 1)), (None, None));
        }
        let before = fabric.now();
        world.let_a_moment_pass();
        assert!(fabric.now() >= before);
        assert!(!fabric.any_gone());
    }
}

/// Any raises and looks in between: what is seen is never more than what was done, never less than
/// what was seen before, and in the end the same.
fn progress_only_grows(make: Make<'_>) {
    const RANKS: u32 = 3;
    let world = make(RANKS);
    let mut dice = Dice::new(11);
    let mut done = [(0, 0); RANKS as usize];
    let mut seen = [[(0, 0); RANKS as usize]; RANKS as usize];
    for step in 0..600 {
        let rank = dice.below(RANKS.into()) as u32;
        let (sequence, level) = &mut done[rank as usize];
        if *sequence == 0 || dice.once_in(5) {
            *sequence += 1 + dice.below(2);
            *level = 1;
            world.fabric(rank).publish(*sequence, &call(*sequence));
        } else {
            *level += dice.below(3) as u32;
            world.fabric(rank).signal(*sequence, *level);
        }
        match dice.below(8) {
            0 => world.let_time_pass(),
            1..4 => world.let_a_moment_pass(),
            _ => {}
        }
        for observer in 0..RANKS {
            for peer in 0..RANKS {
                let fabric = world.fabric(observer);
                let (done, seen) =
                    (done[peer as usize], &mut seen[observer as usize][peer as usize]);
                assert!(fabric.reached(peer, seen.0, seen.1), "step {step}: forgotten");
                assert!(!fabric.reached(peer, done.0, done.1 + 1), "step {step}: never done");
                assert!(!fabric.reached(peer, done.0 + 1, 0), "step {step}: never done");
                let found = fabric.position(peer);
                assert!(
                    *seen <= found && found <= done,
                    "step {step}: {seen:?} {found:?} {done:?}"
                );
                assert!(fabric.reached(peer, found.0, found.1), "step {step}");
                *seen = found;
                if observer == peer {
                    assert_eq!(found, done, "step {step}: the own is seen at once");
                }
            }
        }
    }
    world.let_time_pass();
    for (observer, peer) in pairs(RANKS) {
        assert_eq!(world.fabric(observer).position(peer), done[peer as usize]);
    }
}

fn calls_are_two_deep(make: Make<'_>) {
    let world = make(2);
    let [writer, reader] = [0, 1].map(|rank| world.fabric(rank));
    for sequence in 1..=6 {
        writer.publish(sequence, &call(sequence));
        while !reader.reached(0, sequence, 1) {
            world.let_a_moment_pass();
        }
        // As soon as it is reached, and the one before it as well.
        assert_eq!(reader.call_of(0, sequence), Some(call(sequence)));
        if sequence > 1 {
            assert_eq!(reader.call_of(0, sequence - 1), Some(call(sequence - 1)));
        }
        // Never one for another.
        for other in sequence.saturating_sub(3)..sequence.saturating_sub(1) {
            assert_eq!(reader.call_of(0, other), None, "{other} at {sequence}");
        }
        assert_eq!(reader.call_of(0, sequence + 1), None);
        assert_eq!(reader.call_of(0, sequence + 2), None);
        assert_eq!(reader.call_of(1, sequence), None);
    }
}

/// Rank 0 writes into its own memory and into that of the others; whoever has seen its level reads
/// it, and so does whoever has seen somebody who had.
fn levels_bring_what_was_written_before(make: Make<'_>) {
    let world = make(3);
    for sequence in 1..=20 {
        let byte = |owner: u32| (10 * sequence + u64::from(owner)) as u8;
        for rank in 0..3 {
            world.fabric(rank).publish(sequence, &call(sequence));
        }
        (0..3).for_each(|owner| write(world.fabric(0), owner, 40 + sequence, byte(owner)));
        world.fabric(0).signal(sequence, 2);
        wait(&*world, 1, 0, sequence);
        (0..3)
            .for_each(|owner| assert_eq!(read(world.fabric(1), owner, 40 + sequence), byte(owner)));
        // Rank 2 asks rank 1 only, and then reads what rank 0 wrote.
        world.fabric(1).signal(sequence, 2);
        wait(&*world, 2, 1, sequence);
        (0..3)
            .for_each(|owner| assert_eq!(read(world.fabric(2), owner, 40 + sequence), byte(owner)));
    }
}

/// Calls with data beside them, of different lengths, between others without; each rank goes on as
/// soon as it may.
fn data_goes_beside_calls(make: Make<'_>) {
    const RANKS: u32 = 3;
    let world = make(RANKS);
    let byte = |rank: u32, sequence: u64, at: usize| {
        (at as u64 * 5 + 31 * sequence + u64::from(rank)) as u8
    };
    let len = |sequence: u64| [0, 1, 48, 49, 1000, INLINE_BYTES][sequence as usize % 6];
    let digest = |sequence: u64| 1_000_003 * sequence;
    for sequence in (1..=13).filter(|sequence| sequence % 5 != 4) {
        let former = (1..sequence).rev().find(|former| former % 5 != 4).unwrap_or(0);
        for rank in 0..RANKS {
            let fabric = world.fabric(rank);
            for peer in 0..RANKS {
                poll(&*world, || fabric.reached(peer, former, u32::from(former > 0)).then_some(()));
            }
            if sequence % 5 == 3 {
                fabric.publish(sequence, &call(sequence));
                continue;
            }
            write(fabric, rank, 8 * sequence, rank as u8);
            let data: Vec<u8> = (0..len(sequence)).map(|at| byte(rank, sequence, at)).collect();
            let data = Data { address: data.as_ptr(), len: data.len() };
            assert_eq!(fabric.inline_of(rank, sequence), None);
            // SAFETY: the bytes outlive the call.
            unsafe {
                fabric.publish_inline(sequence, &call(sequence), digest(sequence), data);
            }
            assert!(fabric.reached(rank, sequence, 1));
        }
        for (rank, peer) in pairs(RANKS) {
            let fabric = world.fabric(rank);
            if sequence % 5 == 3 {
                poll(&*world, || fabric.reached(peer, sequence, 1).then_some(()));
                assert_eq!(fabric.inline_of(peer, sequence), None);
                continue;
            }
            let found = poll(&*world, || fabric.inline_of(peer, sequence));
            assert_eq!((found.digest, found.data.addr() % 16), (digest(sequence), 0));
            assert_eq!(fabric.inline_of(peer, sequence + 2), None);
            for at in 0..len(sequence) {
                // SAFETY: a slot has as many bytes, and one thread drives all ranks of a test.
                let found = unsafe { found.data.add(at).read() };
                assert_eq!(found, byte(peer, sequence, at), "byte {at} of call {sequence}");
            }
            assert_eq!(read(fabric, peer, 8 * sequence), peer as u8, "written before");
            // The progress may come a little later.
            poll(&*world, || fabric.reached(peer, sequence, 1).then_some(()));
            assert_eq!(fabric.call_of(peer, sequence), Some(call(sequence)));
        }
    }
}

fn memory_has_bounds(make: Make<'_>) {
    let world = make(2);
    for (rank, peer) in pairs(2) {
        let fabric = world.fabric(rank);
        let whole = fabric.memory(peer, 0, MEMORY).unwrap();
        assert_eq!(fabric.memory(peer, 17, 4).unwrap().addr(), whole.addr() + 17);
        assert!(fabric.memory(peer, MEMORY - 1, 1).is_some());
        assert!(fabric.memory(peer, MEMORY, 0).is_some());
        let outside = [(0, MEMORY + 1), (MEMORY, 1), (MEMORY - 1, 2), (u64::MAX, 1), (1, u64::MAX)];
        for (offset, len) in outside {
            assert_eq!(fabric.memory(peer, offset, len), None, "{offset} {len}");
        }
        assert_eq!(fabric.memory(2, 0, 1), None);
    }
}

/// All ranks are in this process, which has the memory of each.
fn private_memory_is_copied_from(make: Make<'_>) {
    let world = make(3);
    let all_copy = world.fabric(0).all_copy();
    for (rank, peer) in pairs(3) {
        let fabric = world.fabric(rank);
        assert_eq!(fabric.all_copy(), all_copy);
        let from: Vec<u8> = (0..5000).map(|i| (i * 7 + rank + 3 * peer) as u8).collect();
        let mut to = vec![0; from.len()];
        let address = from.as_ptr().addr() as u64;
        // SAFETY: the vector is as long.
        let mut copy =
            |address, len| unsafe { fabric.copy_from(peer, address, to.as_mut_ptr(), len) };
        if all_copy {
            copy(address, 5000).unwrap();
            assert!(copy(8, 10).is_err(), "there is nothing");
            assert_eq!(to, from);
        }
    }
}

fn messages_go_one_way_in_order(make: Make<'_>) {
    let world = make(3);
    let [sender, receiver, other] = [0, 1, 2].map(|rank| world.fabric(rank));
    // Of every length up to the longest.
    let message = |number: u64| {
        let body: [u8; BODY_BYTES] = std::array::from_fn(|i| (7 * number) as u8 ^ i as u8);
        let len = BODY_BYTES * (number as usize - 1) / 9;
        Message::new(std::array::from_fn(|i| number as u8 ^ i as u8), &body[..len])
    };
    let same = |found: Message, sent: Message| {
        assert_eq!(found.signature, sent.signature);
        assert_eq!(found.body[..sent.len], sent.body[..sent.len]);
    };
    assert!(sender.taken(1, 0) && receiver.taken(0, 0));
    for number in 1..=10 {
        assert_eq!(receiver.posted(0, number), None);
        write(sender, 0, 64 * number, number as u8);
        sender.post(1, number, &message(number));
        assert!(!sender.taken(1, number));
        same(poll(&*world, || receiver.posted(0, number)), message(number));
        assert_eq!(read(receiver, 0, 64 * number), number as u8);
        // It stays until the next one, and is nobody else's.
        same(receiver.posted(0, number).unwrap(), message(number));
        assert_eq!((receiver.posted(0, number + 1), receiver.posted(0, number - 1)), (None, None));
        assert_eq!((other.posted(0, number), sender.posted(1, number)), (None, None));
        world.let_time_pass();
        assert!(!sender.taken(1, number));
        write(receiver, 1, 64 * number, 100 + number as u8);
        receiver.take(0, number);
        poll(&*world, || sender.taken(1, number).then_some(()));
        assert_eq!(read(sender, 1, 64 * number), 100 + number as u8);
        assert!(sender.taken(1, number - 1) && !sender.taken(1, number + 1));
        assert!(!sender.taken(2, number) && !receiver.taken(0, number));
    }
    // The way back has numbers of its own.
    receiver.post(0, 1, &message(9));
    same(poll(&*world, || sender.posted(1, 1)), message(9));
}

fn sleepers_are_woken(make: Make<'_>) {
    let world = make(3);
    let [one, two, three] = [0, 1, 2].map(|rank| world.fabric(rank));
    let message = Message::default();
    for round in 1..=4u64 {
        // A rise of the progress of the rank that was announced.
        world.let_time_pass();
        two.announce(Line::Progress(0));
        // A second announcement that is taken back takes nothing away from the first.
        two.announce(Line::Progress(0));
        two.retract(Line::Progress(0));
        assert!(!two.reached(0, round, 1));
        world.sleep_until(1, Line::Progress(0), &|| one.publish(round, &call(round)));
        two.retract(Line::Progress(0));
        assert!(two.reached(0, round, 1));
        world.let_time_pass();
        three.announce(Line::Progress(0));
        assert!(!three.reached(0, round, 2));
        world.sleep_until(2, Line::Progress(0), &|| one.signal(round, 2));
        three.retract(Line::Progress(0));
        assert!(three.reached(0, round, 2));
        // A message comes, or is taken.
        world.let_time_pass();
        two.announce(Line::Mail(1));
        assert_eq!(two.posted(2, round), None);
        world.sleep_until(1, Line::Mail(1), &|| three.post(1, round, &message));
        two.retract(Line::Mail(1));
        assert!(two.posted(2, round).is_some());
        world.let_time_pass();
        three.announce(Line::Mail(2));
        assert!(!three.taken(1, round));
        world.sleep_until(2, Line::Mail(2), &|| two.take(2, round));
        three.retract(Line::Mail(2));
        assert!(three.taken(1, round));
    }
}

fn the_first_word_stands(make: Make<'_>) {
    let world = make(4);
    world.fabric(0).fail(reason::TIMED_OUT);
    world.fabric(0).leave();
    world.fabric(0).fail(reason::BROKEN);
    world.fabric(1).leave();
    world.fabric(1).fail(reason::MISMATCH);
    assert!(world.fabric(0).any_gone());
    let pid = |rank| world.fabric(rank).process(rank);
    let failed = Fault::Failed { rank: 0, pid: pid(0), reason: reason::TIMED_OUT };
    assert_eq!(world.fabric(0).fault(0), Some(failed.clone()));
    // Whoever hears of any finds one.
    for observer in 0..4 {
        poll(&*world, || world.fabric(observer).any_gone().then_some(()));
        assert!((0..4).any(|rank| world.fabric(observer).fault(rank).is_some()));
    }
    world.let_time_pass();
    for observer in 0..4 {
        let fabric = world.fabric(observer);
        assert_eq!(fabric.fault(0), Some(failed.clone()));
        assert_eq!(fabric.fault(1), Some(Fault::Left { rank: 1, pid: pid(1) }));
        assert_eq!((fabric.fault(2), fabric.fault(3)), (None, None));
        assert!(fabric.any_gone());
    }
    let text = world.fabric(3).fault(0).unwrap().to_string();
    assert!(text.starts_with("rank 0 (process ") && text.contains("time-out"), "{text}");
}

/// As soon as it is known that a rank is gone, all it did before is known too.
fn who_did_its_part_is_not_missed(make: Make<'_>) {
    for leaves in [true, false] {
        let world = make(3);
        let gone = world.fabric(2);
        gone.publish(1, &call(1));
        gone.signal(1, 5);
        write(gone, 2, 9, 77);
        gone.post(0, 1, &Message::default());
        gone.signal(1, 6);
        if leaves {
            gone.leave()
        } else {
            gone.fail(reason::ABORTED)
        }
        for observer in 0..2 {
            let fabric = world.fabric(observer);
            poll(&*world, || fabric.fault(2));
            assert!(fabric.reached(2, 1, 6));
            assert_eq!((fabric.position(2), fabric.call_of(2, 1)), ((1, 6), Some(call(1))));
            assert_eq!(read(fabric, 2, 9), 77);
            assert_eq!(fabric.posted(2, 1).is_some(), observer == 0);
        }
    }
}

fn dropping_is_leaving(make: Make<'_>) {
    let mut world = make(3);
    world.drop_fabric(1);
    for observer in [0, 2] {
        let fault = poll(&*world, || world.fabric(observer).fault(1));
        assert!(matches!(fault, Fault::Left { rank: 1, .. }), "{fault}");
    }
    world.fabric(2).fail(reason::ABORTED);
    world.drop_fabric(2);
    let fault = poll(&*world, || world.fabric(0).fault(2));
    assert!(matches!(fault, Fault::Failed { rank: 2, reason: reason::ABORTED, .. }), "{fault}");
}

fn death_is_found_by_probing(make: Make<'_>) {
    let mut world = make(3);
    for rank in 0..2 {
        world.fabric(rank).probe();
        assert!(!world.fabric(rank).any_gone());
    }
    let dead = world.let_one_die();
    let living: BTreeSet<u32> = (0..3).filter(|&rank| rank != dead).collect();
    world.let_time_pass();
    for &rank in &living {
        assert_eq!(world.fabric(rank).fault(dead), None, "nobody has looked");
    }
    let first = living.first().copied().unwrap();
    world.fabric(first).probe();
    let pid = world.fabric(first).process(dead);
    for &rank in &living {
        let fabric = world.fabric(rank);
        let fault = poll(&*world, || fabric.fault(dead));
        assert_eq!(fault, Fault::Dead { rank: dead, pid });
        assert!(fabric.any_gone());
        assert!(fabric.reached(dead, 1, 3) && !fabric.reached(dead, 1, 4));
        assert_eq!(fabric.call_of(dead, 1), Some(call(1)));
        living.iter().for_each(|&other| assert_eq!(fabric.fault(other), None));
    }
}

fn pairs(ranks: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..ranks).flat_map(move |one| (0..ranks).map(move |other| (one, other)))
}

/// Waits for something that must come.
fn poll<T>(world: &dyn World, mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = look() {
            return found;
        }
        world.let_a_moment_pass();
    }
}

/// Waits until a rank has seen another at level 2 of a call.
fn wait(world: &dyn World, observer: u32, peer: u32, sequence: u64) {
    poll(world, || world.fabric(observer).reached(peer, sequence, 2).then_some(()));
}

fn write(fabric: &dyn Fabric, owner: u32, offset: u64, byte: u8) {
    let at = fabric.memory(owner, offset, 1).unwrap();
    // SAFETY: the fabric keeps it mapped; one thread drives all ranks of a test.
    unsafe { at.write(byte) }
}

fn read(fabric: &dyn Fabric, owner: u32, offset: u64) -> u8 {
    let at = fabric.memory(owner, offset, 1).unwrap();
    // SAFETY: as in `write`.
    unsafe { at.read() }
}
