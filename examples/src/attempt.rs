//! One attempt to get a model's answer, over a blocking socket: a codec fed by an exchange.

use crate::endpoint::BaseUrl;
use crate::http1::{Exchange, Received};
use runloom_core::model::{ModelItem, ModelRequest, Problem, ProblemKind};
use runloom_core::provider::{Codec, Decode, Secret};
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use ureq_proto::http::HeaderMap;

/// Most bytes of a failed response's body that are looked at.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// A server, a codec for it, and a key.
#[derive(Debug)]
pub struct Endpoint<C> {
    /// The codec.
    pub codec: C,
    /// The server.
    pub base_url: BaseUrl,
    /// The key, if one is needed.
    pub key: Option<Secret>,
}

/// An attempt under way; dropping it closes its connection.
pub struct Attempt<D> {
    exchange: Exchange,
    decoder: D,
    /// Status, header and what came of the body, if the server did not say yes.
    failed: Option<(u16, HeaderMap, Vec<u8>)>,
}

impl<C: Codec> Endpoint<C> {
    /// Sends the request.
    ///
    /// # Errors
    ///
    /// The problem that ends the attempt.
    pub fn begin(&self, request: &ModelRequest) -> Result<Attempt<C::Decoder>, Problem> {
        let (body, headers) = (self.codec.encode(request)?, self.codec.headers(self.key.as_ref()));
        let exchange = Exchange::post(&self.base_url, self.codec.path(), &headers, &body);
        let exchange = exchange.map_err(|error| self.lost(&error))?;
        Ok(Attempt { exchange, decoder: self.codec.decoder(request), failed: None })
    }

    /// Waits at most so long and returns what came, in order; nothing if nothing came. After `Done` or `Failed` the
    /// attempt is over.
    pub fn wait(&self, attempt: &mut Attempt<C::Decoder>, most: Duration) -> Vec<ModelItem> {
        let mut items = Vec::new();
        match attempt.exchange.wait(most) {
            Ok(Received::Nothing) => {}
            Ok(Received::Head { status: 200..=299, .. }) => items.push(ModelItem::Alive),
            Ok(Received::Head { status, headers }) => {
                attempt.failed = Some((status, headers, Vec::new()));
                items.push(ModelItem::Alive);
            }
            Ok(Received::Body(piece)) => match &mut attempt.failed {
                Some((.., body)) if body.len() + piece.len() > MAX_ERROR_BODY => {
                    items.extend(self.end(attempt))
                }
                Some((.., body)) => body.extend(piece),
                None => attempt.decoder.feed(&piece, &mut items),
            },
            Ok(Received::End) if attempt.failed.is_some() => items.extend(self.end(attempt)),
            Ok(Received::End) => attempt.decoder.finish(&mut items),
            Err(_) if attempt.failed.is_some() => items.extend(self.end(attempt)),
            Err(error) => items.push(ModelItem::Failed(Box::new(self.lost(&error)))),
        }
        items.iter_mut().for_each(|item| self.mask(item));
        items
    }

    /// What a response means whose status is not a success.
    fn end(&self, attempt: &mut Attempt<C::Decoder>) -> Option<ModelItem> {
        let (status, headers, body) = attempt.failed.take()?;
        let fields: Vec<_> =
            headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs());
        Some(ModelItem::Failed(Box::new(self.codec.error(status, &fields, &body, now))))
    }

    fn lost(&self, error: &io::Error) -> Problem {
        Problem::new(ProblemKind::Connection, &format!("{}: {error}", self.base_url))
    }

    /// Servers may repeat a key in what they say about it.
    fn mask(&self, item: &mut ModelItem) {
        if let (ModelItem::Failed(problem), Some(key)) = (item, &self.key) {
            problem.message = key.mask(&problem.message);
        }
    }
}
