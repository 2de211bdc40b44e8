//! From a request to the bytes of its head, and the codec in the state that awaits the response.

use super::proxy::{Proxy, Route};
use super::target::Target;
use crate::http::{HttpError, HttpErrorText, HttpHeaders, HttpRequest};
use ureq_proto::client::state::RecvResponse;
use ureq_proto::client::{Call, SendRequestResult};
use ureq_proto::http::{Method, Request};

/// Fields that describe the connection or the message's framing, which belong to the client.
const OWNED: [&str; 11] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A request ready to be sent: its bytes and the codec that reads the response.
pub(super) struct Message {
    pub(super) head: Vec<u8>,
    pub(super) body: Vec<u8>,
    pub(super) call: Call<RecvResponse>,
}

/// Encodes a request for an origin, or for a proxy that forwards it.
pub(super) fn request(request: HttpRequest, target: &Target, route: Route<'_>) -> Result<Message, HttpError> {
    let method = Method::from_bytes(request.method.as_str().as_bytes()).map_err(refused)?;
    let line = match route {
        Route::Forward(_) => {
            format!(
                "{method} {}://{}{} HTTP/1.1\r\n",
                target.scheme(),
                target.authority,
                target.path_and_query
            )
        }
        Route::Direct | Route::Tunnel(_) => format!("{method} {} HTTP/1.1\r\n", target.path_and_query),
    };
    let uri = format!("{}://{}/", target.scheme(), target.authority);
    let mut skeleton = Request::builder().method(&method).uri(uri).header("connection", "close");
    let announces = matches!(method, Method::POST | Method::PUT | Method::PATCH);
    if announces || !request.body.is_empty() {
        skeleton = skeleton.header("content-length", request.body.len());
    }
    let mut fields = vec![];
    write_fields(&mut fields, &request.headers, target.authorization.as_deref())?;
    if let Route::Forward(Proxy { authorization: Some(authorization), .. }) = route {
        write_field(&mut fields, "proxy-authorization", authorization);
    }
    let (head, call) = encode(skeleton.body(()).map_err(refused)?, &line, &fields, request.body.len())?;
    Ok(Message { head, body: request.body, call })
}

/// Encodes the request for a tunnel through a proxy.
pub(super) fn tunnel(target: &Target, proxy: &Proxy) -> Result<Message, HttpError> {
    let place = target.host_and_port();
    let line = format!("CONNECT {place} HTTP/1.1\r\n");
    let skeleton = Request::builder().method(Method::CONNECT).uri(place).body(()).map_err(refused)?;
    let mut fields = vec![];
    if let Some(authorization) = &proxy.authorization {
        write_field(&mut fields, "proxy-authorization", authorization);
    }
    let (head, call) = encode(skeleton, &line, &fields, 0)?;
    Ok(Message { head, body: Vec::new(), call })
}

/// Takes the codec through a request without the parts that may be secret, and puts those into its head.
///
/// The codec writes whatever it encodes to the `log` crate's trace level, and knows no absolute-form target. So it
/// decides the framing fields, and never sees the real target, the caller's fields, or the body.
fn encode(
    skeleton: Request<()>,
    line: &str,
    fields: &[u8],
    body_bytes: usize,
) -> Result<(Vec<u8>, Call<RecvResponse>), HttpError> {
    const FRAMING_BYTES: usize = 1024;
    let sends_body = body_bytes > 0;
    let mut call = Call::new(skeleton).map_err(refused)?.proceed();
    // The host stands in the request line and in its own field.
    let mut written = vec![0; FRAMING_BYTES + 2 * call.uri().to_string().len()];
    let used = call.write(&mut written).map_err(refused)?;
    let incomplete = || refused("the head could not be encoded");
    let (_, rest) = split_line(&written[..used]).ok_or_else(incomplete)?;
    let framing = rest.strip_suffix(b"\r\n").ok_or_else(incomplete)?;
    let head = [line.as_bytes(), framing, fields, b"\r\n"].concat();
    let call = match call.proceed().map_err(refused)? {
        Some(SendRequestResult::RecvResponse(call)) if !sends_body => call,
        Some(SendRequestResult::SendBody(mut call)) if sends_body => {
            call.consume_direct_write(body_bytes).map_err(refused)?;
            call.proceed().ok_or_else(incomplete)?
        }
        _ => return Err(incomplete()),
    };
    Ok((head, call))
}

fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")? + 2;
    Some(bytes.split_at(end))
}

fn write_fields(
    out: &mut Vec<u8>,
    headers: &HttpHeaders,
    authorization: Option<&str>,
) -> Result<(), HttpError> {
    for (name, value) in headers.iter() {
        if let Some(owned) = OWNED.iter().find(|owned| **owned == name) {
            return Err(refused(format_args!("the header {owned} belongs to the client")));
        }
        write_field(out, name, value);
    }
    if let Some(value) = authorization.filter(|_| headers.get("authorization").is_none()) {
        write_field(out, "authorization", value);
    }
    if headers.get("user-agent").is_none() {
        write_field(out, "user-agent", concat!("runloom/", env!("CARGO_PKG_VERSION")));
    }
    Ok(())
}

/// Writes one field. Names and values have been checked when they were put into [`HttpHeaders`].
fn write_field(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    // Characters up to U+00FF stand for one byte each.
    out.extend(value.chars().map(|character| u8::try_from(character).unwrap_or(b'?')));
    out.extend_from_slice(b"\r\n");
}

/// The codec's messages are fixed words and repeat nothing of the request: it has not seen the caller's fields.
fn refused(text: impl std::fmt::Display) -> HttpError {
    HttpError::InvalidRequest(HttpErrorText::new(text))
}
