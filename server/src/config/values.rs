//! Values of single settings that have a form of their own.

use std::{fmt, str::FromStr, sync::Arc};

use crtx_protocol::api_key::KeyNetwork;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use url::Url;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// API keys begin with `crtx_test_`. Endpoints of this machine, without TLS, are called as well.
    Local,
    /// API keys begin with `crtx_test_`.
    Devnet,
    /// API keys begin with `crtx_live_`.
    Mainnet,
}

impl Network {
    pub const fn key_network(self) -> KeyNetwork {
        match self {
            Self::Mainnet => KeyNetwork::Live,
            Self::Devnet | Self::Local => KeyNetwork::Test,
        }
    }
}

/// An address in Base58.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(inline)]
pub struct Address(#[schemars(with = "String")] pub Pubkey);

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|_| de::Error::custom(format_args!("`{text}` is not an address in Base58")))
    }
}

/// An `http` or `https` URL without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(inline)]
pub struct HttpUrl(String);

impl HttpUrl {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for HttpUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for HttpUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let url = Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        match url {
            Some(_) => Ok(Self(text.trim_end_matches('/').to_owned())),
            None => Err(de::Error::custom(format_args!("`{text}` is not an http or https URL"))),
        }
    }
}

/// A `postgres` URL. It may carry a password.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not a postgres:// URL")]
pub struct NotADatabaseUrl;

impl FromStr for DatabaseUrl {
    type Err = NotADatabaseUrl;

    fn from_str(text: &str) -> Result<Self, NotADatabaseUrl> {
        let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "postgres" | "postgresql"));
        url.map(|_| Self(text.to_owned())).ok_or(NotADatabaseUrl)
    }
}

/// A `ws` or `wss` URL. It may carry a provider's key.
#[derive(Clone, PartialEq, Eq)]
pub struct WebSocketUrl(String);

impl WebSocketUrl {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not a ws or wss URL")]
pub struct NotAWebSocketUrl;

impl FromStr for WebSocketUrl {
    type Err = NotAWebSocketUrl;

    fn from_str(text: &str) -> Result<Self, NotAWebSocketUrl> {
        let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "ws" | "wss") && url.has_host());
        url.map(|_| Self(text.to_owned())).ok_or(NotAWebSocketUrl)
    }
}

/// A key pair, written as the 64 numbers of a Solana key pair file.
#[derive(Clone)]
pub struct KeypairText(pub Arc<Keypair>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not a JSON array of the 64 numbers of a key pair")]
pub struct NotAKeypair;

impl FromStr for KeypairText {
    type Err = NotAKeypair;

    fn from_str(text: &str) -> Result<Self, NotAKeypair> {
        let bytes: Vec<u8> = serde_json::from_str(text).map_err(|_| NotAKeypair)?;
        Keypair::try_from(bytes.as_slice()).map(|keypair| Self(Arc::new(keypair))).map_err(|_| NotAKeypair)
    }
}

impl fmt::Debug for KeypairText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeypairText")
    }
}

#[cfg(test)]
mod tests {
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
    fn only_urls_of_the_right_kind_are_taken() {
        assert!("postgres://u:p@h/d".parse::<DatabaseUrl>().is_ok());
        assert!("http://h".parse::<DatabaseUrl>().is_err());
        assert!("ws://h:1".parse::<WebSocketUrl>().is_ok());
        assert!("http://h:1".parse::<WebSocketUrl>().is_err());
        assert_eq!(serde_json::from_str::<HttpUrl>("\"http://h:1/\"").unwrap().as_str(), "http://h:1");
        assert!(serde_json::from_str::<HttpUrl>("\"h:1\"").is_err());
    }

    #[test]
    fn the_prefix_of_api_keys_follows_from_the_network() {
        assert_eq!(Network::Mainnet.key_network(), KeyNetwork::Live);
        assert_eq!(Network::Devnet.key_network(), KeyNetwork::Test);
        assert_eq!(Network::Local.key_network(), KeyNetwork::Test);
    }
}
