//! Faults that tests plant into the consumer, one for each of its rules.

/// A fault.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Unknown material rejects the stream.
    UnknownIsFatal,
    /// A failure after a run's end changes nothing.
    LateErrorIsIgnored,
    /// A stream that ends inside a run is a success.
    TruncationIsSuccess,
    /// A later version of the producer goes unnoticed.
    VersionIsIgnored,
    /// A patch stays half applied.
    PatchIsNotAtomic,
    /// A patch that does not apply goes unnoticed.
    PatchFailureIsSilent,
    /// A snapshot of the state is merged.
    StateIsMerged,
    /// A run begins without the state of the last one.
    StateIsForgotten,
    /// A run begins without the messages of the last one.
    MessagesAreForgotten,
    /// A snapshot puts its messages into its own order.
    SnapshotReorders,
    /// A snapshot keeps what it does not hold.
    SnapshotKeepsAll,
    /// A snapshot drops activities and reasoning that it knows nothing of.
    SnapshotDropsForeign,
    /// An activity is replaced against its own word.
    ActivityAlwaysReplaces,
    /// An activity keeps its owner when it is replaced.
    ActivityKeepsOwner,
    /// The content of an activity becomes anything.
    ActivityIsAnything,
    /// A delta makes the activity that it names.
    ActivityDeltaCreates,
    /// The first word stands in metadata.
    MetadataFirstWins,
    /// Metadata is merged into the depth.
    MetadataRecurses,
    /// A call's metadata goes to its message.
    CallMetadataOnMessage,
    /// What is reopened begins anew.
    ReopeningReplaces,
    /// A sealed value keeps the type of the one before.
    SealedKeepsType,
    /// A sealed value for nobody goes unnoticed.
    SealedForNobodyIsSilent,
    /// A result does not become a message.
    ResultIsNoMessage,
    /// A call without a message gets none.
    CallNeedsMessage,
    /// Invocations stay active when their run fails.
    SubagentsSurviveErrors,
    /// Calls that were answered stay pending.
    AnsweredStaysPending,
}
