//! Values of single settings that have a form of their own.

use std::{fmt, str::FromStr, sync::Arc};

use crtx_chain::urls::MAX_NODES;
use crtx_protocol::cluster::Cluster;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use solana_keypair::Keypair;
use url::Url;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NetworkSetting {
    /// API keys begin with `crtx_test_`. Endpoints of this machine, without TLS, are called as well.
    Local,
    /// API keys begin with `crtx_test_`.
    Devnet,
    /// API keys begin with `crtx_live_`.
    Mainnet,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

impl NetworkSetting {
    pub const fn cluster(self) -> Cluster {
        match self {
            Self::Mainnet => Cluster::Mainnet,
            Self::Devnet => Cluster::Devnet,
            Self::Local => Cluster::Localnet,
        }
    }
}

/// A value that is written as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(bound = "", inline)]
pub struct Text<T>(#[schemars(with = "String")] pub T);

impl<T: fmt::Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|error| de::Error::custom(format!("`{text}`: {error}")))
    }
}

/// An `http` or `https` URL without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpUrl(pub String);

impl FromStr for HttpUrl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = url_with(text, ["http", "https"]);
        url.map(|_| Self(text.trim_end_matches('/').to_owned())).ok_or("it is not an http or https URL")
    }
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A URL with one of two schemes and a host.
fn url_with(text: &str, schemes: [&str; 2]) -> Option<Url> {
    Url::parse(text).ok().filter(|url| schemes.contains(&url.scheme()) && url.has_host())
}

/// A `postgres` URL. It may carry a password.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(pub String);

impl FromStr for DatabaseUrl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "postgres" | "postgresql"));
        url.map(|_| Self(text.to_owned())).ok_or("it is not a postgres:// URL")
    }
}

/// One to eight `ws` or `wss` URLs with commas between them. They may carry a provider's key.
#[derive(Clone, PartialEq, Eq)]
pub struct WebSocketUrls(pub Vec<String>);

impl FromStr for WebSocketUrls {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
        let valid =
            (1..=MAX_NODES).contains(&parts.len()) && parts.iter().all(|p| url_with(p, ["ws", "wss"]).is_some());
        let urls = valid.then(|| Self(parts.into_iter().map(str::to_owned).collect()));
        urls.ok_or_else(|| format!("it is not one to {MAX_NODES} ws or wss URLs with commas between them"))
    }
}

/// An `http` or `https` URL of a gRPC server. Its path may be a provider's key.
#[derive(Clone, PartialEq, Eq)]
pub struct GrpcUrl(pub Url);

impl FromStr for GrpcUrl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        url_with(text, ["http", "https"]).map(Self).ok_or("it is not an http or https URL")
    }
}

/// A key pair, written as the 64 numbers of a Solana key pair file.
#[derive(Clone)]
pub struct KeypairText(pub Arc<Keypair>);

impl FromStr for KeypairText {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = serde_json::from_str::<Vec<u8>>(text).ok();
        let keypair = bytes.and_then(|bytes| Keypair::try_from(bytes.as_slice()).ok());
        keypair.map(|keypair| Self(Arc::new(keypair))).ok_or("it is not a JSON array of the 64 numbers of a key pair")
    }
}

#[cfg(test)]
mod tests {
    use crtx_protocol::api_key::KeyNetwork;
    use solana_signer::Signer;

    use super::*;

    #[test]
    fn a_key_pair_is_read_as_the_solana_tools_write_it() {
        let keypair = Keypair::new();
        let text = serde_json::to_string(&keypair.to_bytes().to_vec()).unwrap();
        assert_eq!(text.parse::<KeypairText>().unwrap().0.pubkey(), keypair.pubkey());
        assert!("[1,2,3]".parse::<KeypairText>().is_err());
        assert!("secret".parse::<KeypairText>().is_err());
    }

    #[test]
    fn a_range_of_addresses_is_an_address_with_or_without_a_number_of_bits() {
        let read = |text: &str| serde_json::from_value::<Text<crtx_http::AddressRange>>(text.into()).is_ok();
        for good in ["192.0.2.1", "192.0.2.0/24", "2001:db8::/32", "::1"] {
            assert!(read(good), "{good}");
        }
        for bad in ["", "192.0.2.0/33", "192.0.2/24", "2001:db8::/129", "192.0.2.0/", "a.example", "192.0.2.0/-1"] {
            assert!(!read(bad), "{bad}");
        }
    }

    #[test]
    fn only_urls_of_the_right_kind_are_taken() {
        assert!("postgres://u:p@h/d".parse::<DatabaseUrl>().is_ok());
        assert!("http://h".parse::<DatabaseUrl>().is_err());
        assert_eq!("ws://h:1".parse::<WebSocketUrls>().unwrap().0.len(), 1);
        assert_eq!("ws://h:1, wss://h/key".parse::<WebSocketUrls>().unwrap().0.join(","), "ws://h:1,wss://h/key");
        assert!("https://h:443/key".parse::<GrpcUrl>().is_ok());
        assert!("grpc://h:443".parse::<GrpcUrl>().is_err());
        for bad in ["http://h:1", "", " , ", "ws://h:1,http://h:2"] {
            assert!(bad.parse::<WebSocketUrls>().is_err(), "{bad}");
        }
        assert_eq!("http://h:1/".parse::<HttpUrl>().unwrap().0, "http://h:1");
        assert!("h:1".parse::<HttpUrl>().is_err());
    }

    #[test]
    fn the_prefix_of_api_keys_follows_from_the_network() {
        assert_eq!(NetworkSetting::Mainnet.cluster().key_network(), KeyNetwork::Live);
        assert_eq!(NetworkSetting::Devnet.cluster().key_network(), KeyNetwork::Test);
        assert_eq!(NetworkSetting::Local.cluster().key_network(), KeyNetwork::Test);
    }
}
