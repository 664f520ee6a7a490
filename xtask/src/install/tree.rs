//! Putting a set of files under a prefix, so that it can be done again over an old installation.
//!
//! Files are staged in a hidden folder below the prefix and then renamed into place one by one: a
//! program that runs from the old tree keeps the old files open. A manifest names what is ours. It is
//! written before the first file is moved (old and new names together) and again at the end, so that
//! even a broken-off installation knows its files. What the manifest does not name is never touched.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

const MANIFEST: &str = ".hccl-manifest";

/// A tree that is being put together; dropped without `commit`, it leaves the prefix as it was.
pub(crate) struct Tree {
    prefix: PathBuf,
    staging: PathBuf,
}

impl Tree {
    /// Begins a tree for an existing folder `prefix`.
    pub(crate) fn stage(prefix: &Path) -> Result<Self> {
        let staging = prefix.join(".hccl-staging");
        if staging.exists() {
            // Left by a run that was killed; the caller's lock says that none is under way.
            fs::remove_dir_all(&staging)
                .with_context(|| format!("cannot remove {}", staging.display()))?;
        }
        fs::create_dir(&staging).with_context(|| format!("cannot make {}", staging.display()))?;
        Ok(Self { prefix: prefix.to_path_buf(), staging })
    }

    /// Makes a folder of the tree and returns where it is staged.
    pub(crate) fn folder(&mut self, name: &str) -> Result<PathBuf> {
        let path = self.staging.join(name);
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(path)
    }

    pub(crate) fn copy_file(&mut self, from: &Path, to: &str) -> Result<()> {
        let to = self.staging.join(to);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)
                .with_context(|| format!("cannot make {}", parent.display()))?;
        }
        fs::copy(from, &to)
            .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
        Ok(())
    }

    /// Copies the files below `from` whose name passes; Python's caches and tests do not.
    pub(crate) fn copy_folder(
        &mut self,
        from: &Path,
        to: &str,
        wanted: fn(&str) -> bool,
    ) -> Result<()> {
        for file in files_below(from)? {
            let inner = file.to_string_lossy().into_owned();
            let skipped = file.iter().any(|part| part == "__pycache__" || part == "tests");
            if !skipped && wanted(&inner) {
                self.copy_file(&from.join(&file), &format!("{to}/{inner}"))?;
            }
        }
        Ok(())
    }

    pub(crate) fn write(&mut self, to: &str, text: &str) -> Result<()> {
        let path = self.staging.join(to);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Replaces a word in a staged file.
    pub(crate) fn replace(&mut self, file: &str, from: &str, to: &str) -> Result<()> {
        let path = self.staging.join(file);
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        self.write(file, &text.replace(from, to))
    }

    /// Moves everything into place and removes what an earlier installation had and this one has not.
    pub(crate) fn commit(self) -> Result<()> {
        let new: BTreeSet<PathBuf> = files_below(&self.staging)?.into_iter().collect();
        let manifest = self.prefix.join(MANIFEST);
        let old: BTreeSet<PathBuf> = match fs::read_to_string(&manifest) {
            Ok(text) => text.lines().map(PathBuf::from).filter(|path| is_inner(path)).collect(),
            Err(_) => BTreeSet::new(),
        };
        for file in new.difference(&old) {
            if self.prefix.join(file).symlink_metadata().is_ok() {
                bail!(
                    "{} is there and does not come from an earlier installation; choose another prefix",
                    self.prefix.join(file).display()
                );
            }
        }
        write_manifest(&manifest, old.union(&new))?;
        for folder in folders_below(&self.staging)? {
            let path = self.prefix.join(folder);
            fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        }
        for file in &new {
            let to = self.prefix.join(file);
            fs::rename(self.staging.join(file), &to)
                .with_context(|| format!("cannot write {}", to.display()))?;
        }
        for file in old.difference(&new) {
            remove_stale(&self.prefix, file);
        }
        write_manifest(&manifest, new.iter())
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.staging);
    }
}

/// Removes a file of an earlier installation, what Python compiled from it, and folders that are
/// empty then. A failure leaves a file too much, which does no harm.
fn remove_stale(prefix: &Path, file: &Path) {
    let path = prefix.join(file);
    let _ = fs::remove_file(&path);
    if let (Some(parent), Some(stem)) = (path.parent(), path.file_stem()) {
        let cache = parent.join("__pycache__");
        let compiled = format!("{}.", stem.to_string_lossy());
        for entry in fs::read_dir(&cache).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&compiled) {
                let _ = fs::remove_file(entry.path());
            }
        }
        let _ = fs::remove_dir(cache);
    }
    for folder in file.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
        if fs::remove_dir(prefix.join(folder)).is_err() {
            break;
        }
    }
}

/// Guards against a manifest that somebody edited: only paths below the prefix count.
fn is_inner(path: &Path) -> bool {
    path.components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

fn write_manifest<'a>(path: &Path, files: impl Iterator<Item = &'a PathBuf>) -> Result<()> {
    let mut text = String::new();
    for file in files {
        text.push_str(&file.to_string_lossy());
        text.push('\n');
    }
    let new = path.with_extension("new");
    fs::write(&new, text).with_context(|| format!("cannot write {}", new.display()))?;
    fs::rename(&new, path).with_context(|| format!("cannot write {}", path.display()))
}

/// Files below a folder, as paths relative to it.
pub(crate) fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    walk(folder, Path::new(""), &mut files, &mut Vec::new())?;
    Ok(files)
}

fn folders_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    walk(folder, Path::new(""), &mut Vec::new(), &mut folders)?;
    Ok(folders)
}

fn walk(
    folder: &Path,
    inner: &Path,
    files: &mut Vec<PathBuf>,
    folders: &mut Vec<PathBuf>,
) -> Result<()> {
    let here = folder.join(inner);
    for entry in fs::read_dir(&here).with_context(|| format!("cannot read {}", here.display()))? {
        let entry = entry.with_context(|| format!("cannot read {}", here.display()))?;
        let path = inner.join(entry.file_name());
        if entry.path().is_dir() {
            folders.push(path.clone());
            walk(folder, &path, files, folders)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(prefix: &Path, files: &[&str]) -> Result<()> {
        let mut tree = Tree::stage(prefix)?;
        for file in files {
            tree.folder(&Path::new(file).parent().unwrap().to_string_lossy())?;
            tree.write(file, file)?;
        }
        tree.commit()
    }

    #[test]
    fn installing_again_removes_what_is_stale_and_keeps_what_is_foreign() {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path();
        install(prefix, &["lib64/a.so", "python/hccl/old.py", "set_env.sh"]).unwrap();
        fs::write(prefix.join("lib64/foreign.so"), "theirs").unwrap();
        fs::create_dir(prefix.join("python/hccl/__pycache__")).unwrap();
        fs::write(prefix.join("python/hccl/__pycache__/old.cpython-311.pyc"), "").unwrap();
        install(prefix, &["lib64/a.so", "set_env.sh"]).unwrap();
        let mut left = files_below(prefix).unwrap();
        left.sort();
        let expected = [".hccl-manifest", "lib64/a.so", "lib64/foreign.so", "set_env.sh"];
        assert_eq!(left, expected.map(PathBuf::from));
        assert!(!prefix.join("python").exists());
    }

    #[test]
    fn a_foreign_file_in_the_way_is_refused_before_anything_changes() {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path();
        fs::write(prefix.join("set_env.sh"), "theirs").unwrap();
        let error = install(prefix, &["lib64/a.so", "set_env.sh"]).unwrap_err();
        assert!(error.to_string().contains("choose another prefix"), "{error}");
        assert_eq!(files_below(prefix).unwrap(), [PathBuf::from("set_env.sh")]);
    }

    #[test]
    fn a_manifest_that_points_outside_removes_nothing_there() {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("prefix");
        fs::create_dir(&prefix).unwrap();
        fs::write(folder.path().join("victim"), "").unwrap();
        fs::write(prefix.join(MANIFEST), "../victim\n/etc/nothing\n").unwrap();
        install(&prefix, &["set_env.sh"]).unwrap();
        assert!(folder.path().join("victim").exists());
    }
}
