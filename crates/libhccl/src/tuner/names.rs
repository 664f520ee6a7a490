//! Our algorithms in the words of the plugin interface.

use std::borrow::Cow;

use hccl::{Algorithm, Flat, Mesh};

/// What goes through the steps of a plan: here, as on the products' AI CPUs, processor cores.
pub(super) const ENGINE: &str = "aicpu";

/// Executor and template of an algorithm.
pub(super) fn executor_and_template(algorithm: &Algorithm) -> (&'static str, Cow<'static, str>) {
    let sole = |template: &'static str| ("sole", template.into());
    match algorithm {
        Algorithm::Mesh(Mesh::Direct) => sole("mesh"),
        Algorithm::Mesh(Mesh::OneShot) => sole("meshoneshot"),
        Algorithm::Mesh(Mesh::TwoShot) => sole("meshtwoshot"),
        Algorithm::Mesh(Mesh::Chunked(_)) => sole("meshchunk"),
        Algorithm::Ring => sole("ring"),
        Algorithm::Rhd => sole("rhd"),
        Algorithm::Nhr => sole("nhr"),
        Algorithm::Nb => sole("nb"),
        Algorithm::Pairwise => sole("pairwise"),
        Algorithm::Star => sole("star"),
        // Both rings run at the same time.
        Algorithm::DoubleRing => ("concur", template(Flat::DoubleRing).into()),
        Algorithm::Ahc { .. } => ("sequence", "ahc".into()),
        Algorithm::Pipeline { .. } => ("pipeline", "mesh+ring".into()),
        Algorithm::Hierarchy(tiers) => {
            let words: Vec<&str> = tiers.iter().map(|(_, flat)| template(*flat)).collect();
            ("sequence", words.join("+").into())
        }
    }
}

fn template(flat: Flat) -> &'static str {
    match flat {
        Flat::DoubleRing => "doublering",
        other => other.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn algorithms_have_words() {
        for (name, executor, template) in [
            ("mesh", "sole", "mesh"),
            ("mesh:chunked:4", "sole", "meshchunk"),
            ("double-ring", "concur", "doublering"),
            ("hierarchy:8*mesh,4*nhr", "sequence", "mesh+nhr"),
            ("hierarchy:2*double-ring,3*rhd,2*nb", "sequence", "doublering+rhd+nb"),
            ("pipeline:8", "pipeline", "mesh+ring"),
            ("ahc:2+3:mesh:nhr", "sequence", "ahc"),
        ] {
            let algorithm: Algorithm = name.parse().unwrap();
            assert_eq!(executor_and_template(&algorithm), (executor, template.into()), "{name}");
        }
    }
}
