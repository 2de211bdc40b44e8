//! Reading a run beside its primary stream: pages, subscriptions, the conversation as it stands (L2-L4, S2).

mod index;
mod subscription;

pub(crate) use index::{Place, Readers};
pub use subscription::Subscription;

use crate::core::id::{RunId, Seq};
use crate::core::outcome::Outcome;
use crate::core::reader::{After, Cursor, LiveHistory, Page, ReadBounds, ReadError, Reader};
use crate::shared::RunShared;
use crate::sync::Arc;
use std::fmt;

/// Reads a run: from any task, any number of them, and also after the run and its handle are gone.
///
/// It keeps neither the run going nor its pace, nor can it answer anything; dropping it ends nothing. As long as there
/// is one, the run's log stays readable.
///
/// ```
/// use futures_lite::future::{block_on, zip};
/// use runloom::testing::{Attempt, ScriptedModel};
/// use runloom::{After, Engine, Host, ManualTimer, ModelSpec, ReadBounds, Seq};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let model = ScriptedModel::new([Attempt::new().text("Hello.")]);
/// # let host = Host::shared().model(ModelSpec::new("scripted"), model).build()?;
/// # let session = Engine::new(host, ManualTimer::new()).session()?;
/// let (run, driver) = session.start("Hi")?;
/// let reader = run.reader();
/// let mut screen = reader.subscribe(After::START)?;
/// let show = async {
///     let mut kinds = Vec::new();
///     while let Some(envelope) = screen.next().await? {
///         kinds.push(envelope.event.kind().as_str());
///     }
///     Ok::<_, runloom::ReadError>(kinds)
/// };
/// let (_, shown) = block_on(zip(zip(driver, run.outcome()), show));
/// assert_eq!(shown?.last(), Some(&"run.completed"));
///
/// // A client comes back with the last event that it has seen.
/// drop(run);
/// let page = reader.page(reader.cursor(Seq(4)), ReadBounds::new(100, 64 << 10))?;
/// assert_eq!(page.events.len(), 3);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RunReader {
    shared: Arc<RunShared>,
}

impl RunReader {
    pub(crate) fn new(shared: &Arc<RunShared>) -> Self {
        Self { shared: Arc::clone(shared) }
    }

    /// The run's id.
    pub fn id(&self) -> &RunId {
        &self.shared.id
    }

    /// The cursor behind `seq` of this run.
    pub fn cursor(&self, seq: Seq) -> Cursor {
        Cursor::new(self.shared.id.clone(), seq)
    }

    /// The run's outcome, if it has ended.
    pub fn outcome(&self) -> Option<Arc<Outcome>> {
        self.shared.outcome()
    }

    /// The events after a cursor, as many as fit into the bounds; also of a run that has ended (L2).
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the cursor does not fit the log, or if not even the first event that follows it fits the bounds.
    pub fn page(&self, after: impl Into<After>, bounds: ReadBounds) -> Result<Page, ReadError> {
        let after = after.into();
        self.shared.read(|_, log| log.page(after, bounds))
    }

    /// Everything after a cursor: what the log holds, and then what comes, without a gap and without a duplicate (L2).
    /// The subscription may be behind by what the engine is configured for:
    /// [`Limits::subscription_events`](crate::Limits) and `subscription_bytes`.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the cursor does not fit the log, or if more follows it than the subscription may be behind:
    /// then read pages first, or all at once with [`RunReader::page_then_tail`].
    pub fn subscribe(&self, after: impl Into<After>) -> Result<Subscription, ReadError> {
        self.subscribe_with(after, self.bounds())
    }

    /// The same, with bounds of its own. If they are wider than those of the log, the subscription ends when the log
    /// evicts what it has not read.
    ///
    /// # Errors
    ///
    /// As [`RunReader::subscribe`].
    pub fn subscribe_with(
        &self,
        after: impl Into<After>,
        bounds: ReadBounds,
    ) -> Result<Subscription, ReadError> {
        let after = after.into();
        let place = self
            .shared
            .read(|readers, log| Reader::new(log, after, bounds).map(|reader| readers.insert(reader)))?;
        Ok(Subscription::new(&self.shared, place))
    }

    /// A page, and a subscription behind it if the page reaches the end of what there is and more can come: both in one
    /// step (L2). Without a subscription, ask again after the page's last event, unless the page is the last one of a
    /// log that is closed: [`Page::closed`] and not [`Page::has_more`].
    ///
    /// # Errors
    ///
    /// As [`RunReader::page`].
    pub fn page_then_tail(
        &self,
        after: impl Into<After>,
        bounds: ReadBounds,
    ) -> Result<(Page, Option<Subscription>), ReadError> {
        let (after, own) = (after.into(), self.bounds());
        let (page, place) = self.shared.read(|readers, log| {
            let page = log.page(after, bounds)?;
            let place = if page.has_more || page.closed {
                None
            } else {
                Some(readers.insert(Reader::new(log, page.last, own)?))
            };
            Ok::<_, ReadError>((page, place))
        })?;
        Ok((page, place.map(|place| Subscription::new(&self.shared, place))))
    }

    /// The conversation as it stands in the run, with the cursor behind which everything follows that does not stand in
    /// it (S2): both of the same moment. The response that is under way follows from its beginning.
    pub fn live_history(&self) -> LiveHistory {
        self.shared.look(|machine| machine.live_history())
    }

    /// The same, and a subscription behind that cursor, in one step: for somebody who joins late.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if more follows the cursor than the subscription may be behind: then take
    /// [`RunReader::live_history`] and read pages after its cursor.
    pub fn join(&self) -> Result<(LiveHistory, Subscription), ReadError> {
        let own = self.bounds();
        let (live, place) = self.shared.join(own)?;
        Ok((live, Subscription::new(&self.shared, place)))
    }

    fn bounds(&self) -> ReadBounds {
        self.shared.look(|machine| {
            let limits = machine.config().limits();
            ReadBounds::new(limits.subscription_events, limits.subscription_bytes)
        })
    }
}

impl fmt::Debug for RunReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RunReader").field(&self.shared).finish()
    }
}
