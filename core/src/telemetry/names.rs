//! Names of attributes: OpenTelemetry's conventions for generative AI, which are still in development, and beside them
//! the project's own under `runloom`.

/// What a span is about: `invoke_agent`, `chat` or `execute_tool`.
pub const OPERATION: &str = "gen_ai.operation.name";
/// Who offers the model, as the host names it.
pub const PROVIDER: &str = "gen_ai.provider.name";
/// The session.
pub const CONVERSATION: &str = "gen_ai.conversation.id";
/// The model that was asked for.
pub const MODEL: &str = "gen_ai.request.model";
/// Why the model stopped, as a list of one.
pub const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// Seconds from an attempt's start to its first text, reasoning or call.
pub const FIRST_CHUNK: &str = "gen_ai.response.time_to_first_chunk";
/// Input tokens, those read from and written to a cache included.
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Output tokens, reasoning included.
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// Input tokens that came from a cache.
pub const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
/// Input tokens that went into a cache.
pub const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_write.input_tokens";
/// Output tokens that were reasoning.
pub const REASONING_TOKENS: &str = "gen_ai.usage.reasoning.output_tokens";
/// A tool's name.
pub const TOOL: &str = "gen_ai.tool.name";
/// A call's id, as in the model's response.
pub const TOOL_CALL: &str = "gen_ai.tool.call.id";
/// What kind of tool it is: `function`.
pub const TOOL_TYPE: &str = "gen_ai.tool.type";
/// What kind of failure ended a span: a stable code, never a text.
pub const ERROR: &str = "error.type";

/// The run.
pub const RUN: &str = "runloom.run.id";
/// The session's revision: before the run at its start, after it at its end.
pub const REVISION: &str = "runloom.revision";
/// Which step, from 1.
pub const STEP: &str = "runloom.step";
/// Which attempt of the model call, from 1.
pub const ATTEMPT: &str = "runloom.attempt";
/// The engine's identity of a call: step and place.
pub const CALL: &str = "runloom.call";
/// How a span ended, where that is neither plain success nor an error: `cancelled`, `suspended`, `incomplete`.
pub const END: &str = "runloom.end";
/// Why a run stopped, or who cancelled it, or what set a compaction off.
pub const REASON: &str = "runloom.reason";
/// A request for host input.
pub const REQUEST: &str = "runloom.request.id";
/// What a request for host input is about: `approval`, `question` or `call`.
pub const REQUEST_KIND: &str = "runloom.request.kind";
/// What an event within a span is about: an id, a name or a code.
pub const DETAIL: &str = "runloom.detail";
/// Seconds of a wait.
pub const DELAY: &str = "runloom.delay";
/// Messages: that a compaction is to replace, and by how many the history became shorter.
pub const MESSAGES: &str = "runloom.messages";
