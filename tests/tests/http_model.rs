//! A model behind HTTP, over a client that plays what it is told.
#![allow(clippy::unwrap_used)]

use futures_lite::stream::{self, Iter, StreamExt};
use runloom::core::provider::anthropic::Anthropic;
use runloom::http::{
    Endpoint, HttpClient, HttpError, HttpErrorText, HttpHeaders, HttpModel, HttpRequest, HttpResponse,
};
use runloom::{
    CancellationToken, History, Model, ModelContext, ModelItem, ModelRequest, ModelSpec, Problem, ProblemKind,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const KEY: &str = "sesame-canary-key";
const TEXT: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hé\"}}\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

type Piece = Result<Vec<u8>, HttpError>;
type Answer<H> = Result<(u16, H, Vec<Piece>), HttpError>;

/// Answers once with a status, headers and pieces, or fails.
#[derive(Clone)]
struct Played {
    answer: Arc<Mutex<Option<Answer<HttpHeaders>>>>,
    seen: Arc<Mutex<Vec<HttpRequest>>>,
}

impl Played {
    fn new(answer: Answer<&[(&str, &str)]>) -> Self {
        let answer = answer.map(|(status, fields, pieces)| {
            let mut headers = HttpHeaders::new();
            fields.iter().for_each(|(name, value)| headers.append(name, value).unwrap());
            (status, headers, pieces)
        });
        Self { answer: Arc::new(Mutex::new(Some(answer))), seen: Arc::default() }
    }
}

impl HttpClient for Played {
    type Body = Iter<std::vec::IntoIter<Piece>>;
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse<Self::Body>, HttpError> {
        self.seen.lock().unwrap().push(request);
        let (status, headers, pieces) = self.answer.lock().unwrap().take().expect("one request")?;
        Ok(HttpResponse::new(status, headers, stream::iter(pieces)))
    }
}

fn closed() -> HttpError {
    HttpError::Closed(HttpErrorText::new("the body ended early"))
}

fn open(client: &Played) -> Result<Vec<ModelItem>, Problem> {
    let endpoint =
        Endpoint::new("https://api.example/").key(KEY).header("X-Extra", "1").wall_clock(|| 784_111_700);
    assert!(!format!("{endpoint:?}").contains("sesame"));
    let model = HttpModel::new(Anthropic::new(), client.clone(), endpoint);
    let mut history = History::default();
    let id = runloom::MessageId::new("u").unwrap();
    let bounds = runloom::MessageBounds { parts: 1, text: 99, image: 0 };
    let parts = vec![runloom::Part::Text("hi".into())];
    history.push(runloom::Message::new(id, runloom::Role::User, parts, &bounds).unwrap()).unwrap();
    let request = Arc::new(ModelRequest::new(ModelSpec::new("claude"), history, []));
    let context = ModelContext::new(CancellationToken::new());
    futures_lite::future::block_on(async {
        let stream = Model::open(&model, request, context).await?;
        Ok(stream.collect().await)
    })
}

#[test]
fn a_stream_is_decoded_whatever_its_pieces() {
    for size in [1, 7, TEXT.len()] {
        let pieces = TEXT.as_bytes().chunks(size).map(|piece| Ok(piece.to_vec())).collect();
        let client = Played::new(Ok((200, &[], pieces)));
        let items = open(&client).unwrap();
        let text: String = items
            .iter()
            .filter_map(|item| if let ModelItem::Text(text) = item { Some(text.as_str()) } else { None })
            .collect();
        assert_eq!(text, "hé");
        assert!(matches!(items.last(), Some(ModelItem::Done(_))));
        let seen = client.seen.lock().unwrap();
        assert_eq!(seen[0].url.as_str(), "https://api.example/v1/messages");
        assert_eq!(seen[0].headers.get("x-api-key"), Some(KEY));
        assert_eq!(seen[0].headers.get("x-extra"), Some("1"));
        assert!(seen[0].body.starts_with(b"{"));
    }
}

// proves: M5, M6, R11
#[test]
fn a_failed_answer_is_a_typed_problem_without_the_key() {
    let body = format!(
        "{{\"type\":\"error\",\"error\":{{\"type\":\"overloaded_error\",\"message\":\"no room for {KEY}\"}}}}"
    );
    // The first piece is read, the break after it is forgiven.
    let pieces = vec![Ok(body.into_bytes()), Err(closed())];
    let date = [("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")];
    let items = open(&Played::new(Ok((529, &date, pieces)))).unwrap();
    let Some(ModelItem::Failed(problem)) = items.last() else { panic!("{items:?}") };
    assert_eq!((problem.kind, problem.status), (ProblemKind::Overloaded, Some(529)));
    assert_eq!(problem.retry_after, Some(Duration::from_secs(77)));
    assert!(!problem.message.contains("sesame"), "{}", problem.message);
}

// proves: M5, M8
#[test]
fn a_body_that_breaks_off_is_truncated_and_an_error_in_it_hides_the_key() {
    let half = TEXT.as_bytes()[..TEXT.len() / 2].to_vec();
    let items = open(&Played::new(Ok((200, &[], vec![Ok(half.clone()), Err(closed())])))).unwrap();
    assert!(matches!(items.last(), Some(ModelItem::Failed(p)) if p.kind == ProblemKind::Truncated));
    let items = open(&Played::new(Ok((200, &[], vec![Ok(half)])))).unwrap();
    assert!(matches!(items.last(), Some(ModelItem::Failed(p)) if p.kind == ProblemKind::Truncated));
    let error = format!(
        "event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"api_error\",\"message\":\"{KEY}\"}}}}\n\n"
    );
    let items = open(&Played::new(Ok((200, &[], vec![Ok(error.into_bytes())])))).unwrap();
    let Some(ModelItem::Failed(problem)) = items.last() else { panic!("{items:?}") };
    assert_eq!((problem.kind, problem.message.contains("sesame")), (ProblemKind::Server, false));
}

#[test]
fn a_connection_may_be_tried_again_and_a_certificate_may_not() {
    let connect = open(&Played::new(Err(HttpError::Connect(HttpErrorText::new("refused"))))).unwrap_err();
    assert!(connect.kind == ProblemKind::Connection && connect.is_retryable());
    let tls = open(&Played::new(Err(HttpError::Tls(HttpErrorText::new("unknown issuer"))))).unwrap_err();
    assert!(tls.kind == ProblemKind::Connection && !tls.is_retryable());
}
