//! A certificate made on the spot, and TLS that accepts it.
//!
//! The two ends are a measuring program on a link of its own. The peer is not authenticated, and
//! nothing else should use this.

use std::sync::Arc;

use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::rustls;
use quinn_proto::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use quinn_proto::rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use quinn_proto::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use quinn_proto::rustls::{DigitallySignedStruct, SignatureScheme};

/// The server name that the client asks for.
pub(crate) const NAME: &str = "bentpipe";
const PROTOCOL: &[u8] = b"bentpipe";

/// TLS failed to start.
#[derive(Debug)]
pub struct TlsError(String);

impl std::error::Error for TlsError {}

impl std::fmt::Display for TlsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TLS cannot be set up: {}", self.0)
    }
}

fn failed(why: impl std::fmt::Display) -> TlsError {
    TlsError(why.to_string())
}

/// A server with a certificate that nobody knows.
///
/// # Errors
/// No randomness for a key.
pub(crate) fn server() -> Result<Arc<QuicServerConfig>, TlsError> {
    // Ed25519 signatures all have one length, so a handshake takes the same bytes every time.
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).map_err(failed)?;
    let mut params = rcgen::CertificateParams::new([NAME.to_owned()]).map_err(failed)?;
    params.serial_number = Some(1_u64.into());
    let certificate = params.self_signed(&key).map_err(failed)?;
    let private = PrivatePkcs8KeyDer::from(key.serialize_der());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(failed)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.into()], private.into())
        .map_err(failed)?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(Arc::new(QuicServerConfig::try_from(tls).map_err(failed)?))
}

/// A client that accepts any certificate that the server shows.
///
/// # Errors
/// Never with this provider.
pub(crate) fn client() -> Result<Arc<QuicClientConfig>, TlsError> {
    let mut tls = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(failed)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyPeer(provider())))
        .with_no_client_auth();
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(Arc::new(QuicClientConfig::try_from(tls).map_err(failed)?))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Checks that the peer holds the key of its certificate, and nothing more.
#[derive(Debug)]
struct AnyPeer(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyPeer {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("QUIC has no TLS 1.2".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
