//! The mutation table of the consumer: each fault, and the behaviour that shows it.

use crate::consumer::{CASES, holds};
use runloom_core::agui::consume::Fault;

/// Each fault and the case that must fail with it.
const FAULTS: [(Fault, &str); 26] = [
    (Fault::UnknownIsFatal, "an unknown member or event is told of and left out"),
    (Fault::LateErrorIsIgnored, "a failure after the end is a failure"),
    (Fault::TruncationIsSuccess, "a stream that ends in a run has no outcome"),
    (Fault::VersionIsIgnored, "a later version is served with a warning"),
    (Fault::PatchIsNotAtomic, "a patch applies whole or not at all, and says so"),
    (Fault::PatchFailureIsSilent, "a patch applies whole or not at all, and says so"),
    (Fault::StateIsMerged, "a snapshot of the state replaces all of it"),
    (Fault::StateIsForgotten, "runs of a stream share messages and state"),
    (Fault::MessagesAreForgotten, "runs of a stream share messages and state"),
    (Fault::SnapshotReorders, "a snapshot of messages replaces in place, appends, and drops"),
    (Fault::SnapshotKeepsAll, "a snapshot of messages replaces in place, appends, and drops"),
    (Fault::SnapshotDropsForeign, "a snapshot keeps activities and reasoning that it does not know"),
    (Fault::ActivityAlwaysReplaces, "an activity is replaced unless it says otherwise"),
    (Fault::ActivityKeepsOwner, "an activity that is replaced has its new owner and its old metadata"),
    (Fault::ActivityIsAnything, "the content of an activity stays an object"),
    (Fault::ActivityDeltaCreates, "a delta for no activity is skipped with a warning"),
    (Fault::MetadataFirstWins, "metadata is merged by key, and the last word stands"),
    (Fault::MetadataRecurses, "metadata is merged by key, and the last word stands"),
    (Fault::CallMetadataOnMessage, "a call's metadata is the call's"),
    (Fault::ReopeningReplaces, "a message that is opened again goes on"),
    (Fault::SealedKeepsType, "a sealed value is stored with its type, and a new one replaces both"),
    (Fault::SealedForNobodyIsSilent, "a sealed value for nobody is told of"),
    (Fault::ResultIsNoMessage, "a result is a message, and answers its call"),
    (Fault::CallNeedsMessage, "a call without a message gets one"),
    (Fault::SubagentsSurviveErrors, "invocations end with their run's failure"),
    (Fault::AnsweredStaysPending, "a result is a message, and answers its call"),
];

// proves: V11
#[test]
fn each_planted_fault_is_seen_by_the_case_that_the_table_names() {
    for (fault, name) in FAULTS {
        let case =
            CASES.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("there is no {name:?}"));
        assert!(holds(case, Some(fault)).is_err(), "{fault:?} goes unnoticed by {name:?}");
    }
}
