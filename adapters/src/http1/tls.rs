//! Whom the client trusts, and the TLS configuration made of it.

use crate::http::{HttpError, HttpErrorText};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::fmt::Display;
use std::sync::Arc;

/// The certificate authorities that may vouch for a server.
pub(super) struct Authorities(RootCertStore);

impl Authorities {
    pub(super) fn none() -> Self {
        Self(RootCertStore::empty())
    }

    /// Mozilla's list, as compiled in.
    pub(super) fn built_in() -> Self {
        Self(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() })
    }

    /// Adds all certificates of a PEM text, or none if one of them cannot be used.
    pub(super) fn add(&mut self, pem: &[u8]) -> Result<(), HttpError> {
        let mut extended = self.0.clone();
        let before = extended.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            extended.add(certificate.map_err(refused)?).map_err(refused)?;
        }
        if extended.len() == before {
            return Err(refused("the text holds no certificate in PEM form"));
        }
        self.0 = extended;
        Ok(())
    }

    /// Adds what can be used of a PEM text. A system's bundle may hold certificates that the TLS library refuses.
    pub(super) fn add_usable(&mut self, pem: &[u8]) -> Result<(), HttpError> {
        let readable = CertificateDer::pem_slice_iter(pem).filter_map(Result::ok);
        let (added, _) = self.0.add_parsable_certificates(readable);
        if added == 0 {
            return Err(refused("the text holds no usable certificate in PEM form"));
        }
        Ok(())
    }

    pub(super) fn config(self) -> Result<Arc<ClientConfig>, HttpError> {
        // Named outright: a process-wide default would make this client depend on what else is linked.
        let provider = Arc::new(ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(refused)?
            .with_root_certificates(self.0)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

fn refused(text: impl Display) -> HttpError {
    HttpError::InvalidConfiguration(HttpErrorText::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_certificates_is_refused() {
        let broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for pem in [&b""[..], b"no certificate", broken] {
            let mut authorities = Authorities::none();
            assert!(matches!(authorities.add(pem), Err(HttpError::InvalidConfiguration(_))));
            assert!(matches!(authorities.add_usable(pem), Err(HttpError::InvalidConfiguration(_))));
        }
    }
}
