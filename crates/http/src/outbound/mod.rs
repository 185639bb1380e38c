//! Requests to addresses that others choose (creators' endpoints, metadata documents).
//!
//! Such a request must not reach the service's own network. A name is resolved by [`names`], refused if *any* of
//! its addresses is special-use, and connected to at exactly the addresses that were checked. No redirect is
//! followed and no proxy used. Literal addresses in a URL never pass a resolver, so [`OutboundPolicy::check_url`]
//! must be called for every URL; it also demands https and an allowed port. [`Outbound::check_reachable`] says
//! before a request whether it could be made.

mod addresses;
mod names;
mod policy;

use std::{fmt, sync::Arc, time::Duration};

use reqwest::{Client, redirect};
use url::{Host, Url};

use self::names::{Names, PATIENCE, system_lookup};

pub use self::{
    addresses::is_public,
    policy::{OutboundError, OutboundPolicy},
};

/// A connection that was idle for longer is not used again. Common servers close it after two to five seconds, and a request
/// that is sent at that moment is lost; a firewall may have forgotten it, and the request would wait until its time is over.
const KEEP_IDLE: Duration = Duration::from_secs(1);

/// A policy and the names that were resolved under it. Cheap to clone.
#[derive(Clone)]
pub struct Outbound {
    policy: OutboundPolicy,
    names: Names,
}

impl Outbound {
    pub fn new(policy: OutboundPolicy) -> Self {
        Self { policy, names: Names::new(policy, system_lookup(policy), PATIENCE) }
    }

    pub const fn policy(&self) -> OutboundPolicy {
        self.policy
    }

    /// A client under the policy. `timeout` bounds the whole request, from connecting to the last byte.
    pub fn client(&self, timeout: Duration) -> reqwest::Result<Client> {
        Client::builder()
            .dns_resolver(Arc::new(self.names.clone()))
            .redirect(redirect::Policy::none())
            .referer(false)
            .no_proxy()
            .https_only(!self.policy.allow_insecure)
            .connect_timeout(timeout.min(Duration::from_secs(5)))
            .timeout(timeout)
            .pool_idle_timeout(KEEP_IDLE)
            .user_agent(concat!("crtx/", env!("CARGO_PKG_VERSION")))
            .build()
    }

    /// Whether a request to this URL could be made now: the policy allows the URL, and its name has addresses
    /// that the policy allows too. Takes a few seconds at most; repeated questions are answered from memory.
    pub async fn check_reachable(&self, text: &str) -> Result<Url, OutboundError> {
        let url = self.policy.check_url(text)?;
        if let Some(Host::Domain(name)) = url.host() {
            self.names.addresses(name).await?;
        }
        Ok(url)
    }
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound").field("policy", &self.policy).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_literal_address_is_reachable_without_a_resolver() {
        let local = Outbound::new(OutboundPolicy::LOCAL);
        assert!(local.check_reachable("http://127.0.0.1:9/execute").await.is_ok());
        let strict = Outbound::new(OutboundPolicy::STRICT);
        assert!(strict.check_reachable("https://8.8.8.8/").await.is_ok());
        assert!(strict.check_reachable("https://10.0.0.1/").await.is_err());
    }

    #[tokio::test]
    async fn a_name_that_leads_home_is_not_connected_to() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let client = Outbound::new(OutboundPolicy::STRICT).client(Duration::from_secs(2)).expect("client");
        assert!(client.get(format!("https://localhost:{port}/")).send().await.is_err());
        let nobody_came = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
        assert!(nobody_came.is_err(), "a connection was made");
    }
}
