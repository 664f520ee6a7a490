//! The questions about the rank graph. What they give stays as long as the communicator.

use std::ffi::{c_int, c_void};

use super::endpoint::{Endpoint, Link};
use super::{Graph, Layer, ONLY_INSTANCE};
use crate::border::{check_rank, hccl_call, present};
use crate::communicators::comm;
use crate::errors::Failure;

/// A layer that the communicator has.
fn layer<'a>(call: &str, graph: &'a Graph, number: u32) -> Result<&'a Layer, Failure> {
    graph.layers.get(number as usize).ok_or_else(|| {
        let expect = format!("[0, {}]", graph.layers.len() - 1);
        Failure::argument(call, "netLayer", &number.to_string(), &expect)
    })
}

fn check_instance(call: &str, number: u32) -> Result<(), Failure> {
    if number != ONLY_INSTANCE {
        let expect = "0, the only one of a layer";
        return Err(Failure::argument(call, "topoInstId", &number.to_string(), expect));
    }
    Ok(())
}

/// Writes a list, of which `list` and `len` name the places.
///
/// # Safety
/// 1. Both places are NULL or writable.
unsafe fn give<T>(
    call: &str,
    (list_name, list): (&str, *mut *mut T),
    (len_name, len): (&str, *mut u32),
    found: impl FnOnce() -> Result<(*mut T, u32), Failure>,
) -> Result<(), Failure> {
    present(call, list_name, list)?;
    present(call, len_name, len)?;
    let (first, count) = found()?;
    let first = if count == 0 { std::ptr::null_mut() } else { first };
    // SAFETY: not NULL; (1).
    unsafe {
        list.write(first);
        len.write(count);
    }
    Ok(())
}

/// Writes a number.
///
/// # Safety
/// 1. `place` is NULL or writable.
unsafe fn tell<T>(
    call: &str,
    (name, place): (&str, *mut T),
    found: impl FnOnce() -> Result<T, Failure>,
) -> Result<(), Failure> {
    present(call, name, place)?;
    // SAFETY: not NULL; (1).
    unsafe { place.write(found()?) };
    Ok(())
}

hccl_call! {
    /// Numbers of the layers.
    fn HcclRankGraphGetLayers(handle: *mut c_void, layers: *mut *mut u32, count: *mut u32) {
        const CALL: &str = "HcclRankGraphGetLayers";
        let comm = comm(CALL, handle)?;
        let found = || Ok(Graph::of(&comm).numbers.parts());
        // SAFETY: NULL or writable by the contract of this function.
        unsafe { give(CALL, ("netLayers", layers), ("netLayerNum", count), found) }
    }
}

hccl_call! {
    /// Ranks of the own instance of a layer.
    fn HcclRankGraphGetRanksByLayer(
        handle: *mut c_void,
        number: u32,
        ranks: *mut *mut u32,
        count: *mut u32,
    ) {
        const CALL: &str = "HcclRankGraphGetRanksByLayer";
        let comm = comm(CALL, handle)?;
        let found = || Ok(layer(CALL, Graph::of(&comm), number)?.ranks.parts());
        // SAFETY: NULL or writable by the contract of this function.
        unsafe { give(CALL, ("ranks", ranks), ("rankNum", count), found) }
    }
}

hccl_call! {
    /// How many ranks the own instance of a layer has.
    fn HcclRankGraphGetRankSizeByLayer(handle: *mut c_void, number: u32, count: *mut u32) {
        const CALL: &str = "HcclRankGraphGetRankSizeByLayer";
        let comm = comm(CALL, handle)?;
        let found = || Ok(layer(CALL, Graph::of(&comm), number)?.ranks.parts().1);
        // SAFETY: NULL or writable by the contract of this function.
        unsafe { tell(CALL, ("rankNum", count), found) }
    }
}

hccl_call! {
    /// How the ranks of an instance of a layer are linked.
    fn HcclRankGraphGetTopoTypeByLayer(handle: *mut c_void, number: u32, kind: *mut c_int) {
        const CALL: &str = "HcclRankGraphGetTopoTypeByLayer";
        let comm = comm(CALL, handle)?;
        let graph = Graph::of(&comm);
        let found = || layer(CALL, graph, number).map(|_| graph.kind(number));
        // SAFETY: NULL or writable by the contract of this function.
        unsafe { tell(CALL, ("topoType", kind), found) }
    }
}

hccl_call! {
    /// How many ranks each instance of a layer has.
    fn HcclRankGraphGetInstSizeListByLayer(
        handle: *mut c_void,
        number: u32,
        sizes: *mut *mut u32,
        count: *mut u32,
    ) {
        const CALL: &str = "HcclRankGraphGetInstSizeListByLayer";
        let comm = comm(CALL, handle)?;
        let found = || Ok(layer(CALL, Graph::of(&comm), number)?.sizes.parts());
        // SAFETY: NULL or writable by the contract of this function.
        unsafe { give(CALL, ("instSizeList", sizes), ("listSize", count), found) }
    }
}

hccl_call! {
    /// Links of a layer from one rank to another.
    fn HcclRankGraphGetLinks(
        handle: *mut c_void,
        number: u32,
        from: u32,
        to: u32,
        links: *mut *mut Link,
        count: *mut u32,
    ) {
        const CALL: &str = "HcclRankGraphGetLinks";
        let comm = comm(CALL, handle)?;
        let graph = Graph::of(&comm);
        let found = || {
            layer(CALL, graph, number)?;
            check_rank(CALL, "srcRank", from, comm.engine.ranks())?;
            check_rank(CALL, "dstRank", to, comm.engine.ranks())?;
            Ok(graph.links(number, from, to))
        };
        // SAFETY: NULL or writable by the contract of this function.
        unsafe { give(CALL, ("links", links), ("linkNum", count), found) }
    }
}

hccl_call! {
    /// Numbers of the topologies of a layer that the own rank is in.
    fn HcclRankGraphGetTopoInstsByLayer(
        handle: *mut c_void,
        number: u32,
        instances: *mut *mut u32,
        count: *mut u32,
    ) {
        const CALL: &str = "HcclRankGraphGetTopoInstsByLayer";
        let comm = comm(CALL, handle)?;
        let found = || Ok(layer(CALL, Graph::of(&comm), number)?.instances.parts());
        // SAFETY: NULL or writable by the contract of this function.
        unsafe { give(CALL, ("topoInsts", instances), ("topoInstNum", count), found) }
    }
}

hccl_call! {
    /// How the ranks of a topology are linked.
    fn HcclRankGraphGetTopoType(
        handle: *mut c_void,
        number: u32,
        instance: u32,
        kind: *mut c_int,
    ) {
        const CALL: &str = "HcclRankGraphGetTopoType";
        let comm = comm(CALL, handle)?;
        let graph = Graph::of(&comm);
        let found = || {
            layer(CALL, graph, number)?;
            check_instance(CALL, instance)?;
            Ok(graph.kind(number))
        };
        // SAFETY: NULL or writable by the contract of this function.
        unsafe { tell(CALL, ("topoType", kind), found) }
    }
}

hccl_call! {
    /// Ranks of a topology.
    fn HcclRankGraphGetRanksByTopoInst(
        handle: *mut c_void,
        number: u32,
        instance: u32,
        ranks: *mut *mut u32,
        count: *mut u32,
    ) {
        const CALL: &str = "HcclRankGraphGetRanksByTopoInst";
        let comm = comm(CALL, handle)?;
        let found = || {
            let layer = layer(CALL, Graph::of(&comm), number)?;
            check_instance(CALL, instance)?;
            Ok(layer.ranks.parts())
        };
        // SAFETY: NULL or writable by the contract of this function.
        unsafe { give(CALL, ("ranks", ranks), ("rankNum", count), found) }
    }
}

/// Ends that a device has in a topology.
const ENDPOINTS: u32 = 1;

hccl_call! {
    /// How many ends of links the own rank has in a topology.
    fn HcclRankGraphGetEndpointNum(
        handle: *mut c_void,
        number: u32,
        instance: u32,
        count: *mut u32,
    ) {
        const CALL: &str = "HcclRankGraphGetEndpointNum";
        let comm = comm(CALL, handle)?;
        let found = || {
            layer(CALL, Graph::of(&comm), number)?;
            check_instance(CALL, instance)?;
            Ok(ENDPOINTS)
        };
        // SAFETY: NULL or writable by the contract of this function.
        unsafe { tell(CALL, ("num", count), found) }
    }
}

hccl_call! {
    /// Ends of links of the own rank in a topology, into a list of the caller's with room for
    /// `*count`.
    fn HcclRankGraphGetEndpointDesc(
        handle: *mut c_void,
        number: u32,
        instance: u32,
        count: *mut u32,
        descs: *mut Endpoint,
    ) {
        const CALL: &str = "HcclRankGraphGetEndpointDesc";
        let comm = comm(CALL, handle)?;
        present(CALL, "descNum", count)?;
        present(CALL, "endpointDesc", descs)?;
        let graph = Graph::of(&comm);
        layer(CALL, graph, number)?;
        check_instance(CALL, instance)?;
        // SAFETY: not NULL; readable by the contract of this function.
        let room = unsafe { count.read() };
        if room < ENDPOINTS {
            let expect = format!("at least {ENDPOINTS}, as HcclRankGraphGetEndpointNum tells");
            return Err(Failure::argument(CALL, "descNum", &room.to_string(), &expect));
        }
        // SAFETY: neither is NULL; writable by the contract of this function.
        unsafe {
            descs.write(graph.endpoint(number, comm.engine.rank()));
            count.write(ENDPOINTS);
        }
        Ok(())
    }
}

/// `EndpointAttr`.
const BANDWIDTH: c_int = 0;
const DIE: c_int = 1;
const LOCATION: c_int = 2;

hccl_call! {
    /// What is known of an end of a link: its share of the bandwidth, its die, where it is.
    fn HcclRankGraphGetEndpointInfo(
        handle: *mut c_void,
        rank: u32,
        desc: *const Endpoint,
        attribute: c_int,
        len: u32,
        info: *mut c_void,
    ) {
        const CALL: &str = "HcclRankGraphGetEndpointInfo";
        let comm = comm(CALL, handle)?;
        present(CALL, "endpointDesc", desc)?;
        present(CALL, "info", info)?;
        check_rank(CALL, "rankId", rank, comm.engine.ranks())?;
        let graph = Graph::of(&comm);
        // SAFETY: not NULL; readable by the contract of this function.
        let desc = unsafe { *desc };
        let is_there = (0..graph.layers.len() as u32)
            .any(|number| graph.endpoint(number, rank).is(&desc));
        if !is_there {
            let expect = "an end of a link of that rank, as the rank graph told it";
            return Err(Failure::argument(CALL, "endpointDesc", "another", expect));
        }
        // Software NPUs have one die and share nothing.
        let value = match attribute {
            BANDWIDTH => 1u32,
            DIE | LOCATION => 0,
            other => {
                let expect = "ENDPOINT_ATTR_BW_COEFF (0), _DIE_ID (1) or _LOCATION (2)";
                return Err(Failure::argument(CALL, "endpointAttr", &other.to_string(), expect));
            }
        };
        if len as usize != size_of::<u32>() {
            return Err(Failure::argument(CALL, "infoLen", &len.to_string(), "4"));
        }
        // SAFETY: not NULL; writable for 4 bytes by the contract of this function.
        unsafe { info.cast::<u32>().write_unaligned(value) };
        Ok(())
    }
}

/// `HCCL_HETEROG_MODE_HOMOGENEOUS`: all devices of a host are of one product.
const HOMOGENEOUS: c_int = 0;

hccl_call! {
    /// Whether ranks are of different products, which software NPUs of one host are not.
    fn HcclGetHeterogMode(handle: *mut c_void, mode: *mut c_int) {
        const CALL: &str = "HcclGetHeterogMode";
        comm(CALL, handle)?;
        // SAFETY: NULL or writable by the contract of this function.
        unsafe { tell(CALL, ("mode", mode), || Ok(HOMOGENEOUS)) }
    }
}
