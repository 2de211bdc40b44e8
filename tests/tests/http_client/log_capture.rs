//! What any crate in the process logs.

use std::sync::{Mutex, MutexGuard, Once};
use std::thread::ThreadId;

/// By thread: other tests log at the same time, and rows of a dump must stay together.
struct Log(Mutex<Vec<(ThreadId, String)>>);

static LOG: Log = Log(Mutex::new(Vec::new()));

/// Everything that is logged while it is there; one at a time.
pub(crate) struct Capture(MutexGuard<'static, ()>);

impl Capture {
    pub(crate) fn begin() -> Self {
        static ONE: Mutex<()> = Mutex::new(());
        static INSTALLED: Once = Once::new();
        let guard = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        INSTALLED.call_once(|| log::set_logger(&LOG).unwrap());
        LOG.0.lock().unwrap().clear();
        log::set_max_level(log::LevelFilter::Trace);
        Self(guard)
    }

    pub(crate) fn end(self) -> String {
        log::set_max_level(log::LevelFilter::Off);
        let logged = LOG.0.lock().unwrap().iter().map(|(_, text)| text.as_str()).collect();
        drop(self.0);
        logged
    }
}

impl log::Log for Log {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        // Line breaks and gaps would hide a secret that a dump spreads over rows; compare without them.
        let text = record.args().to_string();
        let dumped = text.rsplit(' ').next().unwrap_or_default();
        let (mut kept, thread) = (self.0.lock().unwrap(), std::thread::current().id());
        match kept.iter_mut().find(|(known, _)| *known == thread) {
            Some((_, text)) => text.push_str(dumped),
            None => kept.push((thread, dumped.to_owned())),
        }
    }

    fn flush(&self) {}
}
