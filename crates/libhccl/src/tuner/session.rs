//! A plugin and a communicator: what one is told, and what becomes of what it says.

use std::ffi::{CString, c_int, c_void};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use hccl::{Choice, Offer, Tuned, Tuner};
use parking_lot::Mutex;

use super::abi::{AlgoEntry, CollInfo, CommInfo, size_of_u32};
use super::contexts::Contexts;
use super::host::HOST;
use super::load::Plugin;
use super::names::{ENGINE, executor_and_template};
use super::patience::Patience;
use super::{Shape, inside};
use crate::runtime::{c_string, log_line};

/// An init that takes longer leaves a warning.
const INIT_SLOW: Duration = Duration::from_secs(5);

/// A handle as a plugin gets it.
#[derive(Clone, Copy)]
struct Handle(*mut c_void);

// SAFETY: a handle is a number; nobody follows it.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// What a plugin has to do with a communicator.
pub(crate) struct Session {
    plugin: &'static Plugin,
    /// Plugins may keep the address.
    name: CString,
    shape: Shape,
    /// The communicator, once the plugin has taken it.
    comm: OnceLock<Handle>,
    patience: Mutex<Patience>,
    pub(super) contexts: Contexts,
}

impl Session {
    pub(super) fn new(plugin: &'static Plugin, name: &str, shape: Shape) -> Self {
        Self {
            plugin,
            name: c_string(name),
            shape,
            comm: OnceLock::new(),
            patience: Mutex::default(),
            contexts: Contexts::default(),
        }
    }

    fn warn(&self, what: &str) {
        let name = self.name.to_string_lossy();
        log_line!(Warning, "tuner", "[HCCL_TUNER] communicator {name}: {what}");
    }

    /// Tells the plugin of the communicator, which has its handle now.
    pub(crate) fn begin(&self, handle: *mut c_void) {
        let info = CommInfo {
            ranks: self.shape.ranks,
            npus_per_server: self.shape.npus_per_server,
            servers: self.shape.servers,
            pods: self.shape.super_pods,
            super_pods: self.shape.super_pods,
            name: self.name.as_ptr(),
            buffer_size: self.shape.buffer_bytes,
            struct_size: size_of_u32::<CommInfo>(),
        };
        let begin = Instant::now();
        // SAFETY: a function of the plugin, called as its interface says; both structures are
        // complete.
        let code =
            inside(|| unsafe { (self.plugin.init)(handle, &raw const info, &raw const HOST) });
        let time = begin.elapsed();
        if time > INIT_SLOW {
            self.warn(&format!("the plugin's init took {} ms", time.as_millis()));
        }
        if code != 0 {
            self.warn(&format!(
                "the plugin's init returned {code}; the library chooses algorithms by itself"
            ));
            return;
        }
        let _ = self.comm.set(Handle(handle));
    }

    /// Notes how long the plugin took.
    fn count(&self, time: Duration) {
        if self.patience.lock().took(time) {
            self.warn(
                "three calls of the plugin's getCollInfo in a row took more than 100 ms; it is \
                 asked no more. Ranks that still ask theirs may choose other algorithms",
            );
        }
    }
}

impl Tuner for Session {
    fn costs(&self, call: &Tuned, offers: &[Offer]) -> Option<Vec<f32>> {
        let comm = self.comm.get()?;
        if self.patience.lock().is_over() {
            return None;
        }
        let texts: Vec<[CString; 4]> = offers
            .iter()
            .map(|offer| {
                let (executor, template) = executor_and_template(&offer.algorithm);
                [&*offer.algorithm.name(), ENGINE, executor, &*template].map(c_string)
            })
            .collect();
        let entry = |(offer, texts): (&Offer, &[CString; 4])| AlgoEntry {
            algorithm: texts[0].as_ptr(),
            engine: texts[1].as_ptr(),
            executor: texts[2].as_ptr(),
            template: texts[3].as_ptr(),
            cost: offer.cost_us,
            struct_size: size_of_u32::<AlgoEntry>(),
        };
        let mut entries: Vec<AlgoEntry> = offers.iter().zip(&texts).map(entry).collect();
        let info = CollInfo {
            // The engine numbers operators as HcclCMDType does.
            coll_type: call.operator as c_int,
            bytes: usize::try_from(call.bytes).unwrap_or(usize::MAX),
            data_type: c_int::from(call.data_type.code()),
            struct_size: size_of_u32::<CollInfo>(),
        };
        let count = c_int::try_from(entries.len()).ok()?;
        let mut matched: c_int = 0;
        let begin = Instant::now();
        // SAFETY: a function of the plugin, called as its interface says: there are `count`
        // entries, whose texts live until it returns.
        let code = inside(|| unsafe {
            let entries = entries.as_mut_ptr();
            (self.plugin.get_coll_info)(comm.0, &raw const info, entries, count, &raw mut matched)
        });
        self.count(begin.elapsed());
        let Tuned { operator, bytes, data_type } = call;
        if code != 0 {
            self.warn(&format!(
                "the plugin's getCollInfo returned {code} for {operator}, {bytes} bytes of \
                 {data_type}; the library chooses by itself"
            ));
            return None;
        }
        let costs: Vec<f32> = entries.iter().map(|entry| entry.cost).collect();
        if costs.iter().any(|cost| cost.is_nan()) {
            self.warn(&format!(
                "the plugin gave a cost that is no number for {operator}, {bytes} bytes of \
                 {data_type}; the library's estimate stands there"
            ));
        }
        (matched != 0).then_some(costs)
    }

    fn chosen(&self, call: &Tuned, choice: &Choice) {
        let Tuned { operator, bytes, data_type } = call;
        let name = self.name.to_string_lossy();
        log_line!(
            Event,
            "tuner",
            "[HCCL_TUNER] communicator {name}: {operator}, {bytes} bytes of {data_type}, by {} \
             ({}: {})",
            choice.algorithm,
            choice.row,
            choice.reason
        );
    }
}
