//! Shared memory that a peer's ranks leave when they are ended before they can clean up.
//!
//! MPI libraries keep it under names in `/dev/shm`, where it would stay until the machine is started
//! again. Only what is new, named as they name it, and mapped by no process is removed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const FOLDER: &str = "/dev/shm";

/// Beginnings of the names: MPICH, Open MPI, and Intel MPI, which starts oneCCL too.
const NAMES: &[&str] = &["mpich_s", "sm_segment.", "Intel_MPI_"];

/// What was there before a program ran.
pub(super) struct Before(BTreeSet<PathBuf>);

impl Before {
    pub(super) fn look() -> Self {
        Self(files(Path::new(FOLDER)))
    }

    /// Removes what has come since and belongs to nobody; returns how much that was.
    pub(super) fn clean(&self) -> usize {
        let new: Vec<PathBuf> =
            files(Path::new(FOLDER)).into_iter().filter(|path| !self.0.contains(path)).collect();
        if new.is_empty() {
            return 0;
        }
        let maps = all_maps();
        new.iter()
            .filter(|path| !maps.contains(&*path.to_string_lossy()))
            .filter(|path| std::fs::remove_file(path).is_ok())
            .count()
    }
}

/// Files of a folder that are named like a peer's.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return BTreeSet::new();
    };
    entries
        .flatten()
        .filter(|entry| is_a_peers(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect()
}

fn is_a_peers(name: &str) -> bool {
    NAMES.iter().any(|start| name.starts_with(start))
}

/// What all processes that we may look at have mapped.
fn all_maps() -> String {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return String::new();
    };
    let maps = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("maps")).ok();
    entries.flatten().filter_map(maps).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_named_like_a_peers_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["mpich_shm_1_0", "somebody_elses"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(files(folder.path()), BTreeSet::from([folder.path().join("mpich_shm_1_0")]));
        assert!(files(&folder.path().join("nowhere")).is_empty());
    }
}
