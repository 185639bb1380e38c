//! The two ways to a service: each attack comes once directly and once through a proxy.

use anyhow::Result;

use super::Bystander;
use crate::http_proxy::HttpProxy;

/// A service as clients reach it.
pub struct Entrance {
    pub name: &'static str,
    pub base_url: String,
    proxy: Option<HttpProxy>,
}

impl Entrance {
    pub async fn both(base_url: &str) -> Result<[Self; 2]> {
        let proxy = HttpProxy::start(base_url.trim_start_matches("http://").parse()?).await?;
        Ok([
            Self { name: "directly", base_url: base_url.to_owned(), proxy: None },
            Self { name: "through a proxy", base_url: proxy.base_url(), proxy: Some(proxy) },
        ])
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        self.base_url.trim_start_matches("http://")
    }

    /// The same user of the service, who takes this way.
    pub fn bystander(&self, bystander: Bystander) -> Bystander {
        match &self.proxy {
            Some(proxy) => bystander.through(proxy),
            None => bystander,
        }
    }
}
