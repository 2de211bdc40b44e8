//! What `agent` and `chat` have in common: an engine with a model behind HTTP and a few tools, and its runs.

use crate::cli::{Options, SYSTEM_PROMPT};
use crate::endpoint::{Codecs, Target};
use crate::folder::Folder;
use crate::interrupt::Interrupt;
use crate::show::Shown;
use crate::tools;
use futures_lite::future;
use runloom::http::{Endpoint, HttpModel};
use runloom::smol::SmolTimer;
use runloom::smol::http::SmolHttpClient;
use runloom::{Engine, Host, HostBuilder, ModelSpec, Session, Shared, ToolSpecError, sleep, tool_fn};
use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// One session, and how its runs are shown.
#[derive(Debug)]
pub struct Assistant {
    session: Session<Shared, SmolTimer>,
    timer: SmolTimer,
    interrupt: Interrupt,
    json: bool,
    cancel_after: Option<Duration>,
    /// Keeps the embedded server running.
    _target: Target,
}

impl Assistant {
    /// A new session with the server and the tools that the options name.
    ///
    /// # Errors
    ///
    /// If a key is missing or the system does not give what is needed.
    pub fn new(options: &Options) -> Result<Self, Box<dyn Error>> {
        let interrupt = Interrupt::install()?;
        let target = Target::of(options)?;
        let timer = SmolTimer::new();
        let spec = ModelSpec::new(options.model.as_str()).system(SYSTEM_PROMPT);
        let (client, endpoint) = (client(&target)?, endpoint(&target));
        let host = match target.codec() {
            Codecs::Anthropic(codec) => Host::shared().model(spec, HttpModel::new(codec, client, endpoint)),
            Codecs::OpenAi(codec) => Host::shared().model(spec, HttpModel::new(codec, client, endpoint)),
        };
        let host = with_tools(host, &timer, options.folder.as_ref())?.build()?;
        let session = Engine::new(host, timer.clone()).session()?;
        let (json, cancel_after) = (options.json, options.cancel_after);
        Ok(Self { session, timer, interrupt, json, cancel_after, _target: target })
    }

    /// Runs one turn of the conversation: drives the run, shows its events, and cancels it when it is time.
    ///
    /// # Errors
    ///
    /// If the prompt is too long, or standard output fails; a run that fails is shown, and is no error here.
    pub async fn turn(&self, prompt: &str) -> Result<ExitCode, Box<dyn Error>> {
        let (mut run, driver) = self.session.start(prompt)?;
        let (id, token) = (run.id().clone(), run.cancellation_token());
        self.interrupt.set({
            let token = token.clone();
            move || token.cancel()
        });
        let shows = async {
            let mut shown = Shown::new(self.json);
            let mut events = run.events();
            while let Some(envelope) = events.next().await {
                shown.show(&id, &envelope)?;
            }
            Ok(shown.end(&*run.outcome().await)?)
        };
        let cancels = async {
            if let Some(after) = self.cancel_after {
                sleep(self.timer.clone(), after).await;
                token.cancel();
            }
        };
        let works = async {
            let _ = future::zip(driver, cancels).await;
            future::pending().await
        };
        // The shown end of the run ends the turn. Should showing fail, what is dropped here ends the run.
        let ended = future::or(shows, works).await;
        self.interrupt.clear();
        ended
    }
}

/// `add` always, the tools that read files only with a folder. None asks before it runs: none changes anything.
fn with_tools(
    host: HostBuilder<Shared>,
    timer: &SmolTimer,
    folder: Option<&Folder>,
) -> Result<HostBuilder<Shared>, ToolSpecError> {
    let timer = timer.clone();
    let host = host.tool(tool_fn(tools::add_spec()?, move |arguments, _| {
        let takes = sleep(timer.clone(), tools::ADDITION_TAKES);
        async move {
            takes.await;
            Ok(tools::add(&arguments))
        }
    }));
    let Some(folder) = folder else { return Ok(host) };
    let [list, read] = tools::folder_specs()?;
    let (listed, read_from) = (folder.clone(), folder.clone());
    // Small files on a local disk: not worth a thread.
    Ok(host
        .tool(tool_fn(list, move |arguments, _| future::ready(Ok(tools::list_dir(&listed, &arguments)))))
        .tool(tool_fn(read, move |arguments, _| future::ready(Ok(tools::read_file(&read_from, &arguments))))))
}

fn endpoint(target: &Target) -> Endpoint {
    let endpoint = Endpoint::new(target.base_url.as_str())
        .wall_clock(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()));
    match &target.key {
        Some(key) => endpoint.key(key.clone()),
        None => endpoint,
    }
}

/// A client that takes proxies and certificates from the environment, but reaches local servers without a proxy.
fn client(target: &Target) -> Result<SmolHttpClient, runloom::http::HttpError> {
    let client = SmolHttpClient::builder().environment()?;
    if target.base_url.is_local() { client.no_proxy("*").build() } else { client.build() }
}
