//! The types in which statements read their columns. `query_as!` turns them into the type of the field.

use chrono::{DateTime, SecondsFormat, Utc};
use crtx_protocol::usdc::UsdcBase;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use solana_pubkey::Pubkey;
use sqlx::{
    Decode, Postgres, Type,
    error::BoxDynError,
    postgres::{PgTypeInfo, PgValueRef},
};
use utoipa::ToSchema;

/// A time, written in ISO 8601 with `Z`, to the microsecond where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, sqlx::Type, ToSchema)]
#[sqlx(transparent)]
#[schema(value_type = String, format = DateTime, example = "2026-11-21T10:00:00Z")]
pub struct Timestamp(pub DateTime<Utc>);

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_rfc3339_opts(SecondsFormat::AutoSi, true))
    }
}

/// With a year of four digits: not all that can be written are within what PostgreSQL stores.
impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let time = DateTime::parse_from_rfc3339(&String::deserialize(deserializer)?);
        time.map(|time| Self(time.to_utc())).map_err(D::Error::custom)
    }
}

/// A number that is never negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Count(u64);

/// An amount of USDC in base units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usdc(UsdcBase);

/// An amount of base units in a JSON value.
pub(crate) fn base_units<'de, D: Deserializer<'de>>(deserializer: D) -> Result<UsdcBase, D::Error> {
    u64::deserialize(deserializer).map(UsdcBase)
}

/// An address in base58. Of the key of a row about an earlier use of the address, the address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base58(Pubkey);

impl<'r> Decode<'r, Postgres> for Count {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        Ok(Self(u64::try_from(<i64 as Decode<Postgres>>::decode(value)?)?))
    }
}

impl<'r> Decode<'r, Postgres> for Usdc {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        Ok(Self(UsdcBase(Count::decode(value)?.0)))
    }
}

impl<'r> Decode<'r, Postgres> for Base58 {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        let key = <&str as Decode<Postgres>>::decode(value)?;
        Ok(Self(key.split_once('@').map_or(key, |(address, _)| address).parse()?))
    }
}

impl Type<Postgres> for Count {
    fn type_info() -> PgTypeInfo {
        <i64 as Type<Postgres>>::type_info()
    }
}

impl Type<Postgres> for Base58 {
    fn type_info() -> PgTypeInfo {
        <str as Type<Postgres>>::type_info()
    }
}

impl From<Count> for u64 {
    fn from(Count(number): Count) -> Self {
        number
    }
}

impl From<Usdc> for UsdcBase {
    fn from(Usdc(amount): Usdc) -> Self {
        amount
    }
}

impl From<Base58> for Pubkey {
    fn from(Base58(address): Base58) -> Self {
        address
    }
}
