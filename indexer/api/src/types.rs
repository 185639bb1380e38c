//! Values that several endpoints read or write: times, addresses.

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Utc};
use crtx_http::{ApiError, QueryParams};
pub use crtx_store::reads::Timestamp;
use serde::de::{
    DeserializeOwned,
    value::{self, StrDeserializer},
};
use solana_pubkey::Pubkey;

/// An ISO 8601 time: with offset, without one (then UTC), or a date alone (then its midnight in UTC).
pub fn time(params: &mut QueryParams, name: &str) -> Result<Option<DateTime<Utc>>, ApiError> {
    params
        .text(name)?
        .map(|text| {
            parse_time(&text)
                .ok_or_else(|| ApiError::invalid(name, "must be an ISO 8601 time such as `2026-11-21T10:00:00Z`"))
        })
        .transpose()
}

fn parse_time(text: &str) -> Option<DateTime<Utc>> {
    // The plus sign of an offset that was not percent-encoded arrives as a space.
    let text = match text.rsplit_once(' ') {
        Some((head, offset)) if head.contains('T') && offset.contains(':') => format!("{head}+{offset}"),
        _ => text.to_owned(),
    };
    let time = DateTime::parse_from_rfc3339(&text)
        .map(|time| time.with_timezone(&Utc))
        .ok()
        .or_else(|| text.parse::<NaiveDateTime>().ok().map(|time| time.and_utc()))
        .or_else(|| text.parse::<NaiveDate>().ok()?.and_hms_opt(0, 0, 0).map(|time| time.and_utc()))?;
    // Four digits are ISO 8601's plain form, and within what PostgreSQL stores.
    (0..=9_999).contains(&time.year()).then_some(time)
}

/// One of a few words, which `words` lists.
pub fn word<T: DeserializeOwned>(params: &mut QueryParams, name: &str, words: &str) -> Result<Option<T>, ApiError> {
    let Some(text) = params.text(name)? else { return Ok(None) };
    let word = T::deserialize(StrDeserializer::<value::Error>::new(&text));
    word.map(Some).map_err(|_| ApiError::invalid(name, format!("must be {words}")))
}

/// A parameter with an address.
pub fn address(params: &mut QueryParams, name: &str, problem: &str) -> Result<Option<Pubkey>, ApiError> {
    params.text(name)?.map(|text| text.parse().map_err(|_| ApiError::invalid(name, problem))).transpose()
}

/// The wallet in a path.
pub fn wallet(text: &str) -> Result<Pubkey, ApiError> {
    text.parse().map_err(|_| ApiError::invalid("wallet", "must be an address in base58"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_the_common_forms_of_iso_8601() {
        let ten = "2026-11-21T10:00:00Z";
        for text in [
            ten,
            "2026-11-21T11:00:00+01:00",
            "2026-11-21T11:00:00 01:00",
            "2026-11-21T10:00:00",
            "2026-11-21T10:00:00.000Z",
        ] {
            assert_eq!(parse_time(text).expect(text), ten.parse::<DateTime<Utc>>().expect("time"), "{text}");
        }
        assert!(parse_time("2026-11-21").is_some());
    }

    #[test]
    fn other_times_are_refused() {
        for text in [
            "",
            "yesterday",
            "1700000000",
            "2026-13-01",
            "2026-11-21T25:00:00Z",
            "-4713-01-01",
            "+99999-01-01T00:00:00",
            "\0",
        ] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    #[test]
    fn times_are_written_with_z() {
        let time: DateTime<Utc> = "2026-11-21T10:00:00.5Z".parse().expect("time");
        assert_eq!(serde_json::to_string(&Timestamp(time)).expect("json"), r#""2026-11-21T10:00:00.500Z""#);
    }
}
