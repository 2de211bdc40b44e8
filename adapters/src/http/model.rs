//! A model behind HTTP: any codec over any client.

use super::{HttpClient, HttpError, HttpMethod, HttpRequest, HttpResponse, LocalHttpClient};
use crate::host::{CompactionContext, LocalModel, Model, ModelContext, NOT_NATIVE, read_summary};
use futures_core::Stream;
use runloom_core::compaction::{Compaction, CompactionFault, CompactionRequest, SummaryReader};
use runloom_core::model::{ModelItem, ModelRequest, Problem, ProblemKind};
use runloom_core::provider::answer::{Answer, Head};
use runloom_core::provider::{Codec, Secret, mask};
use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Where requests go, and with what. Its `Debug` shows no credential.
#[derive(Clone)]
pub struct Endpoint {
    base_url: String,
    key: Option<Secret>,
    headers: Vec<(String, String)>,
    wall_clock: Option<Arc<dyn Fn() -> u64 + Send + Sync>>,
}

impl Endpoint {
    /// An endpoint at `base_url`, as the provider's official clients take it: OpenAI's ends in `/v1`, Anthropic's is the
    /// host alone. A trailing slash does not matter.
    pub fn new(base_url: &str) -> Self {
        Self {
            base_url: base_url.trim_end_matches('/').to_owned(),
            key: None,
            headers: Vec::new(),
            wall_clock: None,
        }
    }

    /// With this API key. An empty one counts as none.
    #[must_use]
    pub fn key(mut self, key: impl Into<Secret>) -> Self {
        self.key = Some(key.into()).filter(|key| !key.expose().is_empty());
        self
    }

    /// With a further header. It replaces one of the codec's own, and one of the same name that was given before.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_ascii_lowercase(), value.to_owned()));
        self
    }

    /// With wall time in Unix seconds, which dates in `Retry-After` are measured against. Without it they are ignored.
    #[must_use]
    pub fn wall_clock(mut self, now: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.wall_clock = Some(Arc::new(now));
        self
    }
}

impl Endpoint {
    fn secrets(&self) -> Vec<Secret> {
        let mut secrets = Secret::in_url(&self.base_url);
        secrets.extend(self.key.clone());
        secrets.extend(self.headers.iter().flat_map(|(_, value)| Secret::in_header(value)));
        secrets
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("base_url", &super::HttpUrl::from(self.base_url.as_str()))
            .field("key", &self.key)
            .field("headers", &self.headers.len())
            .finish_non_exhaustive()
    }
}

/// A [`Model`] behind HTTP. Clones share everything.
///
/// A failed answer becomes a typed [`Problem`]. The body is read as it is consumed, so that
/// back-pressure reaches the provider; dropping the stream closes the connection. Nothing is retried here: that is
/// the run's part. Where the codec can have the provider shorten histories, so can the model. Key, values of further headers, and user and password of the URL are masked in every text that the
/// provider sends back as an error (M5).
#[derive(Clone, Debug)]
pub struct HttpModel<C, K> {
    inner: Arc<Inner<C, K>>,
}

/// As [`HttpModel`], for clients whose futures need not be `Send`.
#[derive(Clone, Debug)]
pub struct LocalHttpModel<C, K> {
    inner: Arc<Inner<C, K>>,
}

#[derive(Debug)]
struct Inner<C, K> {
    codec: Arc<C>,
    client: K,
    endpoint: Endpoint,
    /// All that a server might repeat and nobody is to see.
    secrets: Arc<[Secret]>,
}

impl<C, K> Inner<C, K> {
    fn new(codec: C, client: K, endpoint: Endpoint) -> Arc<Self> {
        let secrets = endpoint.secrets().into();
        Arc::new(Self { codec: Arc::new(codec), client, endpoint, secrets })
    }
}

impl<C, K> HttpModel<C, K> {
    /// A model that speaks `codec` over `client` to `endpoint`.
    pub fn new(codec: C, client: K, endpoint: Endpoint) -> Self {
        Self { inner: Inner::new(codec, client, endpoint) }
    }
}

impl<C, K> LocalHttpModel<C, K> {
    /// A model that speaks `codec` over `client` to `endpoint`.
    pub fn new(codec: C, client: K, endpoint: Endpoint) -> Self {
        Self { inner: Inner::new(codec, client, endpoint) }
    }
}

impl<C, K> Model for HttpModel<C, K>
where
    C: Codec + Send + Sync + 'static,
    C::Decoder: Send + Unpin + 'static,
    K: HttpClient + Send + Sync + 'static,
    K::Body: 'static,
{
    type Stream = HttpModelStream<K::Body, C>;

    async fn open(&self, request: Arc<ModelRequest>, _: ModelContext) -> Result<Self::Stream, Problem> {
        let http = self.inner.prepare(self.inner.codec.encode(&request)?)?;
        let response = HttpClient::send(&self.inner.client, http).await;
        let response = response.map_err(|error| self.inner.problem(&error))?;
        Ok(self.inner.receive(&request, response))
    }

    async fn compact(
        &self,
        request: Arc<CompactionRequest>,
        _: CompactionContext,
    ) -> Result<Compaction, CompactionFault> {
        let asked = request.head_request();
        let http = self.inner.prepare_compaction(&asked)?;
        let response = HttpClient::send(&self.inner.client, http).await;
        let response = response.map_err(|error| fault(self.inner.problem(&error)))?;
        self.inner.adopt(self.inner.receive(&asked, response), &request).await
    }
}

impl<C, K> LocalModel for LocalHttpModel<C, K>
where
    C: Codec + 'static,
    C::Decoder: Unpin + 'static,
    K: LocalHttpClient + 'static,
    K::Body: 'static,
{
    type Stream = HttpModelStream<K::Body, C>;

    async fn open(&self, request: Arc<ModelRequest>, _: ModelContext) -> Result<Self::Stream, Problem> {
        let http = self.inner.prepare(self.inner.codec.encode(&request)?)?;
        let response = LocalHttpClient::send(&self.inner.client, http).await;
        let response = response.map_err(|error| self.inner.problem(&error))?;
        Ok(self.inner.receive(&request, response))
    }

    async fn compact(
        &self,
        request: Arc<CompactionRequest>,
        _: CompactionContext,
    ) -> Result<Compaction, CompactionFault> {
        let asked = request.head_request();
        let http = self.inner.prepare_compaction(&asked)?;
        let response = LocalHttpClient::send(&self.inner.client, http).await;
        let response = response.map_err(|error| fault(self.inner.problem(&error)))?;
        self.inner.adopt(self.inner.receive(&asked, response), &request).await
    }
}

impl<C: Codec, K> Inner<C, K> {
    fn prepare(&self, body: Vec<u8>) -> Result<HttpRequest, Problem> {
        let url = format!("{}{}", self.endpoint.base_url, self.codec.path());
        let mut http = HttpRequest::new(HttpMethod::Post, url);
        let own = self.codec.headers(self.endpoint.key.as_ref());
        let own = own.iter().map(|header| (header.name(), header.value()));
        let further = self.endpoint.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in own.chain(further) {
            http.headers.set(name, value).map_err(|error| self.problem(&error))?;
        }
        http.body = body;
        Ok(http)
    }

    fn prepare_compaction(&self, asked: &ModelRequest) -> Result<HttpRequest, CompactionFault> {
        match self.codec.encode_compaction(asked) {
            None => Err(CompactionFault::new(NOT_NATIVE)),
            Some(body) => body.and_then(|body| self.prepare(body)).map_err(fault),
        }
    }

    /// Reads what the provider has made of the older messages.
    async fn adopt<B>(
        &self,
        answer: HttpModelStream<B, C>,
        request: &CompactionRequest,
    ) -> Result<Compaction, CompactionFault>
    where
        B: Stream<Item = Result<Vec<u8>, HttpError>>,
        C::Decoder: Unpin,
    {
        let summarized = read_summary(answer, SummaryReader::new(request.most_bytes)).await?;
        summarized.adopted(|context| self.codec.adopt(context))
    }

    fn problem(&self, error: &HttpError) -> Problem {
        let mut problem = problem_of(error);
        mask(&mut problem, &self.secrets);
        problem
    }

    fn receive<B>(&self, request: &ModelRequest, response: HttpResponse<B>) -> HttpModelStream<B, C> {
        let headers: Vec<(&str, &str)> = response.headers.iter().collect();
        let now_unix = self.endpoint.wall_clock.as_ref().map(|now| now());
        let head = Head { status: response.status, headers: &headers, now_unix };
        let answer = Answer::new(Arc::clone(&self.codec), request, Arc::clone(&self.secrets), head);
        HttpModelStream { body: Some(Box::pin(response.body)), answer, items: VecDeque::new() }
    }
}

fn fault(problem: Problem) -> CompactionFault {
    CompactionFault::new(problem.message)
}

fn problem_of(error: &HttpError) -> Problem {
    let kind = match error {
        HttpError::InvalidUrl(_) | HttpError::InvalidRequest(_) | HttpError::InvalidConfiguration(_) => {
            ProblemKind::InvalidRequest
        }
        HttpError::HeadTooLarge(_) => ProblemKind::InvalidResponse,
        // A certificate that is refused now is refused again.
        HttpError::Tls(_) => {
            return Problem::new(ProblemKind::Connection, &error.to_string()).retryable(Some(false));
        }
        _ => ProblemKind::Connection,
    };
    Problem::new(kind, &error.to_string())
}

/// The items of one answer, decoded as its body arrives.
pub struct HttpModelStream<B, C: Codec> {
    /// `None` once it has ended.
    body: Option<Pin<Box<B>>>,
    answer: Answer<C>,
    items: VecDeque<ModelItem>,
}

impl<B, C: Codec> fmt::Debug for HttpModelStream<B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpModelStream").field("answer", &self.answer).finish_non_exhaustive()
    }
}

impl<B, C> Stream for HttpModelStream<B, C>
where
    B: Stream<Item = Result<Vec<u8>, HttpError>>,
    C: Codec,
    C::Decoder: Unpin,
{
    type Item = ModelItem;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ModelItem>> {
        let this = self.get_mut();
        loop {
            if let Some(item) = this.items.pop_front() {
                return Poll::Ready(Some(item));
            }
            let Some(body) = &mut this.body else { return Poll::Ready(None) };
            let mut items = Vec::new();
            match body.as_mut().poll_next(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(bytes))) => this.answer.feed(&bytes, &mut items),
                Poll::Ready(Some(Err(error))) => this.answer.fail(broken(&error), &mut items),
                Poll::Ready(None) => this.answer.finish(&mut items),
            }
            if this.answer.is_ended() {
                // Closes the connection at once; nothing that follows would be read.
                this.body = None;
            }
            this.items.extend(items);
        }
    }
}

/// A body that broke off: the response was cut.
fn broken(error: &HttpError) -> Problem {
    match error {
        HttpError::Closed(_) => Problem::new(ProblemKind::Truncated, &error.to_string()),
        _ => problem_of(error),
    }
}
