//! How a C call comes in and goes out: arguments that check themselves, and one place where a
//! failure becomes a code, a log line and a message.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use hccl_abi::{Table, c_text, contain};
use softnpu::context::{Context, current};
use softnpu::event::Event;
use softnpu::stream::Stream;
use softnpu::{NpuError, NpuResult, code, messages};

pub(crate) static CONTEXTS: Table<Context> = Table::new(0x11);
pub(crate) static STREAMS: Table<Stream> = Table::new(0x12);
pub(crate) static EVENTS: Table<Event> = Table::new(0x13);

/// Defines an exported function that returns an `aclError`.
macro_rules! acl {
    ($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// 1. Every pointer is NULL or valid for what the C interface says of it.
        // SAFETY: the name is that of the interface that this library is.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, reason = "the name is that of the C interface")]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> std::ffi::c_int {
            $crate::border::call(stringify!($name), move || $body)
        }
    };
}
pub(crate) use acl;

/// Runs the body of a C call.
pub(crate) fn call(name: &'static str, body: impl FnOnce() -> NpuResult<()>) -> c_int {
    let told = contain(|| {
        let Err(error) = run(body) else { return code::SUCCESS };
        softnpu::log!(Error, name, "{error}");
        messages::push_error(name, &error);
        messages::set_last_error(error.code);
        error.code
    });
    told.unwrap_or(code::INTERNAL_ERROR)
}

/// As [`call`], for questions whose "no" programs expect: the code is kept as the last error, and
/// nothing else is reported.
pub(crate) fn answer(body: impl FnOnce() -> NpuResult<()>) -> c_int {
    let code = ask(body);
    if code != code::SUCCESS {
        let _ = contain(|| messages::set_last_error(code));
    }
    code
}

/// As [`call`], for questions whose "no" is an answer and not a failure: nothing is reported.
pub(crate) fn ask(body: impl FnOnce() -> NpuResult<()>) -> c_int {
    contain(|| run(body).err().map_or(code::SUCCESS, |error| error.code))
        .unwrap_or(code::INTERNAL_ERROR)
}

fn run(body: impl FnOnce() -> NpuResult<()>) -> NpuResult<()> {
    contain(body).unwrap_or_else(|panic| {
        let text = format!("A defect of this library: {}.", panic.0);
        Err(NpuError::new(code::INTERNAL_ERROR, "EH9999", text))
    })
}

/// A pointer that a result is written to.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// Whether the caller gave none.
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Refuses NULL before any work is done.
    pub(crate) fn check(self, name: &str) -> NpuResult<Self> {
        if self.0.is_null() { Err(NpuError::null(name)) } else { Ok(self) }
    }

    /// The same place seen as the size that a structure begins with.
    pub(crate) fn as_size(self) -> In<usize> {
        In(self.0.cast())
    }

    /// The same place as something to read.
    pub(crate) fn as_in(self) -> In<T> {
        In(self.0.cast_const())
    }

    /// Writes the result.
    pub(crate) fn put(self, name: &str, value: T) -> NpuResult<()> {
        self.check(name)?;
        // SAFETY: not NULL; writable for one `T` by the contract of the C function it came to.
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// Writes the result if the caller wants it.
    pub(crate) fn put_if_wanted(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: as in `put`.
            unsafe { self.0.write(value) };
        }
    }
}

/// A pointer that a structure is read from.
#[repr(transparent)]
pub struct In<T>(*const T);

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<T> {}

impl<T: Copy> In<T> {
    /// Whether the caller gave none.
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Reads the structure.
    pub(crate) fn get(self, name: &str) -> NpuResult<T> {
        if self.0.is_null() {
            return Err(NpuError::null(name));
        }
        // SAFETY: not NULL; readable for one `T` by the contract of the C function it came to.
        Ok(unsafe { self.0.read() })
    }

    /// Reads one of a list that is not NULL.
    pub(crate) fn at(self, index: usize) -> T {
        // SAFETY: readable as far as that by the contract of the C function it came to.
        unsafe { self.0.add(index).read() }
    }

    /// Reads `count` of them; NULL is an empty list.
    ///
    /// # Errors
    /// For a number that no memory holds.
    pub(crate) fn list(self, count: usize) -> NpuResult<Vec<T>> {
        let mut list = Vec::new();
        if self.0.is_null() || count == 0 {
            return Ok(list);
        }
        if list.try_reserve_exact(count).is_err() {
            let allowed = "the number of entries in the list";
            return Err(NpuError::argument("count", count, allowed));
        }
        // SAFETY: readable for `count` of `T` by the contract of the C function it came to, and no
        // longer than a list can be.
        list.extend_from_slice(unsafe { std::slice::from_raw_parts(self.0, count) });
        Ok(list)
    }
}

/// A C string.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Text(*const c_char);

impl From<*const c_char> for Text {
    fn from(text: *const c_char) -> Self {
        Self(text)
    }
}

impl Text {
    /// The text; `None` for NULL.
    pub(crate) fn get(self) -> Option<String> {
        // SAFETY: NULL or a NUL-terminated string by the contract of the C function it came to.
        unsafe { c_text(self.0) }
    }
}

/// A handle of a stream as it comes in.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct StreamHandle(pub(crate) *mut c_void);

impl StreamHandle {
    /// The stream; NULL is the default stream of the current context.
    pub(crate) fn get(self) -> NpuResult<Arc<Stream>> {
        if self.0.is_null() {
            return current()?.default_stream();
        }
        self.named()
    }

    /// The stream, which must not be NULL.
    pub(crate) fn named(self) -> NpuResult<Arc<Stream>> {
        // Refuses a forked child before it touches what belongs to its parent.
        softnpu::runtime::runtime()?;
        if self.0.is_null() {
            return Err(NpuError::null("stream"));
        }
        let stream = STREAMS.get(self.0).filter(|stream| !stream.is_dead());
        stream.ok_or_else(|| NpuError::handle("stream", self.0))
    }

    /// The stream, which must belong to the calling thread's context.
    pub(crate) fn here(self) -> NpuResult<Arc<Stream>> {
        let context = current()?;
        let stream = self.get()?;
        if stream.context().is_some_and(|own| !Arc::ptr_eq(&own, &context)) {
            let text = format!(
                "The call failed because stream {:p} of device {} does not belong to the current \
                 context (device {}).",
                self.0,
                stream.device(),
                context.device()
            );
            return Err(NpuError::new(code::RT_STREAM_CONTEXT, "EE1010", text));
        }
        Ok(stream)
    }
}

/// A handle of an event as it comes in.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct EventHandle(pub(crate) *mut c_void);

impl EventHandle {
    /// The event.
    pub(crate) fn get(self) -> NpuResult<Arc<Event>> {
        softnpu::runtime::runtime()?;
        if self.0.is_null() {
            return Err(NpuError::null("event"));
        }
        EVENTS.get(self.0).ok_or_else(|| NpuError::handle("event", self.0))
    }
}

/// A handle for a new object.
pub(crate) fn handle<T>(table: &Table<T>, object: Arc<T>, what: &str) -> NpuResult<*mut c_void> {
    table.insert(object).ok_or_else(|| {
        let text = format!("Creating a {what} failed. Reason: this process has 16777216 of them.");
        NpuError::new(code::RT_INTERNAL_ERROR, "EE1023", text)
    })
}

/// The handle of a context, made on first use.
pub(crate) fn context_handle(context: &Arc<Context>) -> NpuResult<*mut c_void> {
    match CONTEXTS.handle_of(context) {
        Some(found) => Ok(found),
        None => handle(&CONTEXTS, context.clone(), "context"),
    }
}

/// Limit of a wait in milliseconds: -1 for none.
pub(crate) fn limit_ms(name: &str, ms: i32) -> NpuResult<Option<std::time::Duration>> {
    match ms {
        -1 => Ok(None),
        1.. => Ok(Some(std::time::Duration::from_millis(ms as u64))),
        _ => Err(NpuError::value(name, ms, "-1 (no limit) or a positive number of milliseconds")),
    }
}

/// Characters of a key, with its NUL.
const KEY_BYTES: usize = 65;

/// Writes the key that `make` makes into a buffer of the caller's.
pub(crate) fn put_key(
    key: *mut c_char,
    len: usize,
    make: impl FnOnce() -> NpuResult<String>,
) -> NpuResult<()> {
    if key.is_null() {
        return Err(NpuError::null("key"));
    }
    if len < KEY_BYTES {
        return Err(NpuError::value("len", len, &format!("at least {KEY_BYTES}")));
    }
    let made = make()?;
    debug_assert!(made.len() < KEY_BYTES);
    // SAFETY: not NULL, writable for `len` bytes by the contract of the C function it came to, and
    // a key with its NUL is never longer than that.
    unsafe {
        std::ptr::copy_nonoverlapping(made.as_ptr(), key.cast(), made.len());
        key.add(made.len()).write(0);
    }
    Ok(())
}

/// A list of process numbers.
pub(crate) fn pids(list: In<i32>, count: usize) -> NpuResult<Vec<i32>> {
    if list.is_null() {
        return Err(NpuError::null("pid"));
    }
    if count == 0 {
        return Err(NpuError::argument("num", 0, "greater than 0"));
    }
    list.list(count)
}

/// The code that a function of the user's returned, as this call's own.
pub(crate) fn relay(found: c_int) -> NpuResult<()> {
    if found == code::SUCCESS {
        return Ok(());
    }
    Err(NpuError::new(found, "EH0001", format!("A callback returned the error code {found}.")))
}
