//! A session that is compacted five times, after which what was said at its beginning still stands in the requests.
//!
//! Both models are functions: the one that answers looks into what it is sent for the facts, the one that summarizes
//! keeps each line that begins with `fact:`. The program needs no key and ends by itself.

use futures_lite::future::block_on;
use futures_lite::stream;
use runloom::{
    CompactionPolicy, Completion, Config, Engine, Event, Finish, Host, ManualTimer, Model, ModelContext,
    ModelItem, ModelRequest, ModelSpec, Part, Problem, RunOptions, Seq, Summarizer, Usage, model_fn,
};
use std::error::Error;
use std::sync::Arc;

const FACTS: [&str; 3] =
    ["fact: the cat is called Ada", "fact: the gate code is 4711", "fact: Tuesday is market day"];
const COMPACTIONS: usize = 5;

/// All text that a request holds.
fn text(request: &ModelRequest) -> String {
    let mut text = String::new();
    for part in request.history.iter().flat_map(|message| message.parts()) {
        if let Part::Text(piece) = part {
            text.push_str(piece);
            text.push('\n');
        }
    }
    text
}

fn says(answer: String, request: &ModelRequest) -> stream::Iter<std::vec::IntoIter<ModelItem>> {
    // What a provider with a prompt cache reports: a history that was rewritten is written to the cache anew.
    let tokens = text(request).len() as u64 / 4;
    let done = Completion::new(Some(Finish::Stop), "stop");
    let items = vec![
        ModelItem::Text(answer.into()),
        ModelItem::Usage(Box::new(Usage::new(tokens, 20))),
        ModelItem::Done(Box::new(done)),
    ];
    stream::iter(items)
}

/// Answers with how many of the facts it can see.
fn answering() -> impl Model {
    model_fn(|request: Arc<ModelRequest>, _: ModelContext| async move {
        let seen = text(&request);
        let known = FACTS.iter().filter(|fact| seen.contains(*fact)).count();
        Ok::<_, Problem>(says(format!("{known} of {} facts", FACTS.len()), &request))
    })
}

/// Keeps the facts, each once.
fn summarizing() -> impl Model {
    model_fn(|request: Arc<ModelRequest>, _: ModelContext| async move {
        let old = text(&request);
        let known: Vec<&str> = FACTS.iter().copied().filter(|fact| old.contains(fact)).collect();
        Ok::<_, Problem>(says(format!("They talked about the weather.\n{}", known.join("\n")), &request))
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let host = Host::shared()
        .model(ModelSpec::new("large"), answering())
        .compactor(Summarizer::new(ModelSpec::new("small"), summarizing()))
        .build()?;
    let config = Config::default().compaction(CompactionPolicy::at_tokens(600).keep_messages(4))?;
    let session = Engine::builder(host, ManualTimer::new()).config(config).build().session()?;

    let (mut compacted, mut turn, mut largest) = (0, 0, 0);
    let weather = "It rains, and then the sun comes out, and then it rains again. ".repeat(8);
    while compacted < COMPACTIONS && turn < 100 {
        let fact = FACTS.get(turn).copied().unwrap_or("nothing new");
        turn += 1;
        let said = format!("{fact}\n{weather}");
        let (run, driver) = session.start_with(said, RunOptions::new().unattended())?;
        let outcome = block_on(driver);
        let answer = outcome.answer().map(|answer| answer.text.clone()).ok_or("no answer")?;
        for envelope in run.handle().events_after(Seq(0), usize::MAX) {
            match envelope.event {
                Event::CompactionCompleted(done) => {
                    compacted += 1;
                    println!(
                        "turn {turn:2}: compacted to {} messages, about {} tokens, revision {}",
                        done.messages, done.estimated_context_tokens, done.revision
                    );
                }
                Event::StepStarted { estimated_context_tokens, .. } => {
                    largest = largest.max(estimated_context_tokens);
                }
                _ => {}
            }
        }
        let expected = format!("{} of {} facts", turn.min(FACTS.len()), FACTS.len());
        assert_eq!(answer.as_str(), expected, "turn {turn}");
    }
    println!(
        "{turn} turns, {compacted} compactions, {} messages, at most {largest} tokens",
        session.history().len()
    );
    assert_eq!(compacted, COMPACTIONS);
    Ok(())
}
