//! Messages of failed calls, kept for `aclGetRecentErrMsg`.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::error::NpuError;
use crate::log::{TimeForm, timestamp};

/// Whose messages a reader gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Those of its own thread (the default).
    Thread,
    /// Those of the whole process.
    Process,
}

/// Messages kept before the oldest goes.
const MESSAGES_MAX: usize = 64;

static MODE: Mutex<Mode> = Mutex::new(Mode::Thread);
static PROCESS: Mutex<VecDeque<Message>> = Mutex::new(VecDeque::new());

thread_local! {
    static THREAD: RefCell<VecDeque<Message>> = const { RefCell::new(VecDeque::new()) };
    static LAST: Cell<i32> = const { Cell::new(0) };
}

/// One failure as a user should read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Catalogue number, as `EE1003`.
    pub id: String,
    /// Name of the number, as `Invalid_Argument_Value`.
    pub title: String,
    /// What happened.
    pub text: String,
    /// Why it may have happened; empty if there is nothing to say.
    pub cause: String,
    /// What to do about it; empty if there is nothing to say.
    pub solution: String,
    time: String,
}

impl Message {
    /// A message of this moment.
    pub fn new(id: &str, title: &str, text: &str, cause: &str, solution: &str) -> Self {
        let [id, title, text, cause, solution] =
            [id, title, text, cause, solution].map(str::to_owned);
        Self { id, title, text, cause, solution, time: timestamp(TimeForm::Line) }
    }

    fn render(&self, out: &mut String) {
        use std::fmt::Write as _;
        let Self { id, title, text, cause, solution, time } = self;
        let pid = std::process::id();
        // Writing to a string cannot fail.
        if id.ends_with("9999") {
            let _ = writeln!(out, "{id}: Internal error!");
            let _ = writeln!(out, "{id}[PID: {pid}] {time} {title}({id}):  {text}");
        } else {
            let _ = writeln!(out, "[PID: {pid}] {time} {title}({id}): {text}");
        }
        for (name, value) in [("Possible Cause", cause), ("Solution", solution)] {
            if !value.is_empty() && value != "N/A" {
                let _ = writeln!(out, "        {name}: {value}");
            }
        }
    }
}

/// Name of a catalogue number of the runtime.
fn title(id: &str) -> &'static str {
    match id {
        "EE1001" | "EE1003" | "EH0001" => "Invalid_Argument",
        "EE1002" => "Stream_Sync_Timeout",
        "EE1004" | "EH0002" => "Invalid_Argument_Null_Pointer",
        "EE1005" | "EH0011" => "Not_Support",
        "EE1010" => "Invalid_Argument_Context",
        "EE1023" => "Resource_Error",
        "EE2002" => "Invalid_Environment_Variable",
        "EL0004" => "Memory_Allocation_Failure",
        _ => "Inner_Error",
    }
}

/// Sets whose messages readers get.
pub fn set_mode(mode: Mode) {
    *MODE.lock() = mode;
}

/// Keeps a message.
pub fn push(message: Message) {
    let add = |queue: &mut VecDeque<Message>| {
        if queue.len() == MESSAGES_MAX {
            queue.pop_front();
        }
        queue.push_back(message);
    };
    match *MODE.lock() {
        Mode::Process => add(&mut PROCESS.lock()),
        // A thread that is ending reads no messages any more.
        Mode::Thread => drop(THREAD.try_with(|queue| add(&mut queue.borrow_mut()))),
    }
}

/// Keeps what a failed call says.
pub fn push_error(function: &str, error: &NpuError) {
    if error.id == NpuError::TOLD {
        return;
    }
    let text = format!("{function} failed: {error}");
    push(Message::new(error.id, title(error.id), &text, "", ""));
}

/// All messages, which are thereby cleared; `None` if there are none.
pub fn take() -> Option<String> {
    let messages: Vec<Message> = match *MODE.lock() {
        Mode::Process => PROCESS.lock().drain(..).collect(),
        Mode::Thread => {
            THREAD.try_with(|queue| queue.borrow_mut().drain(..).collect()).unwrap_or_default()
        }
    };
    if messages.is_empty() {
        return None;
    }
    let mut text = String::new();
    for message in &messages {
        message.render(&mut text);
    }
    Some(text)
}

/// Runs `body` and takes the messages that it leaves on this thread.
pub fn capture<T>(body: impl FnOnce() -> T) -> (T, Vec<Message>) {
    let swap =
        |queue: VecDeque<Message>| THREAD.try_with(|own| own.replace(queue)).unwrap_or_default();
    let outer = swap(VecDeque::new());
    let result = body();
    (result, swap(outer).into())
}

/// Stores the calling thread's last error. Only codes of the inner layer count.
pub fn set_last_error(code: i32) {
    if !(100_000..=100_999).contains(&code) && !(148_000..=148_999).contains(&code) {
        LAST.set(code);
    }
}

/// The calling thread's last error, 0 if none.
pub fn last_error() -> i32 {
    LAST.get()
}

/// Forgets the calling thread's last error.
pub fn clear_last_error() {
    LAST.set(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_once_and_by_their_thread() {
        push_error("aclrtMalloc", &NpuError::null("devPtr"));
        push(Message::new("EI0003", "T", "text", "cause", "N/A"));
        std::thread::spawn(|| assert_eq!(take(), None)).join().unwrap();
        let text = take().unwrap();
        assert!(text.contains("(EH0002): aclrtMalloc failed: Argument devPtr must not be null."));
        assert!(text.contains("        Possible Cause: cause\n") && !text.contains("Solution"));
        assert_eq!(take(), None);
    }

    #[test]
    fn only_inner_codes_become_the_last_error() {
        set_last_error(100_000);
        assert_eq!(last_error(), 0);
        set_last_error(107_002);
        assert_eq!(last_error(), 107_002);
        clear_last_error();
        assert_eq!(last_error(), 0);
    }
}
