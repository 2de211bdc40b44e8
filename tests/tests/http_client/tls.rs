//! Who is trusted, and what a broken secure connection is called.

use super::{Client, NAME, fetch, get, plain, post, send};
use crate::server::{Server, read_request, serve};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use runloom::http::HttpError;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};
use std::io::Write;
use std::sync::Arc;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A certificate authority of a test.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    fn server(&self, name: &str) -> Arc<ServerConfig> {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        Arc::new(config)
    }
}

/// As [`answer`](crate::server::answer), over TLS as `localhost`.
pub(crate) fn secure_answer(authority: &Authority, bytes: impl Into<Vec<u8>>) -> Server<String> {
    secure_server(authority.server("localhost"), bytes.into(), true)
}

/// Answers over TLS. A failed handshake gives the request as an empty text.
fn secure_server(config: Arc<ServerConfig>, bytes: Vec<u8>, says_goodbye: bool) -> Server<String> {
    serve(move |mut stream| {
        let mut session = ServerConnection::new(config).unwrap();
        if session.complete_io(&mut stream).is_err() {
            return String::new();
        }
        let mut secure = Stream::new(&mut session, &mut stream);
        let request = read_request(&mut secure);
        let _ = secure.write_all(&bytes);
        if says_goodbye {
            session.send_close_notify();
        }
        while session.wants_write() && session.write_tls(&mut stream).is_ok() {}
        request
    })
}

fn trusting(authority: &Authority) -> Client {
    Client::builder().trust_also(authority.pem().as_bytes()).unwrap().build().unwrap()
}

fn secure_url<T>(server: &Server<T>) -> String {
    format!("https://localhost:{}/", server.port)
}

#[test]
fn own_authority_is_trusted_when_told_so() {
    let authority = Authority::new();
    let server = secure_answer(&authority, OK);
    let request = post(secure_url(&server), "x".repeat(200_000));
    assert_eq!(fetch(&trusting(&authority), request).unwrap(), (200, b"ok".to_vec()));
    assert!(server.end().starts_with("POST / HTTP/1.1\r\nhost: localhost:"));
}

#[test]
fn addresses_are_verified_too() {
    let authority = Authority::new();
    let server = secure_server(authority.server("127.0.0.1"), OK.into(), true);
    let url = format!("https://127.0.0.1:{}/", server.port);
    assert_eq!(fetch(&trusting(&authority), get(url)).unwrap().0, 200);
    server.end();
}

#[test]
fn other_authorities_and_names_are_refused() {
    let (authority, other) = (Authority::new(), Authority::new());
    for (client, config) in [
        (plain(), authority.server("localhost")),
        (trusting(&other), authority.server("localhost")),
        (trusting(&authority), authority.server("elsewhere.example")),
    ] {
        let server = secure_server(config, OK.into(), true);
        let error = send(&client, get(secure_url(&server))).unwrap_err();
        assert!(matches!(error, HttpError::Tls(_)), "{error}");
        assert_eq!(server.end(), "", "nothing of a request may be sent");
    }
}

#[test]
fn the_file_of_the_environment_takes_the_place_of_the_built_in_authorities() {
    let authority = Authority::new();
    let path = std::env::temp_dir().join(format!("runloom-authorities-{NAME}-{}.pem", std::process::id()));
    std::fs::write(&path, authority.pem()).unwrap();
    let named = path.to_str().map(str::to_owned);
    let variable = |name: &str| named.clone().filter(|_| name == "SSL_CERT_FILE");
    let builder = Client::builder().environment_from(variable);
    std::fs::remove_file(&path).unwrap();
    let server = secure_answer(&authority, OK);
    let client = builder.unwrap().build().unwrap();
    assert_eq!(fetch(&client, get(secure_url(&server))).unwrap().0, 200);
    server.end();
}

/// Reads the first bytes of a handshake, sends these bytes, and closes; what the client says to that.
fn in_place_of_a_handshake(bytes: &'static [u8]) -> HttpError {
    let server = serve(move |mut stream| {
        std::io::Read::read(&mut stream, &mut [0; 4096]).unwrap();
        stream.write_all(bytes).unwrap();
    });
    let error = send(&plain(), get(secure_url(&server))).unwrap_err();
    server.end();
    error
}

#[test]
fn a_server_without_tls_is_a_tls_failure() {
    let error = in_place_of_a_handshake(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    assert!(matches!(error, HttpError::Tls(_)), "{error}");
}

/// It says nothing about certificates, and another try may fare better.
#[test]
fn a_handshake_that_breaks_off_is_a_closed_connection() {
    let error = in_place_of_a_handshake(b"");
    assert!(matches!(error, HttpError::Closed(_)), "{error}");
}

#[test]
fn a_body_up_to_the_end_needs_a_proper_end() {
    let authority = Authority::new();
    let open_ended = b"HTTP/1.1 200 OK\r\n\r\nall of it?".to_vec();
    let server = secure_server(authority.server("localhost"), open_ended.clone(), true);
    assert_eq!(fetch(&trusting(&authority), get(secure_url(&server))).unwrap().1, b"all of it?");
    server.end();
    // Without the TLS goodbye anyone on the way could have cut it.
    let server = secure_server(authority.server("localhost"), open_ended, false);
    let error = fetch(&trusting(&authority), get(secure_url(&server))).unwrap_err();
    assert!(matches!(error, HttpError::Closed(_)), "{error}");
    server.end();
}

#[test]
fn an_announced_body_needs_no_goodbye() {
    let authority = Authority::new();
    let server = secure_server(authority.server("localhost"), OK.into(), false);
    assert_eq!(fetch(&trusting(&authority), get(secure_url(&server))).unwrap().1, b"ok");
    server.end();
}

#[test]
fn trust_only_shuts_out_what_was_trusted_before() {
    let (authority, other) = (Authority::new(), Authority::new());
    let client = Client::builder()
        .trust_also(authority.pem().as_bytes())
        .unwrap()
        .trust_only(other.pem().as_bytes())
        .unwrap()
        .build()
        .unwrap();
    let server = secure_answer(&authority, OK);
    assert!(matches!(send(&client, get(secure_url(&server))), Err(HttpError::Tls(_))));
    server.end();
    let refused = Client::builder().trust_also(b"no certificate");
    assert!(matches!(refused, Err(HttpError::InvalidConfiguration(_))));
}
