//! Log lines in the form and under the variables of the Ascend runtime.
//!
//! Files are made when a first line needs them. EVENT lines (who called what at start-up) are
//! written only where the user asked for logs by one of the variables, so that an ordinary run
//! leaves nothing behind.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

/// Severity of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For the library's authors.
    Debug,
    /// What happens.
    Info,
    /// Odd, and dealt with.
    Warning,
    /// A call or a task failed.
    Error,
    /// A milestone of a run.
    Event,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
            Self::Event => "EVENT",
        }
    }

    /// The level behind a number of the C interface (0 to 3, 16 for events).
    pub fn from_number(number: i32) -> Option<Self> {
        Some(match number {
            0 => Self::Debug,
            1 => Self::Info,
            2 => Self::Warning,
            3 => Self::Error,
            16 => Self::Event,
            _ => return None,
        })
    }
}

/// Where lines go and which.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Settings {
    /// Least severe level that is written; `None` writes nothing.
    threshold: Option<Level>,
    events: bool,
    to_stdout: bool,
    root: PathBuf,
    files_max: usize,
}

/// Longest wait for another thread that writes a line.
const LOCK_MAX: std::time::Duration = std::time::Duration::from_millis(500);
/// Bytes of a file before the next one is begun.
const FILE_BYTES: u64 = 20 << 20;

impl Settings {
    fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let get = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let threshold = match get("ASCEND_GLOBAL_LOG_LEVEL").as_deref() {
            Some("0") => Some(Level::Debug),
            Some("1") => Some(Level::Info),
            Some("2") => Some(Level::Warning),
            Some("4") => None,
            _ => Some(Level::Error),
        };
        let to_stdout = get("ASCEND_LOG_PRINT_TO_STDOUT")
            .or_else(|| get("ASCEND_SLOG_PRINT_TO_STDOUT"))
            .as_deref()
            == Some("1");
        let chosen = get("ASCEND_PROCESS_LOG_PATH")
            .map(PathBuf::from)
            .or_else(|| get("ASCEND_WORK_PATH").map(|path| PathBuf::from(path).join("log")));
        let asked = chosen.is_some() || to_stdout;
        let events = match get("ASCEND_GLOBAL_EVENT_ENABLE").as_deref() {
            Some("0") => false,
            Some("1") => true,
            _ => asked,
        };
        let root = chosen.unwrap_or_else(|| {
            PathBuf::from(get("HOME").unwrap_or_else(|| "/tmp".into())).join("ascend/log")
        });
        let files_max = get("ASCEND_HOST_LOG_FILE_NUM")
            .and_then(|text| text.parse().ok())
            .filter(|n| (1..=1000).contains(n))
            .unwrap_or(10);
        Self { threshold, events, to_stdout, root, files_max }
    }

    fn writes(&self, level: Level) -> bool {
        match level {
            Level::Event => self.events,
            _ => self.threshold.is_some_and(|least| level >= least),
        }
    }
}

fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| Settings::from_lookup(|name| std::env::var(name).ok()))
}

/// Whether a line of this level would be written. Ask before building an expensive one.
pub fn enabled(level: Level) -> bool {
    settings().writes(level)
}

/// Writes one line.
pub fn write(level: Level, module: &str, file: &str, line: u32, function: &str, message: &str) {
    let settings = settings();
    if !settings.writes(level) {
        return;
    }
    let text = format!(
        "[{}] {module}({},{}):{} [{}:{line}]{} {function}:{message}\n",
        level.name(),
        std::process::id(),
        process_name(),
        timestamp(TimeForm::Line),
        file.rsplit('/').next().unwrap_or(file),
        thread_id(),
    );
    if settings.to_stdout {
        // A closed standard output must not end the program.
        let _ = std::io::stdout().lock().write_all(text.as_bytes());
        return;
    }
    static DEBUG: Mutex<Option<LogFile>> = Mutex::new(None);
    static RUN: Mutex<Option<LogFile>> = Mutex::new(None);
    let (slot, folder) = if level == Level::Event { (&RUN, "run") } else { (&DEBUG, "debug") };
    // In a forked child the lock may be held by a thread that is not there.
    if let Some(mut slot) = slot.try_lock_for(LOCK_MAX) {
        LogFile::append(&mut slot, settings, folder, text.as_bytes());
    }
}

/// Writes a line of the runtime's own, with the place it comes from.
#[macro_export]
macro_rules! log {
    ($level:ident, $function:expr, $($format:tt)*) => {
        if $crate::log::enabled($crate::log::Level::$level) {
            $crate::log::write(
                $crate::log::Level::$level, "RUNTIME", file!(), line!(), $function,
                &format!($($format)*),
            );
        }
    };
}

#[derive(Debug)]
struct LogFile {
    file: File,
    written: u64,
    /// Process that opened it: a forked child begins its own.
    process: u32,
}

impl LogFile {
    fn append(slot: &mut Option<Self>, settings: &Settings, folder: &str, text: &[u8]) {
        let process = std::process::id();
        let usable = slot.as_ref().is_some_and(|log| {
            log.process == process && log.written + text.len() as u64 <= FILE_BYTES
        });
        if !usable {
            *slot = Self::begin(settings, folder, process);
        }
        if let Some(log) = slot
            && log.file.write_all(text).is_ok()
        {
            log.written += text.len() as u64;
        }
    }

    fn begin(settings: &Settings, folder: &str, process: u32) -> Option<Self> {
        let folder = settings.root.join(folder).join("plog");
        std::fs::create_dir_all(&folder).ok()?;
        let prefix = format!("plog-{process}_");
        let mut own: Vec<_> = std::fs::read_dir(&folder)
            .ok()?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&prefix))
            })
            .collect();
        own.sort();
        let surplus = (own.len() + 1).saturating_sub(settings.files_max);
        for old in own.iter().take(surplus) {
            let _ = std::fs::remove_file(old);
        }
        let path = folder.join(format!("{prefix}{}.log", timestamp(TimeForm::Name)));
        let file = File::options().append(true).create(true).open(path).ok()?;
        Some(Self { file, written: 0, process })
    }
}

/// Forms of a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeForm {
    /// `YYYY-MM-DD-HH:MM:SS.mmm.uuu`, in lines and messages.
    Line,
    /// `YYYYMMDDHHMMSSmmm`, in file names.
    Name,
}

/// The local time now.
pub fn timestamp(form: TimeForm) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = now.as_secs() as libc::time_t;
    // SAFETY: all-zero is a valid `tm`; both pointers are to live locals.
    let tm = unsafe {
        let mut tm: libc::tm = std::mem::zeroed();
        libc::localtime_r(&raw const seconds, &raw mut tm);
        tm
    };
    let (year, month) = (tm.tm_year + 1900, tm.tm_mon + 1);
    let (day, hour, minute, second) = (tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
    let (milli, micro) = (now.subsec_millis(), now.subsec_micros() % 1000);
    match form {
        TimeForm::Line => format!(
            "{year:04}-{month:02}-{day:02}-{hour:02}:{minute:02}:{second:02}.{milli:03}.{micro:03}"
        ),
        TimeForm::Name => {
            format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}{milli:03}")
        }
    }
}

fn process_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        std::fs::read_to_string("/proc/self/comm").unwrap_or_default().trim().to_owned()
    })
}

/// Number of the calling thread.
pub fn thread_id() -> u32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Settings {
        Settings::from_lookup(|name| {
            variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned())
        })
    }

    #[test]
    fn variables_choose_what_is_written_and_where() {
        let plain = settings(&[("HOME", "/h")]);
        assert!(plain.writes(Level::Error) && !plain.writes(Level::Warning));
        assert!(!plain.writes(Level::Event));
        assert_eq!(plain.root, PathBuf::from("/h/ascend/log"));
        let none = settings(&[("ASCEND_GLOBAL_LOG_LEVEL", "4")]);
        assert!(!none.writes(Level::Error));
        let info = settings(&[("ASCEND_GLOBAL_LOG_LEVEL", "1"), ("ASCEND_PROCESS_LOG_PATH", "/p")]);
        assert!(info.writes(Level::Info) && !info.writes(Level::Debug));
        assert!(info.writes(Level::Event));
        assert_eq!(info.root, PathBuf::from("/p"));
        let both =
            settings(&[("ASCEND_SLOG_PRINT_TO_STDOUT", "1"), ("ASCEND_LOG_PRINT_TO_STDOUT", "0")]);
        assert!(!both.to_stdout);
        assert_eq!(settings(&[("ASCEND_GLOBAL_LOG_LEVEL", "9")]).threshold, Some(Level::Error));
    }

    #[test]
    fn old_files_of_this_process_go() {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { root: folder.path().into(), files_max: 2, ..settings(&[]) };
        let mut slot = None;
        for _ in 0..3 {
            slot = None;
            LogFile::append(&mut slot, &settings, "debug", b"x\n");
            std::thread::sleep(std::time::Duration::from_millis(3));
        }
        assert!(slot.is_some());
        assert_eq!(std::fs::read_dir(folder.path().join("debug/plog")).unwrap().count(), 2);
    }

    #[test]
    fn times_have_their_form() {
        assert_eq!(timestamp(TimeForm::Line).len(), "2026-11-30-06:30:00.123.456".len());
        assert_eq!(timestamp(TimeForm::Name).len(), "20261130063000123".len());
    }
}
