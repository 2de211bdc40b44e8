//! What an agent says that it can do. Informative only: no stream and no run is refused because of it.

use super::event::Metadata;
use super::input::Tool;
use alloc::string::String;

/// A group of yes-or-no capabilities; an absent one is not declared, which is not no.
macro_rules! flags {
    ($(#[$meta:meta])* pub struct $name:ident { $( $(#[$doc:meta])* $field:ident = $key:literal ),* $(,)? }) => {
        wire_struct! {
            $(#[$meta])*
            #[derive(Eq)]
            pub struct $name { $( $(#[$doc])* opt $field: bool = $key, )* }
        }
    };
}

wire_struct! {
    /// What an agent declares; every group may be absent.
    pub struct AgentCapabilities {
        /// Who it is.
        opt identity: IdentityCapabilities = "identity",
        /// How it is reached.
        opt transport: TransportCapabilities = "transport",
        /// Its tools.
        opt tools: ToolsCapabilities = "tools",
        /// What it puts out.
        opt output: OutputCapabilities = "output",
        /// What it does with state.
        opt state: StateCapabilities = "state",
        /// Whether it works with other agents.
        opt multi_agent: MultiAgentCapabilities = "multiAgent",
        /// Whether it shows its reasoning.
        opt reasoning: ReasoningCapabilities = "reasoning",
        /// Which media it takes and gives.
        opt multimodal: MultimodalCapabilities = "multimodal",
        /// What it executes.
        opt execution: ExecutionCapabilities = "execution",
        /// How people take part.
        opt human_in_the_loop: HumanInTheLoopCapabilities = "humanInTheLoop",
        /// Anything else.
        opt custom: Metadata = "custom",
    }
}

wire_struct! {
    /// Who an agent is.
    pub struct IdentityCapabilities {
        /// Its name.
        opt name: String = "name",
        /// What kind of agent it is.
        opt kind: String = "type",
        /// Its own version.
        opt version: String = "version",
        /// Who provides it.
        opt provider: String = "provider",
        /// Where its documentation is.
        opt documentation_url: String = "documentationUrl",
        /// Extra information.
        opt metadata: Metadata = "metadata",
    }
}

flags! {
    /// How an agent is reached.
    pub struct TransportCapabilities {
        /// It streams.
        streaming = "streaming",
        /// By WebSocket.
        websocket = "websocket",
        /// By HTTP with binary frames.
        http_binary = "httpBinary",
        /// It can push.
        push_notifications = "pushNotifications",
        /// A stream can be resumed.
        resumable = "resumable",
    }
}

wire_struct! {
    /// An agent's tools.
    pub struct ToolsCapabilities {
        /// It calls tools.
        opt supported: bool = "supported",
        /// Its own tools.
        list items: Tool = "items",
        /// It makes several calls at once.
        opt parallel_calls: bool = "parallelCalls",
        /// It calls tools of the application.
        opt client_provided: bool = "clientProvided",
    }
}

wire_struct! {
    /// What an agent puts out.
    pub struct OutputCapabilities {
        /// Output by a schema.
        opt structured_output: bool = "structuredOutput",
        /// Media types.
        list supported_mime_types: String = "supportedMimeTypes",
    }
}

flags! {
    /// What an agent does with state.
    pub struct StateCapabilities {
        /// It sends snapshots.
        snapshots = "snapshots",
        /// It sends deltas.
        deltas = "deltas",
        /// It remembers across runs.
        memory = "memory",
        /// Its state outlives its process.
        persistent_state = "persistentState",
    }
}

wire_struct! {
    /// Whether an agent works with other agents.
    pub struct MultiAgentCapabilities {
        /// It does.
        opt supported: bool = "supported",
        /// It delegates.
        opt delegation: bool = "delegation",
        /// It hands over.
        opt handoffs: bool = "handoffs",
        /// To whom.
        list subagents: SubagentInfo = "subagents",
    }
}

wire_struct! {
    /// A subagent.
    pub struct SubagentInfo {
        /// Its name.
        req name: String = "name",
        /// What it does.
        opt description: String = "description",
    }
}

flags! {
    /// Whether an agent shows its reasoning.
    pub struct ReasoningCapabilities {
        /// It does.
        supported = "supported",
        /// As it goes.
        streaming = "streaming",
        /// Sealed.
        encrypted = "encrypted",
    }
}

wire_struct! {
    /// Which media an agent takes and gives.
    pub struct MultimodalCapabilities {
        /// What it takes.
        opt input: MultimodalInputCapabilities = "input",
        /// What it gives.
        opt output: MultimodalOutputCapabilities = "output",
    }
}

flags! {
    /// Which media an agent takes.
    pub struct MultimodalInputCapabilities {
        /// Images.
        image = "image",
        /// Sound.
        audio = "audio",
        /// Moving images.
        video = "video",
        /// PDF.
        pdf = "pdf",
        /// Other files.
        file = "file",
    }
}

flags! {
    /// Which media an agent gives.
    pub struct MultimodalOutputCapabilities {
        /// Images.
        image = "image",
        /// Sound.
        audio = "audio",
    }
}

wire_struct! {
    /// What an agent executes.
    pub struct ExecutionCapabilities {
        /// It runs code.
        opt code_execution: bool = "codeExecution",
        /// Apart from everything else.
        opt sandboxed: bool = "sandboxed",
        /// Most iterations.
        opt max_iterations: u64 = "maxIterations",
        /// Longest execution; the protocol leaves the unit to the agent.
        opt max_execution_time: u64 = "maxExecutionTime",
    }
}

flags! {
    /// How people take part.
    pub struct HumanInTheLoopCapabilities {
        /// They can.
        supported = "supported",
        /// They approve.
        approvals = "approvals",
        /// They step in.
        interventions = "interventions",
        /// They give feedback.
        feedback = "feedback",
        /// Runs stop to ask.
        interrupts = "interrupts",
        /// They approve with changes.
        approve_with_edits = "approveWithEdits",
    }
}

wire_object! {
    AgentCapabilities IdentityCapabilities TransportCapabilities ToolsCapabilities OutputCapabilities StateCapabilities
    MultiAgentCapabilities SubagentInfo ReasoningCapabilities MultimodalCapabilities MultimodalInputCapabilities
    MultimodalOutputCapabilities ExecutionCapabilities HumanInTheLoopCapabilities
}
