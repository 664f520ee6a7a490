//! Where results go: the standard output or a file.

use std::fs::File;
use std::io::{self, ErrorKind, Stdout, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};

pub(super) struct Output {
    to: To,
    /// For messages.
    name: String,
}

enum To {
    Standard(Stdout),
    File(File),
}

impl Output {
    pub(super) fn new(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Self { to: To::Standard(io::stdout()), name: "the standard output".into() });
        };
        let name = path.display().to_string();
        let file = File::create(path).with_context(|| format!("cannot write {name}"))?;
        Ok(Self { to: To::File(file), name })
    }

    /// Writes at once, so that long jobs show what they have. Gives whether anybody still reads.
    pub(super) fn write(&mut self, text: &str) -> Result<bool> {
        let written = match &mut self.to {
            To::Standard(to) => to.write_all(text.as_bytes()).and_then(|()| to.flush()),
            To::File(to) => to.write_all(text.as_bytes()),
        };
        self.judge(written)
    }

    /// The end of the result.
    pub(super) fn finish(&mut self) -> Result<()> {
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
