//! Events of runs, steps and subagents.

use crate::agui::input::RunAgentInput;
use crate::agui::outcome::{RunOutcome, SubagentOutcome, TokenUsage};
use alloc::boxed::Box;
use alloc::string::String;
use serde_json::Value;

wire_struct! {
    /// Opens a run.
    pub struct RunStarted: base {
        /// The input's thread.
        req thread_id: String = "threadId",
        /// The run.
        req run_id: String = "runId",
        /// The producer's own version, never an echo of the input's.
        opt protocol_version: String = "protocolVersion",
        /// The run that started this one as a run of its own.
        opt parent_run_id: String = "parentRunId",
        /// The input that the run was started from.
        opt input: Box<RunAgentInput> = "input",
    }
}

wire_struct! {
    /// Closes a run that did not fail.
    pub struct RunFinished: base {
        /// The thread of the run's start.
        req thread_id: String = "threadId",
        /// The run of its start.
        req run_id: String = "runId",
        /// What the run returns; not null.
        opt result: Value = "result",
        /// How it ended; absent means success.
        opt outcome: RunOutcome = "outcome",
        /// Tokens of this run's own model calls, one entry per provider and model.
        list usage: TokenUsage = "usage",
    }
}

wire_struct! {
    /// Ends a run that failed. Nothing needs to be closed before it.
    pub struct RunError: base {
        /// What went wrong, for people.
        req message: String = "message",
        /// What went wrong, for programs.
        opt code: String = "code",
        /// Tokens spent up to there.
        list usage: TokenUsage = "usage",
    }
}

wire_struct! {
    /// Opens a step. Names are each owner's own.
    pub struct StepStarted: base {
        /// The step's name.
        req step_name: String = "stepName",
        /// The invocation that this belongs to.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// Closes a step, with the attribution of its start.
    pub struct StepFinished: base {
        /// The step's name.
        req step_name: String = "stepName",
        /// The invocation that this belongs to.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// Announces an invocation of a subagent.
    pub struct SubagentStarted: base {
        /// The invocation, unique in the run.
        req subagent_run_id: String = "subagentRunId",
        /// The subagent's name.
        req name: String = "name",
        /// What it is asked to do.
        opt description: String = "description",
        /// The invocation that made this one; absent means the run's own agent.
        opt parent_subagent_run_id: String = "parentSubagentRunId",
        /// The call that made it.
        opt parent_tool_call_id: String = "parentToolCallId",
        /// The message that made it.
        opt parent_message_id: String = "parentMessageId",
    }
}

wire_struct! {
    /// Closes an invocation that did not fail.
    pub struct SubagentFinished: base {
        /// The invocation.
        req subagent_run_id: String = "subagentRunId",
        /// What it returns; not null.
        opt result: Value = "result",
        /// How it ended; absent means success.
        opt outcome: SubagentOutcome = "outcome",
    }
}

wire_struct! {
    /// Closes an invocation that failed; the run may go on.
    pub struct SubagentError: base {
        /// The invocation.
        req subagent_run_id: String = "subagentRunId",
        /// What went wrong, for people.
        req message: String = "message",
        /// What went wrong, for programs.
        opt code: String = "code",
    }
}
