//! Where results go: the standard output or a file.

use std::fs::File;
use std::io::{self, ErrorKind, Stdout, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};

/// A place for a result that may come piece by piece.
pub(crate) struct Output {
    to: To,
    /// For messages.
    name: String,
}

enum To {
    Standard(Stdout),
    File(File),
}

impl Output {
    /// The file, or the standard output.
    pub(crate) fn new(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Self { to: To::Standard(io::stdout()), name: "the standard output".into() });
        };
        let name = path.display().to_string();
        let file = File::create(path).with_context(|| format!("cannot write {name}"))?;
        Ok(Self { to: To::File(file), name })
    }

    /// Writes at once, so that long jobs show what they have. Gives whether anybody still reads.
    pub(crate) fn write(&mut self, text: &str) -> Result<bool> {
        let written = match &mut self.to {
            To::Standard(to) => to.write_all(text.as_bytes()).and_then(|()| to.flush()),
            To::File(to) => to.write_all(text.as_bytes()),
        };
        self.judge(written)
    }

    /// As [`Self::write`], for work that has no use without a reader: an error that is [`is_gone`].
    pub(crate) fn show(&mut self, text: &str) -> Result<()> {
        match self.write(text)? {
            true => Ok(()),
            false => Err(io::Error::from(ErrorKind::BrokenPipe).into()),
        }
    }

    /// The end of the result.
    pub(crate) fn finish(&mut self) -> Result<()> {
        let synced = match &mut self.to {
            To::Standard(to) => to.flush(),
            To::File(to) => to.flush(),
        };
        self.judge(synced).map(|_| ())
    }

    /// That a reader has read enough (`| head`) is no error.
    fn judge(&self, written: io::Result<()>) -> Result<bool> {
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(error).with_context(|| format!("cannot write {}", self.name)),
        }
    }
}

/// Writes a whole result.
pub(crate) fn deliver(text: &str, file: Option<&Path>) -> Result<()> {
    let mut output = Output::new(file)?;
    output.write(text)?;
    output.finish()
}

/// Whether an error means that nobody reads the standard output any more, which is no failure.
pub(crate) fn is_gone(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
