//! Questions that stand open, and answers.

use super::fields::text;
use super::message::{content, read_any_part};
use super::{Build, Node};
use super::{Fields, ImportError, Place, object};
use crate::host_input::{Choice, Field, Form, HostAnswer, Prompt, Question, Questionnaire, Refusal, Shape};
use crate::id::RequestId;
use crate::text::Text;
use crate::tool::ToolOutput;
use alloc::boxed::Box;
use alloc::vec::Vec;

const REFUSALS: [Refusal; 2] = [Refusal::Declined, Refusal::Dismissed];

pub(crate) fn question(question: &Question) -> Node {
    Build::new()
        .maybe("id", question.id.as_ref().map(|id| Node::text(id.text())))
        .with("form", form(&question.form))
        .span("timeout_us", question.timeout)
        .maybe("fallback", question.fallback.as_ref().map(answer))
        .flag("secret", question.secret)
        .end()
}

/// A question that could be asked; its size is the affair of the bounds on the whole value.
pub(crate) fn read_question(node: &Node, place: &Place<'_>) -> Result<Question, ImportError> {
    let question = read_any_question(node, place)?;
    question.check(u64::MAX, u64::MAX).map_err(|error| place.error(error))?;
    Ok(question)
}

/// A question as a tool has given it, whether or not it can be asked.
pub(crate) fn read_any_question(node: &Node, place: &Place<'_>) -> Result<Question, ImportError> {
    object(node, place, |fields| {
        let id = fields.maybe("id", |node, place| {
            RequestId::new(text(node, place)?).map_err(|error| place.error(error))
        })?;
        let mut question = Question::new(fields.need("form", read_form)?);
        question.id = id;
        question.timeout = fields.span("timeout_us")?;
        question.fallback = fields.maybe("fallback", read_answer)?;
        question.secret = fields.flag("secret")?;
        Ok(question)
    })
}

fn form(form: &Form) -> Node {
    match form {
        Form::Questionnaire(questionnaire) => Build::of("questionnaire")
            .text("title", &questionnaire.title)
            .with("prompts", Node::list(&questionnaire.prompts, prompt))
            .end(),
        Form::Value { prompt, shape } => {
            Build::of("value").text("prompt", prompt).with("shape", of_shape(shape)).end()
        }
    }
}

fn read_form(node: &Node, place: &Place<'_>) -> Result<Form, ImportError> {
    object(node, place, |fields| {
        let questionnaire = fields.one_of("type", "form", |name| match name {
            "questionnaire" => Some(true),
            "value" => Some(false),
            _ => None,
        })?;
        if questionnaire {
            let (title, prompts) = (fields.text("title")?, fields.list("prompts", read_prompt)?);
            return Ok(Form::Questionnaire(Questionnaire { title, prompts }));
        }
        Ok(Form::Value { prompt: fields.text("prompt")?, shape: fields.need("shape", read_shape)? })
    })
}

fn prompt(prompt: &Prompt) -> Node {
    let choice =
        |choice: &Choice| Build::new().text("value", &choice.value).text("label", &choice.label).end();
    Build::new()
        .text("id", &prompt.id)
        .text("text", &prompt.text)
        .with("choices", Node::list(&prompt.choices, choice))
        .flag("several", prompt.several)
        .flag("other", prompt.other)
        .flag("required", prompt.required)
        .end()
}

fn read_prompt(node: &Node, place: &Place<'_>) -> Result<Prompt, ImportError> {
    object(node, place, |fields| {
        let mut prompt = Prompt::new(fields.text("id")?, fields.text("text")?);
        prompt.choices = fields.list("choices", |node, place| {
            object(node, place, |fields| {
                Ok(Choice { value: fields.text("value")?, label: fields.text("label")? })
            })
        })?;
        prompt.several = fields.flag("several")?;
        prompt.other = fields.flag("other")?;
        prompt.required = fields.flag("required")?;
        Ok(prompt)
    })
}

fn of_shape(shape: &Shape) -> Node {
    match shape {
        Shape::Any => Build::of("any"),
        Shape::Boolean => Build::of("boolean"),
        Shape::Number => Build::of("number"),
        Shape::Integer => Build::of("integer"),
        Shape::Text => Build::of("text"),
        Shape::OneOf(values) => Build::of("one_of").with("values", Node::list(values, Node::text)),
        Shape::List(item) => Build::of("list").with("item", of_shape(item)),
        Shape::Object(fields) => Build::of("object").with(
            "fields",
            Node::list(fields, |field| {
                Build::new()
                    .text("name", &field.name)
                    .with("shape", of_shape(&field.shape))
                    .flag("required", field.required)
                    .end()
            }),
        ),
    }
    .end()
}

fn read_shape(node: &Node, place: &Place<'_>) -> Result<Shape, ImportError> {
    object(node, place, |fields| {
        let read = fields.one_of("type", "shape", |name| {
            let read: fn(&mut Fields<'_>) -> Result<Shape, ImportError> = match name {
                "any" => |_| Ok(Shape::Any),
                "boolean" => |_| Ok(Shape::Boolean),
                "number" => |_| Ok(Shape::Number),
                "integer" => |_| Ok(Shape::Integer),
                "text" => |_| Ok(Shape::Text),
                "one_of" => |fields| fields.list("values", text).map(Shape::OneOf),
                "list" => |fields| Ok(Shape::List(Box::new(fields.need("item", read_shape)?))),
                "object" => |fields| fields.list("fields", read_field).map(Shape::Object),
                _ => return None,
            };
            Some(read)
        })?;
        read(fields)
    })
}

fn read_field(node: &Node, place: &Place<'_>) -> Result<Field, ImportError> {
    object(node, place, |fields| {
        let (name, shape) = (fields.text("name")?, fields.need("shape", read_shape)?);
        Ok(Field { name, shape, required: fields.flag("required")? })
    })
}

pub(crate) fn answer(answer: &HostAnswer) -> Node {
    match answer {
        HostAnswer::Allow { remember, arguments } => Build::of("allow")
            .flag("remember", *remember)
            .maybe("arguments", arguments.as_ref().map(Node::text)),
        HostAnswer::Deny { reason } => Build::of("deny").text("reason", reason),
        HostAnswer::Choices(choices) => Build::of("choices").with(
            "choices",
            Node::list(choices.iter(), |(id, values)| {
                Build::new().text("id", id).with("values", Node::list(values.iter(), Node::text)).end()
            }),
        ),
        HostAnswer::Value(value) => Build::of("value").text("value", value),
        HostAnswer::Result(output) => {
            Build::of("result").flag("is_error", output.is_error).with("content", content(&output.content))
        }
        HostAnswer::Refused(refusal) => Build::of("refused").name("refusal", refusal.as_str()),
    }
    .end()
}

pub(crate) fn read_answer(node: &Node, place: &Place<'_>) -> Result<HostAnswer, ImportError> {
    object(node, place, |fields| {
        let read = fields.one_of("type", "kind of answer", |name| {
            let read: fn(&mut Fields<'_>) -> Result<HostAnswer, ImportError> = match name {
                "allow" => |fields| {
                    let remember = fields.flag("remember")?;
                    Ok(HostAnswer::Allow { remember, arguments: fields.maybe("arguments", text)? })
                },
                "deny" => |fields| Ok(HostAnswer::Deny { reason: fields.text("reason")? }),
                "choices" => read_choices,
                "value" => |fields| fields.text("value").map(HostAnswer::Value),
                "result" => |fields| {
                    let is_error = fields.flag("is_error")?;
                    let content = fields.list("content", read_any_part)?.into();
                    Ok(HostAnswer::Result(ToolOutput { content, is_error }))
                },
                "refused" => |fields| read_refusal(fields).map(HostAnswer::Refused),
                _ => return None,
            };
            Some(read)
        })?;
        read(fields)
    })
}

fn read_choices(fields: &mut Fields<'_>) -> Result<HostAnswer, ImportError> {
    let choices: Vec<_> = fields.list("choices", |node, place| {
        object(node, place, |fields| {
            let values: Vec<Text> = fields.list("values", text)?;
            Ok((fields.text("id")?, values.into()))
        })
    })?;
    Ok(HostAnswer::Choices(choices.into()))
}

pub(crate) fn read_refusal(fields: &mut Fields<'_>) -> Result<Refusal, ImportError> {
    let known = |name: &str| REFUSALS.into_iter().find(|refusal| refusal.as_str() == name);
    fields.one_of("refusal", "refusal", known)
}
