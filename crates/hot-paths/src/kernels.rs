//! Reductions and copies of a few sizes, by instruction set.

use anyhow::{Context, Result};
use hccl_kernels::{DataType, Isa, ReduceOp, Reducer, Stores, copy_with};

use crate::{Case, Path};

const SIZES: [(usize, &str); 3] = [(64, "64B"), (4 << 10, "4KiB"), (256 << 10, "256KiB")];
const TYPES: [DataType; 3] = [DataType::F32, DataType::Bf16, DataType::F16];
/// Those that valgrind knows.
const SETS: [Isa; 3] = [Isa::Portable, Isa::Neon, Isa::Avx2];
const COPIES: [(Stores, &str); 2] = [(Stores::Cached, "cached"), (Stores::Streaming, "streaming")];

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for data_type in TYPES {
        for isa in SETS.into_iter().filter(|isa| isa.available()) {
            for (bytes, size) in SIZES {
                let name = format!("sum/{data_type}/{isa}/{size}");
                cases.push(Case::new(name, move || sum(data_type, isa, bytes)));
            }
        }
    }
    for (stores, how) in COPIES {
        for (bytes, size) in SIZES {
            cases.push(Case::new(format!("copy/{how}/{size}"), move || Ok(copy(stores, bytes))));
        }
    }
    cases
}

/// Two sources into one target, which lies on the first.
fn sum(data_type: DataType, isa: Isa, bytes: usize) -> Result<Path> {
    let reducer = Reducer::with_isa(data_type, ReduceOp::Sum, isa);
    let reducer = reducer.with_context(|| format!("no sum of {data_type} on {isa}"))?;
    let (mut one, two) = (Pages::zeros(bytes), Pages::zeros(bytes));
    let len = bytes / data_type.size();
    Ok(Box::new(move |meter| {
        let (target, other) = (one.address_mut(), two.address());
        meter.call(|| {
            // SAFETY: both are live, as long as that and aligned; the target is exactly the first
            // source; this is the only thread.
            unsafe { reducer.run(&[target], &[target, other], len) };
            Ok(())
        })
    }))
}

fn copy(stores: Stores, bytes: usize) -> Path {
    let (source, mut target) = (Pages::zeros(bytes), Pages::zeros(bytes));
    Box::new(move |meter| {
        let (to, from) = (target.address_mut(), source.address());
        meter.call(|| {
            // SAFETY: both are live, as long as that and apart; this is the only thread.
            unsafe { copy_with(stores, to, from, bytes) };
            Ok(())
        })
    })
}

/// Memory that begins with a page.
struct Pages(Vec<Page>);

#[derive(Clone)]
#[repr(C, align(4096))]
struct Page([u8; 4096]);

impl Pages {
    fn zeros(bytes: usize) -> Self {
        Self(vec![Page([0; 4096]); bytes.div_ceil(size_of::<Page>())])
    }

    fn address(&self) -> *const u8 {
        self.0.as_ptr().cast()
    }

    fn address_mut(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}
