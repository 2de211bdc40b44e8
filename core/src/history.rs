//! A session's conversation: a persistent vector of shared messages (M2, M4).
//!
//! A clone costs a few pointers whatever the length; a push after a clone copies at most one node a level. Token
//! estimate, size and validity run along, so that neither the start of a run nor its commit walks the history.

use crate::message::{Message, Role};
use alloc::sync::Arc;
use alloc::vec::Vec;

const BITS: u32 = 5;
const WIDTH: usize = 1 << BITS;

#[derive(Clone, Debug)]
enum Node {
    Inner(Vec<Arc<Node>>),
    Leaf(Vec<Arc<Message>>),
}

/// Bounds of a whole history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryBounds {
    /// Most messages.
    pub messages: usize,
    /// Most bytes of text (encoded) and images.
    pub bytes: u64,
}

impl Default for HistoryBounds {
    /// 65,536 messages, 256 MiB.
    fn default() -> Self {
        Self { messages: 65_536, bytes: 256 << 20 }
    }
}

/// Why a message cannot follow (M4).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The message before holds calls; their results must follow at once.
    #[error("message {at} must hold the results of the {calls} calls before it")]
    ResultsExpected {
        /// Index of the refused message.
        at: usize,
        /// How many calls wait.
        calls: usize,
    },
    /// Results that no call waits for, or in another order than their calls.
    #[error("result {ordinal} of message {at} does not answer the call in its place")]
    UnexpectedResult {
        /// Index of the refused message.
        at: usize,
        /// Place of the result.
        ordinal: usize,
    },
    /// Two calls of one message have the same id.
    #[error("two calls of message {at} have the id {id:?}")]
    DuplicateCall {
        /// Index of the refused message.
        at: usize,
        /// The id.
        id: crate::text::Text,
    },
    /// The bound on messages is reached.
    #[error("a history holds at most {limit} messages")]
    TooManyMessages {
        /// The bound.
        limit: usize,
    },
    /// The bound on bytes is reached.
    #[error("{observed} bytes of history are more than {limit}")]
    TooManyBytes {
        /// The bound.
        limit: u64,
        /// What it would have been.
        observed: u64,
    },
}

/// A valid conversation. Clones share their messages.
#[derive(Clone, Debug)]
pub struct History {
    root: Arc<Node>,
    shift: u32,
    len: usize,
    tail: Arc<Vec<Arc<Message>>>,
    tokens: u64,
    bytes: u64,
    bounds: HistoryBounds,
}

impl Default for History {
    fn default() -> Self {
        Self::new(HistoryBounds::default())
    }
}

impl PartialEq for History {
    /// Equal messages in equal order; the bounds do not count.
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl History {
    /// An empty history with these bounds.
    pub fn new(bounds: HistoryBounds) -> Self {
        Self {
            root: Arc::new(Node::Inner(Vec::new())),
            shift: BITS,
            len: 0,
            tail: Arc::new(Vec::new()),
            tokens: 0,
            bytes: 0,
            bounds,
        }
    }

    /// A history of these messages, each checked as [`History::push`] does.
    ///
    /// # Errors
    ///
    /// The [`HistoryError`] of the first message that cannot follow.
    pub fn from_messages(
        bounds: HistoryBounds,
        messages: impl IntoIterator<Item = Message>,
    ) -> Result<Self, HistoryError> {
        let mut history = Self::new(bounds);
        for message in messages {
            history.push(message)?;
        }
        Ok(history)
    }

    /// Number of messages.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Estimated tokens of all messages; an estimate, kept along.
    pub fn estimated_tokens(&self) -> u64 {
        self.tokens
    }

    /// Bytes of text (encoded) and images over all messages.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The bounds that pushes are held to.
    pub fn bounds(&self) -> HistoryBounds {
        self.bounds
    }

    /// The same messages with other bounds, which hold for what is pushed from here on: what is there stays, also if it
    /// is more.
    #[must_use]
    pub fn with_bounds(self, bounds: HistoryBounds) -> Self {
        Self { bounds, ..self }
    }

    /// The last message.
    pub fn last(&self) -> Option<&Arc<Message>> {
        self.len.checked_sub(1).and_then(|at| self.get(at))
    }

    /// How many calls of the last message wait for their results; a history at rest has none.
    pub fn open_calls(&self) -> usize {
        self.last().map_or(0, |message| message.calls().count())
    }

    /// The message at `at`.
    pub fn get(&self, at: usize) -> Option<&Arc<Message>> {
        let tail_start = self.len - self.tail.len();
        if at >= tail_start {
            return self.tail.get(at - tail_start);
        }
        let mut node = &*self.root;
        let mut shift = self.shift;
        loop {
            match node {
                Node::Inner(children) => {
                    node = children.get((at >> shift) & (WIDTH - 1))?;
                    shift = shift.saturating_sub(BITS);
                }
                Node::Leaf(messages) => return messages.get(at & (WIDTH - 1)),
            }
        }
    }

    /// All messages, oldest first.
    pub fn iter(&self) -> Iter<'_> {
        Iter { history: self, at: 0, leaf: &[] }
    }

    /// Appends a message. On an error nothing has changed.
    ///
    /// # Errors
    ///
    /// [`HistoryError`] if calls and results do not fit together (M4) or a bound is reached.
    pub fn push(&mut self, message: Message) -> Result<(), HistoryError> {
        self.accepts(&message)?;
        self.append(Arc::new(message));
        Ok(())
    }

    /// As [`History::push`], without a copy.
    pub(crate) fn push_shared(&mut self, message: Arc<Message>) -> Result<(), HistoryError> {
        self.accepts(&message)?;
        self.append(message);
        Ok(())
    }

    /// Appends a message that the machine built itself: a step that was begun may overshoot the bounds by what it
    /// brings, so that it can always be closed.
    pub(crate) fn commit(&mut self, message: Message) {
        self.append(Arc::new(message));
    }

    /// Whether another step fits: `messages` before it, two messages of its own, and `bytes` in all.
    pub(crate) fn has_room(&self, messages: usize, bytes: u64) -> Result<(), HistoryError> {
        if self.len.saturating_add(messages).saturating_add(2) > self.bounds.messages {
            return Err(HistoryError::TooManyMessages { limit: self.bounds.messages });
        }
        let observed = self.bytes.saturating_add(bytes);
        if observed > self.bounds.bytes {
            return Err(HistoryError::TooManyBytes { limit: self.bounds.bytes, observed });
        }
        Ok(())
    }

    /// Whether [`History::push`] would take `message`.
    ///
    /// # Errors
    ///
    /// As [`History::push`].
    pub fn accepts(&self, message: &Message) -> Result<(), HistoryError> {
        if self.len >= self.bounds.messages {
            return Err(HistoryError::TooManyMessages { limit: self.bounds.messages });
        }
        let observed = self.bytes.saturating_add(message.bytes());
        if observed > self.bounds.bytes {
            return Err(HistoryError::TooManyBytes { limit: self.bounds.bytes, observed });
        }
        let at = self.len;
        let calls = self.open_calls();
        if message.role() != Role::Tool {
            return match calls {
                0 => no_duplicate(message, at),
                calls => Err(HistoryError::ResultsExpected { at, calls }),
            };
        }
        let mut waiting = self.last().into_iter().flat_map(|last| last.calls());
        let mut count = 0;
        for (ordinal, result) in message.results().enumerate() {
            match waiting.next() {
                Some(call) if call.id == result.id && call.call == result.call => count += 1,
                _ => return Err(HistoryError::UnexpectedResult { at, ordinal }),
            }
        }
        if count < calls { Err(HistoryError::ResultsExpected { at, calls }) } else { Ok(()) }
    }

    fn append(&mut self, message: Arc<Message>) {
        self.tokens = self.tokens.saturating_add(message.estimated_tokens());
        self.bytes = self.bytes.saturating_add(message.bytes());
        self.len += 1;
        if self.tail.len() < WIDTH {
            match Arc::get_mut(&mut self.tail) {
                Some(tail) => tail.push(message),
                None => {
                    let mut tail = Vec::with_capacity((self.tail.len() + 2).next_power_of_two().min(WIDTH));
                    tail.extend(self.tail.iter().cloned());
                    tail.push(message);
                    self.tail = Arc::new(tail);
                }
            }
            return;
        }
        let full = core::mem::replace(&mut self.tail, Arc::new(alloc::vec![message]));
        let leaf = Arc::new(Node::Leaf(Arc::unwrap_or_clone(full)));
        let leaf_index = (self.len - 1) / WIDTH - 1;
        if leaf_index >> self.shift != 0 {
            let old = core::mem::replace(&mut self.root, Arc::new(Node::Inner(Vec::new())));
            self.root = Arc::new(Node::Inner(alloc::vec![old]));
            self.shift += BITS;
        }
        insert(&mut self.root, self.shift - BITS, leaf_index, leaf);
    }
}

/// Puts `leaf` at `index` (counted in leaves) below `node`; `shift` is the node's own, in leaves.
fn insert(node: &mut Arc<Node>, shift: u32, index: usize, leaf: Arc<Node>) {
    let Node::Inner(children) = Arc::make_mut(node) else { return };
    if shift == 0 {
        children.push(leaf);
        return;
    }
    let slot = (index >> shift) & (WIDTH - 1);
    if slot == children.len() {
        children.push(Arc::new(Node::Inner(Vec::new())));
    }
    if let Some(child) = children.get_mut(slot) {
        insert(child, shift - BITS, index, leaf);
    }
}

fn no_duplicate(message: &Message, at: usize) -> Result<(), HistoryError> {
    let mut ids: Vec<&str> = message.calls().map(|call| call.id.as_str()).collect();
    ids.sort_unstable();
    match ids.windows(2).find(|pair| pair.first() == pair.last()) {
        Some(pair) => {
            let id = pair.first().copied().unwrap_or_default();
            Err(HistoryError::DuplicateCall { at, id: id.into() })
        }
        None => Ok(()),
    }
}

impl<'a> IntoIterator for &'a History {
    type Item = &'a Arc<Message>;
    type IntoIter = Iter<'a>;
    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Messages of a [`History`], oldest first.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    history: &'a History,
    at: usize,
    leaf: &'a [Arc<Message>],
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a Arc<Message>;

    fn next(&mut self) -> Option<&'a Arc<Message>> {
        if self.leaf.is_empty() {
            self.leaf = self.history.leaf(self.at);
        }
        let (first, rest) = self.leaf.split_first()?;
        self.leaf = rest;
        self.at += 1;
        Some(first)
    }
}

impl History {
    /// The rest of the leaf that holds `at`, from there on.
    fn leaf(&self, at: usize) -> &[Arc<Message>] {
        let tail_start = self.len - self.tail.len();
        if at >= tail_start {
            return self.tail.get(at - tail_start..).unwrap_or_default();
        }
        let mut node = &*self.root;
        let mut shift = self.shift;
        loop {
            match node {
                Node::Inner(children) => match children.get((at >> shift) & (WIDTH - 1)) {
                    Some(child) => {
                        node = child;
                        shift = shift.saturating_sub(BITS);
                    }
                    None => return &[],
                },
                Node::Leaf(messages) => return messages.get(at & (WIDTH - 1)..).unwrap_or_default(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::MessageId;
    use crate::message::Part;
    use alloc::format;

    fn message(n: usize) -> Message {
        let id = MessageId::new(format!("m{n}").as_str()).unwrap();
        Message::trusted(id, Role::User, [Part::Text(format!("{n}").as_str().into())].into())
    }

    #[test]
    fn agrees_with_a_vector_at_every_node_border_and_clones_stay_as_they_were() {
        let mut history = History::new(HistoryBounds { messages: 40_000, bytes: u64::MAX });
        let mut clones = Vec::new();
        for n in 0..36_000 {
            if [0, 1, 31, 32, 33, 1023, 1024, 1055, 1056, 1057, 32_768, 33_000].contains(&n) {
                clones.push((n, history.clone()));
            }
            history.push(message(n)).unwrap();
        }
        clones.push((36_000, history.clone()));
        for (len, clone) in clones {
            assert_eq!(clone.len(), len);
            assert!(clone.iter().map(|m| m.id().as_str()).eq((0..len).map(|n| format!("m{n}"))));
            for at in (0..len).step_by(97) {
                assert_eq!(clone.get(at).unwrap().id().as_str(), format!("m{at}"));
            }
            assert!(clone.get(len).is_none());
        }
    }

    #[test]
    fn bounds_hold_at_the_border() {
        let mut history = History::new(HistoryBounds { messages: 2, bytes: 2 });
        history.push(message(1)).unwrap();
        assert_eq!(history.push(message(10)), Err(HistoryError::TooManyBytes { limit: 2, observed: 3 }));
        history.push(message(2)).unwrap();
        assert_eq!(history.push(message(3)), Err(HistoryError::TooManyMessages { limit: 2 }));
        assert_eq!(history.len(), 2);
    }
}
