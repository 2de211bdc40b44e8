//! A compactor that asks a model for a summary.

use super::{CompactionContext, Compactor, LocalCompactor, LocalModel, Model, ModelContext};
use crate::core::compaction::{Compaction, CompactionFault, CompactionRequest, Summarized, SummaryReader};
use crate::core::history::{History, HistoryBounds};
use crate::core::id::MessageId;
use crate::core::message::{Message, MessageBounds, Part, Role};
use crate::core::model::{ModelItem, ModelRequest, ModelSpec};
use futures_core::Stream;
use std::fmt::Write;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

/// What the model is asked to do, unless the host says otherwise.
const INSTRUCTIONS: &str = "You shorten the older part of a conversation between a user and an assistant that works \
with tools. Write what must be known to go on without it: the user's goals, wishes and constraints in their own words; \
facts, names, numbers, paths and identifiers exactly as they stand; what was done and decided, and why; what failed; \
what is open. If the text begins with an earlier summary, carry its facts over. Leave out pleasantries. Answer with the \
summary alone.";
/// What stands before a summary in the history.
const HEADING: &str = "[Summary of the earlier part of this conversation]";
/// Most bytes of one tool's result that the model gets to read.
const MOST_RESULT: usize = 4 * 1024;
/// Items of an answer that are read in a row.
const TURN: u32 = 64;

/// A compactor that asks a model for a summary of the older messages: a plain request without tools, after which one
/// user message stands in their place.
///
/// An answer without text, one that was cut by the output limit, one above the bound of a response, and a failure of the
/// model are failures of the compaction: they are not tried again here, and the history stays as it is (K4).
///
/// ```
/// use runloom::testing::ScriptedModel;
/// use runloom::{CompactionPolicy, Config, Host, ModelSpec, Summarizer};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (model, cheap) = (ScriptedModel::new([]), ScriptedModel::new([]));
/// let host = Host::shared()
///     .model(ModelSpec::new("large"), model)
///     .compactor(Summarizer::new(ModelSpec::new("small"), cheap))
///     .build()?;
/// let config = Config::default().compaction(CompactionPolicy::at_tokens(100_000))?;
/// # let _ = (host, config);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Summarizer<M> {
    model: M,
    spec: Arc<ModelSpec>,
    most_bytes: usize,
}

impl<M> Summarizer<M> {
    /// Asks `model` under this name and with these parameters. A system prompt of `spec` stands in the place of the
    /// usual instructions.
    pub fn new(spec: ModelSpec, model: M) -> Self {
        let spec = if spec.system.is_some() { spec } else { spec.system(INSTRUCTIONS) };
        Self { model, spec: Arc::new(spec), most_bytes: 400 << 10 }
    }

    /// With at most this many bytes of the conversation in a request; 400 KiB by default. Beyond, the middle is left
    /// out, with a mark: the beginning may be an earlier summary, and the end is nearest to what follows.
    #[must_use]
    pub fn most_bytes(mut self, bytes: usize) -> Self {
        self.most_bytes = bytes;
        self
    }

    fn request(&self, request: &CompactionRequest) -> ModelRequest {
        let text = cut_middle(render(request), self.most_bytes);
        let mut history = History::new(HistoryBounds::default());
        let bounds = MessageBounds { parts: 1, text: u64::MAX, image: 0 };
        let parts = vec![Part::Text(text.into())];
        if let Ok(message) = MessageId::new("summarize")
            .map_err(drop)
            .and_then(|id| Message::new(id, Role::User, parts, &bounds).map_err(drop))
        {
            // One message of text follows on nothing.
            let _ = history.push(message);
        }
        ModelRequest::new((*self.spec).clone(), history, [])
    }
}

/// The older messages as plain text.
fn render(request: &CompactionRequest) -> String {
    let mut text = String::new();
    for message in request.head() {
        for part in message.parts() {
            // Writing to a string does not fail.
            let _ = match part {
                Part::Text(said) => writeln!(text, "{}: {said}", message.role().as_str()),
                Part::ToolCall(call) => writeln!(text, "call {} {}", call.name, call.arguments_json()),
                Part::ToolResult(result) => {
                    let said: Vec<&str> = result.content.iter().filter_map(said).collect();
                    let said = cut_middle(said.join("\n"), MOST_RESULT);
                    writeln!(text, "result of {} ({}): {said}", result.name, result.status.as_str())
                }
                Part::Image(image) => writeln!(text, "{}: [{}]", message.role().as_str(), image.media_type),
                _ => Ok(()),
            };
        }
    }
    text
}

fn said(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) => Some(text),
        Part::Image(_) => Some("[image]"),
        _ => None,
    }
}

fn cut_middle(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let (mut head, mut tail) = (most / 2, text.len() - most / 2);
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    format!("{}\n[{} bytes are left out]\n{}", &text[..head], tail - head, &text[tail..])
}

/// A reader for what fits into one message under the heading.
fn reader(request: &CompactionRequest) -> SummaryReader {
    // The line's end counts two bytes.
    SummaryReader::new(request.most_bytes.saturating_sub(HEADING.len() as u64 + 2))
}

/// Reads a model's answer to its end, in turns: others have theirs in between, however much is ready (C3).
pub(crate) async fn read_summary(
    stream: impl Stream<Item = ModelItem>,
    mut reader: SummaryReader,
) -> Result<Summarized, CompactionFault> {
    let mut stream = pin!(stream);
    let mut left = TURN;
    let end = poll_fn(|cx| {
        while left > 0 {
            left -= 1;
            match stream.as_mut().poll_next(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(item)) => {
                    if let Some(end) = reader.take(item) {
                        return Poll::Ready(Some(end));
                    }
                }
            }
        }
        left = TURN;
        cx.waker().wake_by_ref();
        Poll::Pending
    });
    match end.await {
        Some(end) => end,
        None => Err(reader.cut()),
    }
}

impl<M: Model> Compactor for Summarizer<M> {
    async fn compact(
        &self,
        request: Arc<CompactionRequest>,
        cx: CompactionContext,
    ) -> Result<Compaction, CompactionFault> {
        let (asked, reader) = (Arc::new(self.request(&request)), reader(&request));
        match Model::open(&self.model, asked, ModelContext::new(cx.token)).await {
            Ok(stream) => read_summary(stream, reader).await?.under(HEADING),
            Err(problem) => Err(CompactionFault::new(problem.message)),
        }
    }
}

/// A [`Summarizer`] over a model that stays on one thread.
#[derive(Clone, Debug)]
pub struct LocalSummarizer<M>(Summarizer<M>);

impl<M> LocalSummarizer<M> {
    /// Asks the summarizer's model on one thread.
    pub fn new(summarizer: Summarizer<M>) -> Self {
        Self(summarizer)
    }
}

impl<M: LocalModel> LocalCompactor for LocalSummarizer<M> {
    async fn compact(
        &self,
        request: Arc<CompactionRequest>,
        cx: CompactionContext,
    ) -> Result<Compaction, CompactionFault> {
        let (asked, reader) = (Arc::new(self.0.request(&request)), reader(&request));
        match LocalModel::open(&self.0.model, asked, ModelContext::new(cx.token)).await {
            Ok(stream) => read_summary(stream, reader).await?.under(HEADING),
            Err(problem) => Err(CompactionFault::new(problem.message)),
        }
    }
}
