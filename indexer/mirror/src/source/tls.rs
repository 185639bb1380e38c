//! TLS of connections that are not made by the HTTP client.

use std::sync::Arc;

use rustls::{ClientConfig, crypto::aws_lc_rs};
use rustls_platform_verifier::BuilderVerifierExt;

/// The settings that the HTTP client uses: certificates that the machine trusts. The provider is named, because the
/// dependencies bring two, and `rustls` panics if it has to choose.
pub(super) fn config() -> Result<Arc<ClientConfig>, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let config = builder.with_safe_default_protocol_versions()?.with_platform_verifier()?.with_no_client_auth();
    Ok(Arc::new(config))
}
