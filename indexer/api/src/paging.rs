//! Where a page of a list begins: `limit`, and `offset` or `cursor`.

use crtx_http::{ApiError, QueryParams, cursor};
use crtx_store::reads::Start;
use serde::{Serialize, de::DeserializeOwned};

const DEFAULT_LIMIT: u64 = 20;
const MAX_LIMIT: u64 = 100;
/// The database reads the rows that an offset skips, so the offset is limited in lists that no slow pool serves. A cursor
/// needs no limit.
pub const MAX_OFFSET: u64 = 10_000;

/// The page that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paging {
    pub limit: u32,
    /// 0 with a cursor.
    pub offset: u64,
    pub cursor: Option<String>,
}

impl Paging {
    pub fn from_query(params: &mut QueryParams) -> Result<Self, ApiError> {
        let paging = Self::with_any_offset(params)?;
        if paging.offset > MAX_OFFSET {
            let problem = format!("must be at most {MAX_OFFSET}; read further pages with `cursor`");
            return Err(ApiError::invalid("offset", problem));
        }
        Ok(paging)
    }

    /// The same for a list that skips any number of rows.
    pub fn with_any_offset(params: &mut QueryParams) -> Result<Self, ApiError> {
        let limit = params.integer("limit", 1, MAX_LIMIT)?.unwrap_or(DEFAULT_LIMIT);
        let limit = u32::try_from(limit).map_err(ApiError::internal)?;
        let offset = params.integer("offset", 0, i64::MAX.unsigned_abs())?;
        let cursor = params.text("cursor")?;
        if cursor.is_some() && offset.is_some() {
            return Err(ApiError::invalid("cursor", "cannot be combined with `offset`"));
        }
        Ok(Self { limit, offset: offset.unwrap_or(0), cursor })
    }

    /// Where the page begins. `scope` describes the list.
    pub fn start<P: DeserializeOwned>(&self, scope: &str) -> Result<Start<P>, ApiError> {
        let Some(cursor) = &self.cursor else { return Ok(Start::Offset(self.offset)) };
        cursor::decode(scope, cursor).map(Start::After)
    }
}

/// The cursor of the page after the one whose last row has this sort key.
pub fn next_cursor(scope: &str, place: Option<&impl Serialize>) -> Result<Option<String>, ApiError> {
    place.map(|place| cursor::encode(scope, place)).transpose()
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use crtx_store::reads::{ExecutionPlace, Timestamp};
    use solana_pubkey::Pubkey;
    use uuid::Uuid;

    use super::*;

    fn read(query: &str) -> Result<Paging, String> {
        Paging::from_query(&mut QueryParams::parse(query)).map_err(|error| error.message)
    }

    #[test]
    fn a_page_begins_at_an_offset_or_at_a_cursor() {
        assert_eq!(read(""), Ok(Paging { limit: 20, offset: 0, cursor: None }));
        assert_eq!(read("limit=5&offset=10000"), Ok(Paging { limit: 5, offset: 10_000, cursor: None }));
        assert_eq!(read("cursor=x"), Ok(Paging { limit: 20, offset: 0, cursor: Some("x".to_owned()) }));
        assert!(read("offset=10001").unwrap_err().contains("`cursor`"));
        assert!(read("offset=9223372036854775807").unwrap_err().contains("`cursor`"));
        assert_eq!(read("offset=0&cursor=x"), Err("`cursor` cannot be combined with `offset`".to_owned()));
        assert!(read("limit=101").is_err());
    }

    #[test]
    fn a_key_is_read_back_as_a_whole_or_not_at_all() {
        let now = Timestamp(DateTime::from_timestamp_micros(1_795_255_200_123_456).expect("a time"));
        let place = ExecutionPlace {
            initiated_at: now,
            execution_id: Uuid::from_u128(7),
            record: Pubkey::new_from_array([255; 32]),
        };
        let page = |cursor| Paging { limit: 1, offset: 0, cursor: Some(cursor) };
        let cursor = next_cursor("list", Some(&place)).expect("a key").expect("a cursor");
        assert!(cursor.len() <= 512, "{}", cursor.len());
        assert_eq!(page(cursor.clone()).start("list"), Ok(Start::After(place)));
        assert!(page(cursor).start::<ExecutionPlace>("another list").is_err());
        let key = serde_json::to_string(&place).expect("json");
        let far = key.replace("2026-", "+262000-");
        assert_ne!(key, far);
        let far: serde_json::Value = serde_json::from_str(&far).expect("json");
        let far = page(cursor::encode("list", &far).expect("a cursor"));
        assert!(far.start::<ExecutionPlace>("list").is_err(), "{far:?}");
    }
}
