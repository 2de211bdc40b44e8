//! No secret and no raw payload is shown (M5).

use crate::hand::*;
use runloom_core::Input;
use runloom_core::config::Config;
use runloom_core::message::{Image, ImageData, Part, ProviderContext};
use runloom_core::model::{Activity, ModelItem, Problem, ProblemKind};
use runloom_core::tool::{ToolEnd, ToolFault, ToolItem};
use std::sync::Arc;

const CANARY: &str = "sk-canary-0123456789";

/// Everything that a host could print of a run.
fn printed(hand: &Hand) -> String {
    let mut all = format!("{:?} {:?} {:?}", hand.checked.run(), hand.outputs, hand.checked.inputs().len());
    (0..hand.events.len()).for_each(|at| all.push_str(&hand.json(at)));
    if let Some(outcome) = hand.checked.run().outcome() {
        all.push_str(&format!("{outcome:?}"));
        if let Err(ended) = (**outcome).clone().into_result() {
            all.push_str(&ended.to_string());
        }
    }
    all
}

// proves: M5, M6
#[test]
fn what_providers_and_tools_say_is_cleaned_before_it_is_shown() {
    let echo = format!("Incorrect key **{CANARY}**, header `Authorization:Bearer  canary-token`");
    let items = [
        ModelItem::Failed(Box::new(Problem::new(ProblemKind::Authentication, &echo))),
        ModelItem::Failed(Box::new(Problem::new(ProblemKind::InvalidResponse, &echo))),
        ModelItem::Failed(Box::new(Problem::new(ProblemKind::Server, &echo))),
        ModelItem::Activity(Box::new(Activity::WebSearch { detail: echo.as_str().into() })),
        ModelItem::Activity(Box::new(Activity::HostedTool {
            name: CANARY.into(),
            detail: echo.as_str().into(),
        })),
        ModelItem::Activity(Box::new(Activity::Diagnostic {
            name: "ok.a".into(),
            value: echo.as_str().into(),
        })),
    ];
    for item in items {
        let mut hand = Hand::begun(Config::default().fact_namespaces(["ok"]), []);
        hand.item(item);
        let printed = printed(&hand);
        assert!(!printed.contains("canary"), "{printed}");
    }
    let mut hand = Hand::begun(Config::default(), [shared("t").fatal()]);
    hand.calls(["t"]);
    let (_, op) = hand.tools()[0];
    hand.enter(op);
    let fault = ToolFault::new(&echo);
    hand.tool(op, ToolItem::Done(ToolEnd::Failed(Box::new(fault))));
    assert!(!printed(&hand).contains("canary"));
}

// proves: M5, M9
#[test]
fn opaque_material_and_signed_addresses_are_not_printed() {
    let context = ProviderContext { model: "m".into(), kind: "k".into(), payload: CANARY.into() };
    let url = format!("https://images.test/a.png?signature={CANARY}");
    let image = Image { media_type: "image/png".into(), data: ImageData::Url(url.as_str().into()) };
    let mut hand = Hand::new(Config::default(), []);
    hand.start.input.push(Part::Image(Arc::new(image)));
    let start = format!("{:?}", Input::Start(Box::new(hand.start.clone())));
    hand.begin();
    let item = ModelItem::Context(Arc::new(context));
    let input = format!("{:?}", Input::Model { op: hand.op(), item: item.clone() });
    hand.item(item);
    hand.text("a");
    hand.done(runloom_core::model::Finish::Stop);
    for printed in [start, input, printed(&hand)] {
        assert!(!printed.contains("canary"), "{printed}");
    }
}
