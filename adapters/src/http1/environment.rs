//! The environment variables by which users configure proxies and certificates.

use super::no_proxy::NoProxy;
use super::proxy::{Proxies, Proxy};
use super::tls::Authorities;
use crate::http::{HttpError, HttpErrorText};

type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

pub(super) fn apply(
    variable: Variable<'_>,
    proxies: &mut Proxies,
    authorities: &mut Authorities,
) -> Result<(), HttpError> {
    let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    let either = |lower: &str| {
        let upper = lower.to_ascii_uppercase();
        // Under CGI this variable is the request's `Proxy` header, which its sender chooses.
        let foreign = lower == "http_proxy" && variable("REQUEST_METHOD").is_some();
        set(lower).or_else(|| set(&upper).filter(|_| !foreign))
    };
    if let Some(proxy) = either("http_proxy").or_else(|| either("all_proxy")) {
        proxies.http = Some(Proxy::parse(&proxy).map_err(|_| unusable("http_proxy"))?);
    }
    if let Some(proxy) = either("https_proxy").or_else(|| either("all_proxy")) {
        proxies.https = Some(Proxy::parse(&proxy).map_err(|_| unusable("https_proxy"))?);
    }
    if let Some(list) = either("no_proxy") {
        proxies.none_for = NoProxy::parse(&list);
    }
    if let Some(path) = set("SSL_CERT_FILE") {
        let pem = std::fs::read(path).map_err(|_| unusable("SSL_CERT_FILE"))?;
        let mut bundle = Authorities::none();
        bundle.add_usable(&pem).map_err(|_| unusable("SSL_CERT_FILE"))?;
        *authorities = bundle;
    }
    Ok(())
}

fn unusable(name: &str) -> HttpError {
    let text = match name {
        "SSL_CERT_FILE" => "SSL_CERT_FILE names no readable file with a usable certificate".to_owned(),
        name => format!("{name} or all_proxy is not the URL of an HTTP proxy"),
    };
    HttpError::InvalidConfiguration(HttpErrorText::new(text))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn proxies_from(variables: &[(&str, &str)]) -> Result<String, HttpError> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let mut proxies = Proxies::default();
        apply(&variable, &mut proxies, &mut Authorities::none())?;
        let shown =
            |proxy: &Option<Proxy>| proxy.as_ref().map_or("none".to_owned(), |proxy| format!("{proxy:?}"));
        Ok(format!("{} {}", shown(&proxies.http), shown(&proxies.https)))
    }

    #[test]
    fn proxies_follow_the_conventions() {
        for (variables, expected) in [
            (&[][..], "none none"),
            (&[("HTTP_PROXY", "http://upper:1")], "upper:1 none"),
            (&[("HTTP_PROXY", "http://upper:1"), ("http_proxy", "http://lower:1")], "lower:1 none"),
            (&[("HTTP_PROXY", "http://upper:1"), ("REQUEST_METHOD", "GET")], "none none"),
            (&[("http_proxy", "http://lower:1"), ("REQUEST_METHOD", "GET")], "lower:1 none"),
            (&[("HTTPS_PROXY", "http://secure:1"), ("http_proxy", " ")], "none secure:1"),
            (&[("ALL_PROXY", "http://all:1"), ("https_proxy", "http://secure:1")], "all:1 secure:1"),
        ] {
            assert_eq!(proxies_from(variables).unwrap(), expected);
        }
    }

    #[test]
    fn an_unusable_variable_is_named_without_its_value() {
        for (name, value) in [("HTTPS_PROXY", "socks5://u:canary@h"), ("SSL_CERT_FILE", "/no/such/canary")] {
            let error = proxies_from(&[(name, value)]).unwrap_err();
            let text = format!("{error} {error:?}");
            assert!(!text.contains("canary"), "{text}");
            assert!(text.to_ascii_uppercase().contains(name), "{text}");
        }
    }
}
