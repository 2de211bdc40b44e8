//! What events cost in allocations.

use crate::streams::events;
use allocation_counter::measure;
use runloom_core::agui::{Event, Mode, Verifier};

/// Events that continue what is open, in a run that has opened it.
const OPENS: &str =
    "start; sub a; text m by=a; call c in=m; reason x; span x; step s; text~ k by=b; call~ d tool=f";
const CONTINUES: &str =
    "say m; say m by=a; args c; args c by=a; think x; text~ k by=b delta=y; text~ delta=y; call~ d delta=y";

// proves: V3, V5
#[test]
fn continuing_events_allocate_nothing_in_the_verifier() {
    for mode in [Mode::SingleRun, Mode::Stream] {
        let mut verifier = Verifier::new(mode);
        events(OPENS).iter().for_each(|event| verifier.observe(event).unwrap());
        // An explicit event ends a chunk's item in its lane, so that each kind goes by itself.
        for event in events(CONTINUES) {
            let mut verifier = verifier.clone();
            let spent = measure(|| {
                for _ in 0..100 {
                    verifier.observe(&event).unwrap();
                }
            });
            // The first explicit event takes the lane's item out of its list; all others find none.
            assert!(spent.count_total <= 2, "{}: {} allocations", event.encode(), spent.count_total);
        }
    }
}

#[test]
fn encoding_into_a_used_buffer_allocates_nothing() {
    let all = events(
        "start; text m role=user; say m; /text m; call c in=m; args c; /call c; step s; /step s; finish",
    );
    let mut out = Vec::with_capacity(4096);
    let spent = measure(|| all.iter().for_each(|event| event.encode_into(&mut out)));
    assert_eq!(spent.count_total, 0);
}

#[test]
fn decoding_allocates_the_texts_and_nothing_else() {
    for (line, texts) in [
        (r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"hello"}"#, 2),
        (r#"{"messageId":"m","delta":"hello","type":"TEXT_MESSAGE_CONTENT"}"#, 2),
        (r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"}"#, 3),
        (r#"{"type":"STEP_FINISHED","stepName":"s"}"#, 1),
    ] {
        let spent = measure(|| drop(Event::decode(line).unwrap()));
        assert_eq!(spent.count_total, texts, "{line}");
    }
}

#[test]
fn events_are_small() {
    assert!(size_of::<Event>() <= 184, "{} bytes", size_of::<Event>());
}
