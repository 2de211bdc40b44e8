//! One attempt to get a model's answer, over a blocking socket: a codec fed by an exchange.

use crate::endpoint::BaseUrl;
use crate::http1::{Exchange, Received};
use runloom_core::model::{ModelItem, ModelRequest, Problem};
use runloom_core::provider::answer::{Answer, Head, connection_problem};
use runloom_core::provider::{Codec, Secret};
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use ureq_proto::http::HeaderMap;

/// A server, a codec for it, and a key.
#[derive(Debug)]
pub struct Endpoint<C> {
    /// The codec.
    pub codec: Arc<C>,
    /// The server.
    pub base_url: BaseUrl,
    /// The key, if one is needed.
    pub key: Option<Secret>,
}

/// An attempt under way; dropping it closes its connection.
pub struct Attempt<C: Codec> {
    exchange: Exchange,
    request: ModelRequest,
    /// There once its head has come.
    answer: Option<Answer<C>>,
}

impl<C: Codec> Endpoint<C> {
    /// Sends the request.
    ///
    /// # Errors
    ///
    /// The problem that ends the attempt.
    pub fn begin(&self, request: &ModelRequest) -> Result<Attempt<C>, Problem> {
        let (body, headers) = (self.codec.encode(request)?, self.codec.headers(self.key.as_ref()));
        let exchange = Exchange::post(&self.base_url, self.codec.path(), &headers, &body);
        let exchange = exchange.map_err(|error| self.lost(&error))?;
        Ok(Attempt { exchange, request: request.clone(), answer: None })
    }

    /// Waits at most so long and returns what came, in order; nothing if nothing came. After `Done` or `Failed` the
    /// attempt is over.
    pub fn wait(&self, attempt: &mut Attempt<C>, most: Duration) -> Vec<ModelItem> {
        let mut items = Vec::new();
        match (attempt.exchange.wait(most), &mut attempt.answer) {
            (Ok(Received::Nothing), _) => {}
            (Ok(Received::Head { status, headers }), answer) => {
                *answer = Some(self.answer(&attempt.request, status, &headers));
                items.push(ModelItem::Alive);
            }
            (Ok(Received::Body(piece)), Some(answer)) => answer.feed(&piece, &mut items),
            (Ok(Received::End), Some(answer)) => answer.finish(&mut items),
            (Ok(_), None) => {}
            (Err(error), Some(answer)) => answer.fail(self.lost(&error), &mut items),
            (Err(error), None) => items.push(ModelItem::Failed(Box::new(self.lost(&error)))),
        }
        items
    }

    fn answer(&self, request: &ModelRequest, status: u16, headers: &HeaderMap) -> Answer<C> {
        let headers: Vec<_> =
            headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect();
        let now_unix = SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs());
        let head = Head { status, headers: &headers, now_unix };
        Answer::new(Arc::clone(&self.codec), request, self.key.clone(), head)
    }

    fn lost(&self, error: &io::Error) -> Problem {
        connection_problem(&format!("{}: {error}", self.base_url), self.key.as_ref())
    }
}
