//! The four programs of the text that agents were specified by, changed in the names of crate and modules, with
//! `main` run by a test.

mod flaky {
    use futures_lite::StreamExt;
    use runloom::agui::server::{Agent, Error, Result, RunContext, run};
    use runloom::agui::{Event, RunAgentInput, RunOutcome};

    struct Flaky;

    impl Agent for Flaky {
        type State = ();

        async fn run(&self, ctx: &mut RunContext<()>) -> Result<RunOutcome> {
            ctx.say("Looking that up.")?;
            Err(Error::agent("the weather service is down"))
        }
    }

    async fn main() {
        let events: Vec<Event> = run(Flaky, RunAgentInput::new("t", "r"))
            .map(|event| event.expect("the stream should not break"))
            .collect()
            .await;

        let Some(Event::RunError(error)) = events.last() else {
            panic!("a failed run ends in RUN_ERROR: {events:?}");
        };
        assert_eq!(error.message, "agent error: the weather service is down");
        assert_eq!(error.code.as_deref(), Some("AGENT_ERROR"));
    }

    // proves: V1, V2
    #[test]
    fn a_failed_run_ends_in_run_error() {
        smol::block_on(main());
    }
}

mod verification {
    use runloom::agui::server::{Error, Rule, RunContext};
    use runloom::agui::{Event, RunAgentInput};

    fn main() -> runloom::agui::server::Result<()> {
        let (mut ctx, _events) = RunContext::<()>::new(RunAgentInput::new("t", "r"))?;

        // Content for a message that was never started.
        let error = ctx
            .emit(Event::text_message_content("msg-1", "hello"))
            .expect_err("the verifier should reject this");

        let Error::Verification(failure) = &error else {
            panic!("expected a verification failure, got {error}");
        };
        assert_eq!(failure.rule, Rule::NotOpen);
        assert_eq!(error.code(), "PROTOCOL_VIOLATION");
        Ok(())
    }

    // proves: V2, V3
    #[test]
    fn a_raw_emit_is_verified() {
        main().unwrap();
    }
}

mod chatty {
    use futures_lite::StreamExt;
    use runloom::agui::server::{Agent, Result, RunContext, run};
    use runloom::agui::{Event, EventType, RunAgentInput, RunOutcome};

    struct Chatty;

    impl Agent for Chatty {
        type State = ();

        async fn run(&self, ctx: &mut RunContext<()>) -> Result<RunOutcome> {
            ctx.say("one")?;
            // Standing in for the transport noticing the client hung up.
            ctx.cancel_token().cancel();
            ctx.say("two")?; // fails, and `?` returns
            ctx.say("three")?;
            Ok(RunOutcome::Success)
        }
    }

    async fn main() {
        let events: Vec<Event> = run(Chatty, RunAgentInput::new("t", "r"))
            .map(|event| event.expect("the stream should not break"))
            .collect()
            .await;

        let said: Vec<&str> = events
            .iter()
            .filter_map(|event| match event {
                Event::TextMessageContent(content) => Some(content.delta.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(said, ["one"]);

        // The terminal event goes out regardless of the cancellation.
        assert_eq!(events.last().map(Event::event_type), Some(EventType::RunError));
        let Some(Event::RunError(error)) = events.last() else {
            panic!("{events:?}");
        };
        assert_eq!(error.code.as_deref(), Some("CANCELLED"));
    }

    // proves: V6, V8
    #[test]
    fn emits_fail_after_a_cancellation_and_the_end_goes_out() {
        smol::block_on(main());
    }
}

mod slow {
    use runloom::agui::server::{Agent, Error, Result, RunContext};
    use runloom::agui::{RunAgentInput, RunOutcome};

    #[allow(dead_code, reason = "the program shows it and does not run it")]
    struct Slow;

    impl Agent for Slow {
        type State = ();

        async fn run(&self, ctx: &mut RunContext<()>) -> Result<RunOutcome> {
            let reply = ctx.until_cancelled(call_the_model()).await.ok_or(Error::Cancelled)?;
            ctx.say(reply)?;

            Ok(RunOutcome::Success)
        }
    }

    #[allow(clippy::unused_async, reason = "a model is asked here")]
    async fn call_the_model() -> String {
        "the model's reply".to_owned()
    }

    async fn main() -> runloom::agui::server::Result<()> {
        let (ctx, _events) = RunContext::<()>::new(RunAgentInput::new("t", "r"))?;

        let answer = ctx.until_cancelled(call_the_model()).await;
        assert_eq!(answer.as_deref(), Some("the model's reply"));

        // A future that never resolves, against a token that has been tripped.
        ctx.cancel_token().cancel();
        let never = futures_lite::future::pending::<String>();
        assert!(ctx.until_cancelled(never).await.is_none());
        Ok(())
    }

    // proves: V6
    #[test]
    fn futures_race_against_the_cancellation() {
        smol::block_on(main()).unwrap();
    }
}
