//! Where results go: stdout, or a file.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};

/// Writes a result.
///
/// # Errors
/// When it cannot be written; a reader of stdout that has gone is [`is_gone`].
pub(crate) fn deliver(text: &str, file: Option<&Path>) -> Result<()> {
    match file {
        Some(path) => {
            std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
        }
        None => {
            let mut stdout = std::io::stdout().lock();
            stdout.write_all(text.as_bytes())?;
            Ok(stdout.flush()?)
        }
    }
}

/// Whether an error means that nobody reads stdout any more, which is no failure.
pub(crate) fn is_gone(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
