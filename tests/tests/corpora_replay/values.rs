//! Messages and ids: B*.

use crate::Rows;
use crate::hand::*;
use runloom_core::Input;
use runloom_core::config::Config;
use runloom_core::id::{IdError, MessageId};
use runloom_core::message::{Message, MessageBounds, MessageError, Part, Role};
use runloom_core::text::Text;

pub(crate) const OWN: Rows =
    &[("B02", a_message_is_bounded), ("B03", an_id_is_checked), ("B04", what_a_caller_keeps_changes_nothing)];

/// Text is measured encoded, without ids and roles; the bound of an input is 256 KiB.
fn a_message_is_bounded() {
    let limits = Config::default();
    let most = usize::try_from(limits.limits().input_bytes).unwrap();
    for (texts, fits) in [(4, true), (3, true)] {
        let mut hand = Hand::new(Config::default(), []).quick();
        hand.start.input = vec![Part::Text("x".repeat(most / 4).as_str().into()); texts];
        hand.begin();
        assert_eq!(hand.is_live(), fits);
    }
    let mut hand = Hand::new(Config::default(), []).quick();
    hand.start.input = vec![Part::Text("x".repeat(most / 4).as_str().into()); 4];
    hand.start.input.push(Part::Text("x".into()));
    let start = hand.start.clone();
    let misuse = hand.misuse(Input::Start(Box::new(start)));
    assert!(format!("{misuse:?}").contains("262144"), "{misuse:?}");
}

/// 1 to 256 encoded bytes without control characters; spaces are characters as any other.
fn an_id_is_checked() {
    assert_eq!(MessageId::new(""), Err(IdError::Empty));
    assert!(MessageId::new(" m").is_ok());
    assert!(MessageId::new("m".repeat(256).as_str()).is_ok());
    assert_eq!(MessageId::new("m".repeat(257).as_str()), Err(IdError::TooLong(257)));
}

fn what_a_caller_keeps_changes_nothing() {
    let mut own = String::from("{\"a\":1}, and some more text than fits inline");
    let text = Text::from(&own);
    let bounds = MessageBounds { parts: 4, text: 1_000, image: 0 };
    let id = || MessageId::new("m").unwrap();
    let message = Message::new(id(), Role::User, vec![Part::Text(text.clone())], &bounds).unwrap();
    own.replace_range(..1, "[");
    let mut copy = message.parts().to_vec();
    copy[0] = Part::Text("changed".into());
    let Part::Text(kept) = &message.parts()[0] else { panic!() };
    assert!(kept == &text && kept.starts_with('{'));
    assert_eq!(Message::new(id(), Role::User, Vec::new(), &bounds), Err(MessageError::Empty));
}
