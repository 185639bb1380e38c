//! Where a page of a list begins: `limit`, and `offset` or `cursor`.

use chrono::{DateTime, TimeDelta, Utc};
use crtx_http::{ApiError, Cursor, QueryParams};
use crtx_store::reads::Start;
use solana_pubkey::Pubkey;
use uuid::Uuid;

const DEFAULT_LIMIT: u64 = 20;
const MAX_LIMIT: u64 = 100;
/// The database walks over the rows that an offset skips, so there is a limit where no slow pool serves them. A cursor has
/// none.
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

    /// Where the page begins. `scope` describes the list; `place` reads the sort key.
    pub fn start<P>(&self, scope: &str, place: impl Fn(&mut Key) -> Option<P>) -> Result<Start<P>, ApiError> {
        let Some(cursor) = &self.cursor else { return Ok(Start::Offset(self.offset)) };
        let mut key = Key(Cursor::decode_in(scope, cursor)?);
        let place = place(&mut key).filter(|_| key.0.is_empty());
        place.map(Start::After).ok_or_else(Cursor::refused)
    }
}

/// A sort key in a cursor, read from its beginning.
pub struct Key(Vec<u8>);

impl Key {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        let (taken, rest) = (*taken, rest.to_vec());
        self.0 = rest;
        Some(taken)
    }

    /// A time that PostgreSQL stores.
    pub fn time(&mut self) -> Option<DateTime<Utc>> {
        let time = DateTime::from_timestamp_micros(i64::from_be_bytes(self.take()?))?;
        // From -4713 to 294276; one that is not in this range was made up.
        let bound = TimeDelta::days(1_000_000);
        (time.signed_duration_since(DateTime::UNIX_EPOCH).abs() < bound).then_some(time)
    }

    pub fn uuid(&mut self) -> Option<Uuid> {
        self.take().map(Uuid::from_bytes)
    }

    pub fn address(&mut self) -> Option<Pubkey> {
        self.take().map(Pubkey::new_from_array)
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }
}

/// The bytes of a time in a sort key.
pub fn time_bytes(time: DateTime<Utc>) -> [u8; 8] {
    time.timestamp_micros().to_be_bytes()
}

#[cfg(test)]
mod tests {
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
        let (now, id) = (DateTime::from_timestamp_micros(1_795_255_200_123_456).expect("a time"), Uuid::from_u128(7));
        let place = |key: &mut Key| Some((key.time()?, key.uuid()?));
        let page = |key: &[u8]| Paging { limit: 1, offset: 0, cursor: Some(Cursor::encode_in("list", key)) };
        let key = [&time_bytes(now)[..], id.as_bytes()].concat();
        assert_eq!(page(&key).start("list", place), Ok(Start::After((now, id))));
        let far = [&i64::MAX.to_be_bytes()[..], id.as_bytes()].concat();
        for bad in [&key[1..], &[&key[..], b"x"].concat(), b"", &far] {
            assert!(page(bad).start("list", place).is_err(), "{bad:?}");
        }
        assert!(page(&key).start("another list", place).is_err());
    }
}
