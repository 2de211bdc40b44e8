//! Background notices: a program tells the model between its steps what has happened meanwhile, and no answer is
//! committed before the program has said that there is nothing more.
//!
//! The model follows a script, so that the program needs no key and ends by itself.

use futures_lite::future::{block_on, zip};
use runloom::testing::ScriptedModel;
use runloom::{Boundary, BoundaryInputs, Engine, Host, ManualTimer, ModelSpec, Role, boundary_inputs};
use std::collections::VecDeque;
use std::error::Error;

/// What happens in the background, each after so many steps of the run.
const NOTICES: [(u32, &str); 2] =
    [(0, "The tests have begun."), (1, "The tests are done: 12 passed, 1 failed.")];

/// Answers the run's questions from a queue of notices. A notice leaves the queue only when it is committed.
async fn serve(mut questions: BoundaryInputs) -> usize {
    let mut pending: VecDeque<(u32, &str)> = NOTICES.into();
    let mut delivered = 0;
    while let Some(question) = questions.next().await {
        let (at, step) = (question.boundary(), question.step());
        let due = pending.front().filter(|(after, _)| *after <= step).copied();
        let committed = match due {
            Some((_, notice)) => question.respond(notice).await,
            None => question.nothing().await,
        };
        let told = due.map_or("nothing", |(_, notice)| notice);
        println!("{:18} after step {step}: {told}", at.as_str());
        if matches!(committed, Ok(true)) {
            pending.pop_front();
            delivered += 1;
        }
        if at == Boundary::BeforeCompletion && due.is_none() {
            // The hand-off: what comes from here on wakes a later run.
            break;
        }
    }
    // A run that has ended asks no more, and the source is removed before the next.
    delivered
}

fn main() -> Result<(), Box<dyn Error>> {
    let model = ScriptedModel::new([
        "I have started the tests; so far all is well.".into(),
        "One of 13 tests has failed.".into(),
    ]);
    let host = Host::shared().model(ModelSpec::new("scripted"), model).build()?;
    let session = Engine::new(host, ManualTimer::new()).session()?;
    let (source, questions) = boundary_inputs();
    session.set_boundary_inputs(source)?;

    let (run, driver) = session.start("Run the tests and tell me how they went.")?;
    let (outcome, delivered) = block_on(zip(driver, serve(questions)));
    session.set_boundary_inputs(None)?;
    drop(run);

    let answer = outcome.answer().map(|answer| answer.text.as_str()).unwrap_or_default();
    let boundary = session.history().iter().filter(|message| message.role() == Role::Boundary).count();
    println!("answer: {answer} ({delivered} notices, revision {})", session.revision());
    assert_eq!((answer, delivered, boundary), ("One of 13 tests has failed.", 2, 2));
    Ok(())
}
