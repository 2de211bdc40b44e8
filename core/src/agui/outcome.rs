//! How runs and invocations end, what they wait for, and what they cost.

use super::event::Metadata;
use super::wire::{Context, Path, Raw, Wire, custom, object, tag};
use crate::json::Out;
use alloc::string::String;
use alloc::vec::Vec;
use serde::de::{Deserialize, Deserializer};
use serde_json::Value;

wire_struct! {
    /// A question that a run ended with.
    pub struct Interrupt {
        /// Unique in the run.
        req id: String = "id",
        /// Why the run stopped, for programs.
        req reason: String = "reason",
        /// What is asked, for people.
        opt message: String = "message",
        /// The call that it is about.
        opt tool_call_id: String = "toolCallId",
        /// The JSON schema of an answer.
        opt response_schema: Metadata = "responseSchema",
        /// When an answer comes too late: RFC 3339, judged by the host.
        opt expires_at: String = "expiresAt",
        /// Extra information.
        opt metadata: Metadata = "metadata",
        /// The invocation that asks; absent means the run's own agent.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// An answer to an interrupt, in the next run's input.
    pub struct ResumeEntry {
        /// The interrupt.
        req interrupt_id: String = "interruptId",
        /// Whether it is answered or given up.
        req status: ResumeStatus = "status",
        /// The answer; not null.
        opt payload: Value = "payload",
        /// Extra information.
        opt metadata: Metadata = "metadata",
    }
}

wire_names! {
    /// What became of an interrupt.
    #[derive(Default)]
    pub enum ResumeStatus ("one of resolved, cancelled is expected", open) {
        /// It is answered.
        Resolved = "resolved",
        /// It is given up. Nothing else is ever taken for consent.
        #[default]
        Cancelled = "cancelled",
    }
}

wire_struct! {
    /// Tokens of one model of one provider. An absent count is unknown, not zero.
    pub struct TokenUsage {
        /// The provider.
        opt provider: String = "provider",
        /// The model.
        opt model: String = "model",
        /// All tokens of the prompt, cached or not.
        opt input_tokens: u64 = "inputTokens",
        /// All tokens that were generated, reasoning included.
        opt output_tokens: u64 = "outputTokens",
        /// Input and output together.
        opt total_tokens: u64 = "totalTokens",
        /// The part of the output that was reasoning.
        opt reasoning_tokens: u64 = "reasoningTokens",
        /// The part of the input that was read from a cache.
        opt cached_input_tokens: u64 = "cachedInputTokens",
        /// The part of the input that was written to a cache.
        opt cache_write_input_tokens: u64 = "cacheWriteInputTokens",
    }
}

wire_object! { Interrupt ResumeEntry TokenUsage }

/// How a run that did not fail ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum RunOutcome {
    /// It completed.
    #[default]
    Success,
    /// It completed, and leaves these calls to the application: exactly those that it started and did not answer, in
    /// the order in which it started them.
    SuccessWithPendingToolCalls(Vec<String>),
    /// It stopped to ask. At least one question; ids are unique in the run.
    Interrupt(Vec<Interrupt>),
    /// It was stopped on purpose before it completed: neither a success nor a failure.
    Cancelled,
}

/// How an invocation that did not fail ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SubagentOutcome {
    /// It completed.
    #[default]
    Success,
    /// It waits for something from outside; a later run may continue it.
    Suspended {
        /// The interrupts that are its own; may be empty.
        interrupt_ids: Vec<String>,
    },
}

wire_struct! {
    /// The success outcome on the wire.
    struct Success {
        /// Calls that are left to the application.
        opt pending_tool_call_ids: Vec<String> = "pendingToolCallIds",
    }
}

wire_struct! {
    /// The interrupt outcome on the wire.
    struct Interrupted {
        /// The questions.
        req interrupts: Vec<Interrupt> = "interrupts",
    }
}

wire_struct! {
    /// The suspended outcome on the wire.
    struct Suspended {
        /// The interrupts that are the invocation's own.
        list interrupt_ids: String = "interruptIds",
    }
}

wire_struct! {
    /// An outcome without members.
    struct Bare {}
}

impl Wire for RunOutcome {
    const EXPECTED: &'static str = "an outcome is expected: an object with a type";

    fn read<'de, D: Deserializer<'de>>(from: D, context: Context<'_>) -> Result<Option<Self>, D::Error> {
        let json = Raw::deserialize(from)?;
        Ok(match tag(json.get(), "type").ok_or_else(custom)?.as_str() {
            "success" => object::<Success, _>(json, context, "type")?.map(|success| {
                success.pending_tool_call_ids.map_or(Self::Success, Self::SuccessWithPendingToolCalls)
            }),
            "interrupt" => {
                let asked = object::<Interrupted, _>(json, context, "type")?;
                if asked.as_ref().is_some_and(|asked| asked.interrupts.is_empty()) {
                    let path = Path::Member(context.path(), "interrupts");
                    context.at(&path).fail("at least one interrupt is expected");
                    return Err(custom());
                }
                asked.map(|asked| Self::Interrupt(asked.interrupts))
            }
            "cancelled" => object::<Bare, _>(json, context, "type")?.map(|Bare {}| Self::Cancelled),
            _ => None,
        })
    }

    fn write<O: Out>(&self, out: &mut O) {
        match self {
            Self::Success => out.push(b"{\"type\":\"success\"}"),
            Self::SuccessWithPendingToolCalls(ids) => {
                out.push(b"{\"type\":\"success\",\"pendingToolCallIds\":");
                ids.write(out);
                out.push(b"}");
            }
            Self::Interrupt(interrupts) => {
                out.push(b"{\"type\":\"interrupt\",\"interrupts\":");
                interrupts.write(out);
                out.push(b"}");
            }
            Self::Cancelled => out.push(b"{\"type\":\"cancelled\"}"),
        }
    }
}

impl Wire for SubagentOutcome {
    const EXPECTED: &'static str = "an outcome is expected: an object with a type";

    fn read<'de, D: Deserializer<'de>>(from: D, context: Context<'_>) -> Result<Option<Self>, D::Error> {
        let json = Raw::deserialize(from)?;
        Ok(match tag(json.get(), "type").ok_or_else(custom)?.as_str() {
            "success" => object::<Bare, _>(json, context, "type")?.map(|Bare {}| Self::Success),
            "suspended" => object::<Suspended, _>(json, context, "type")?
                .map(|suspended| Self::Suspended { interrupt_ids: suspended.interrupt_ids }),
            _ => None,
        })
    }

    fn write<O: Out>(&self, out: &mut O) {
        match self {
            Self::Success => out.push(b"{\"type\":\"success\"}"),
            Self::Suspended { interrupt_ids } => {
                out.push(b"{\"type\":\"suspended\"");
                let first = &mut false;
                wire_write!(list *interrupt_ids, "interruptIds", out first);
                out.push(b"}");
            }
        }
    }
}
