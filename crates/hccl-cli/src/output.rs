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

/// A place for a result that comes piece by piece.
///
/// # Errors
/// When the file cannot be made.
pub(crate) fn open(file: Option<&Path>) -> Result<Box<dyn Write>> {
    Ok(match file {
        Some(path) => Box::new(
            std::fs::File::create(path).with_context(|| format!("writing {}", path.display()))?,
        ),
        None => Box::new(std::io::stdout()),
    })
}

/// Whether an error means that nobody reads stdout any more, which is no failure.
pub(crate) fn is_gone(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
