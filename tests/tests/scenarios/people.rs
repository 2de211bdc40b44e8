//! What people and tools say to one another in a scenario: questions, shapes, answers.

use crate::words::{Words, number, span};
use runloom_core::host_input::{Field, HostAnswer, Prompt, Question, Refusal, Shape};
use runloom_core::id::RequestId;
use runloom_core::message::{Image, ImageData, Part};
use runloom_core::text::Text;
use runloom_core::tool::{Access, Resource, ToolOutput, ToolVisibility};
use std::sync::Arc;

/// `allow`, `always`, `edit JSON`, `edit_always JSON`, `deny REASON`, `value JSON`, `choose ID=VALUE,VALUE ...`,
/// `result TEXT`, `result_error TEXT`, `result_image BYTES`, `declined`, `dismissed`.
pub(crate) fn answer(words: &mut Words<'_>) -> HostAnswer {
    match words.next() {
        "allow" => HostAnswer::allow(),
        "always" => HostAnswer::allow_always(),
        "edit" => HostAnswer::allow_with(words.text()),
        "edit_always" => HostAnswer::Allow { remember: true, arguments: Some(words.text().into()) },
        "deny" => HostAnswer::deny(words.text()),
        "value" => HostAnswer::value(words.raw()),
        "choose" => {
            let mut chosen = Vec::new();
            while let Some((id, values)) = words.pair() {
                let values = values.split(',').filter(|value| !value.is_empty());
                chosen.push((id, values.collect::<Vec<_>>()));
            }
            HostAnswer::choices(chosen)
        }
        "result" => HostAnswer::Result(ToolOutput::text(words.text())),
        "result_error" => HostAnswer::Result(ToolOutput::error(words.text())),
        "result_image" => {
            let bytes = usize::try_from(number(words.next())).expect("a number that fits");
            let data = ImageData::Bytes(vec![0; bytes].into());
            let image = Part::Image(Arc::new(Image { media_type: "image/png".into(), data }));
            HostAnswer::Result(ToolOutput::parts(vec![image]))
        }
        "declined" => HostAnswer::Refused(Refusal::Declined),
        "dismissed" => HostAnswer::Refused(Refusal::Dismissed),
        other => panic!("{other:?} is no answer"),
    }
}

/// `[id=ID] [timeout=SPAN] [fallback=JSON] [secret=yes] [shape=SHAPE | prompts=PROMPTS] TEXT`; a text without a shape.
pub(crate) fn question(words: &mut Words<'_>) -> Question {
    let (mut id, mut timeout, mut fallback, mut secret) = (None, None, None, false);
    let (mut asked, mut prompts) = (Shape::Text, None);
    while let Some((name, value)) = words.pair() {
        match name {
            "id" => id = Some(RequestId::new(value).expect("an id")),
            "timeout" => timeout = Some(span(value)),
            "fallback" => fallback = Some(HostAnswer::value(value)),
            "secret" => secret = true,
            "shape" => asked = shape(value),
            "prompts" => prompts = Some(value.split(';').map(prompt).collect::<Vec<_>>()),
            other => panic!("a question has no {other:?}"),
        }
    }
    let mut question = match prompts {
        Some(prompts) => Question::questionnaire(words.text(), prompts),
        None => Question::value(words.text(), asked),
    };
    question = id.into_iter().fold(question, Question::id);
    question = timeout.into_iter().fold(question, Question::timeout);
    question = fallback.into_iter().fold(question, Question::fallback);
    if secret { question.secret() } else { question }
}

/// `ID`, `ID:VALUE,VALUE`; before the colon `?` optional, `*` several, `+` free text as well.
fn prompt(word: &str) -> Prompt {
    let (head, choices) = word.split_once(':').unwrap_or((word, ""));
    let id = head.trim_end_matches(['?', '*', '+']);
    let mut prompt = Prompt::new(id, format!("Which {id}?"));
    prompt = prompt.choices(choices.split(',').filter(|value| !value.is_empty()).map(|value| (value, "")));
    if head.contains('?') {
        prompt = prompt.optional();
    }
    if head.contains('*') {
        prompt = prompt.several();
    }
    if head.contains('+') { prompt.other() } else { prompt }
}

/// `any`, `boolean`, `number`, `integer`, `text`, `one_of(a,b)`, `list(SHAPE)`, `object(name:SHAPE,name?:SHAPE)`.
pub(crate) fn shape(word: &str) -> Shape {
    let inner = |name: &str| word.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    match word {
        "any" => Shape::Any,
        "boolean" => Shape::Boolean,
        "number" => Shape::Number,
        "integer" => Shape::Integer,
        "text" => Shape::Text,
        _ => {
            if let Some(item) = inner("list") {
                Shape::list(shape(item))
            } else if let Some(values) = inner("one_of") {
                Shape::one_of(values.split(',').filter(|value| !value.is_empty()))
            } else if let Some(fields) = inner("object") {
                Shape::object(fields.split(',').filter(|field| !field.is_empty()).map(field))
            } else {
                panic!("{word:?} is no shape")
            }
        }
    }
}

fn field(word: &str) -> Field {
    let (name, of) = word.split_once(':').expect("a field has a shape");
    Field { name: name.trim_end_matches('?').into(), shape: shape(of), required: !name.ends_with('?') }
}

/// `show=NAME,NAME` and `hide=NAME,NAME`.
pub(crate) fn visibility(words: &mut Words<'_>) -> ToolVisibility {
    let mut change = ToolVisibility::default();
    while let Some((name, value)) = words.pair() {
        let names: Vec<Text> = value.split(',').map(Text::new).collect();
        match name {
            "show" => change.show = names,
            "hide" => change.hide = names,
            other => panic!("visibility has no {other:?}"),
        }
    }
    change
}

/// What a call touches: `exclusive`, `shared`, or several of `reads=NAME`, `writes=NAME`, `reads_tree=NAME`,
/// `writes_tree=NAME`; none if the next word is another one.
pub(crate) fn access(words: &mut Words<'_>) -> Option<Access> {
    let mut resources = Vec::new();
    loop {
        let ahead = words.clone().next();
        let resource = match ahead.split_once('=') {
            None if ahead == "exclusive" || ahead == "shared" => {
                words.next();
                return Some(if ahead == "shared" { Access::Shared } else { Access::Exclusive });
            }
            Some(("reads", name)) => Resource::read(name),
            Some(("writes", name)) => Resource::write(name),
            Some(("reads_tree", name)) => Resource::read(name).tree(),
            Some(("writes_tree", name)) => Resource::write(name).tree(),
            _ => return (!resources.is_empty()).then(|| Access::to(resources)),
        };
        words.next();
        resources.push(resource);
    }
}
