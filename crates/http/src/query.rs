//! Query strings, read strictly: a parameter that is unknown, repeated or malformed is an error that
//! names it. If a misspelt parameter were ignored, the answer would not fit the request.

use std::{fmt::Display, str::FromStr};

use crtx_protocol::text::shortened;
use url::form_urlencoded;

use crate::error::{ApiError, MAX_QUOTE_CHARS};

/// Reads a type from the parameters of a query string.
pub trait FromQuery: Sized {
    fn from_query(params: &mut QueryParams) -> Result<Self, ApiError>;
}

/// An endpoint without parameters.
impl FromQuery for () {
    fn from_query(_: &mut QueryParams) -> Result<Self, ApiError> {
        Ok(())
    }
}

/// The parameters of one query string. Each is read once; what is left at the end is unknown.
#[derive(Debug)]
pub struct QueryParams {
    pairs: Vec<(String, String)>,
}

impl QueryParams {
    pub fn parse(query: &str) -> Self {
        Self { pairs: form_urlencoded::parse(query.as_bytes()).into_owned().collect() }
    }

    /// The text of a parameter. Repeated: 400.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, ApiError> {
        let mut found = self.pairs.extract_if(.., |(key, _)| key == name).map(|(_, value)| value);
        let first = found.next();
        if found.next().is_some() {
            drop(found);
            return Err(ApiError::invalid(name, "must be given once"));
        }
        Ok(first)
    }

    /// A parameter that is read with `FromStr`; `expected` completes the sentence "`name` must be …".
    pub fn value<T: FromStr>(&mut self, name: &str, expected: impl Display) -> Result<Option<T>, ApiError> {
        self.text(name)?
            .map(|text| text.parse().map_err(|_| ApiError::invalid(name, format!("must be {expected}"))))
            .transpose()
    }

    /// A whole number from `min` to `max`.
    pub fn integer(&mut self, name: &str, min: u64, max: u64) -> Result<Option<u64>, ApiError> {
        let expected = if max == u64::MAX || max == i64::MAX.unsigned_abs() {
            format!("a whole number of at least {min}")
        } else {
            format!("a whole number from {min} to {max}")
        };
        let Some(text) = self.text(name)? else { return Ok(None) };
        // `u64::from_str` accepts a leading plus sign, this does not.
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        match text.parse::<u64>() {
            Ok(value) if digits && (min..=max).contains(&value) => Ok(Some(value)),
            _ => Err(ApiError::invalid(name, format!("must be {expected}"))),
        }
    }

    /// `true` or `false`.
    pub fn boolean(&mut self, name: &str) -> Result<Option<bool>, ApiError> {
        self.value(name, "`true` or `false`")
    }

    /// Fails if a parameter is left that was not read.
    pub fn finish(self) -> Result<(), ApiError> {
        match self.pairs.first() {
            None => Ok(()),
            Some((name, _)) => {
                Err(ApiError::invalid(&shortened(name, MAX_QUOTE_CHARS), "is not a parameter of this endpoint"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<T: std::fmt::Debug>(result: Result<T, ApiError>) -> String {
        result.expect_err("refused").message
    }

    #[test]
    fn a_whole_number_is_read_within_its_bounds_only() {
        let read = |query: &str| QueryParams::parse(query).integer("limit", 1, 100);
        assert_eq!(read("limit=1"), Ok(Some(1)));
        assert_eq!(read("limit=100"), Ok(Some(100)));
        assert_eq!(read("other=5"), Ok(None));
        for bad in ["0", "101", "-1", "+5", "", "1.5", "ten", "99999999999999999999999", "5%00", "%205"] {
            let message = message(read(&format!("limit={bad}")));
            assert_eq!(message, "`limit` must be a whole number from 1 to 100", "{bad}");
        }
    }

    #[test]
    fn a_repeated_parameter_is_refused() {
        assert_eq!(message(QueryParams::parse("a=1&a=2").text("a")), "`a` must be given once");
    }

    #[test]
    fn an_unknown_parameter_is_refused_by_name() {
        let mut params = QueryParams::parse("limit=5&limt=6");
        params.text("limit").expect("taken");
        assert_eq!(message(params.finish()), "`limt` is not a parameter of this endpoint");
    }

    #[test]
    fn a_boolean_is_true_or_false() {
        assert_eq!(QueryParams::parse("v=true").boolean("v"), Ok(Some(true)));
        for bad in ["TRUE", "1", "yes", ""] {
            assert!(QueryParams::parse(&format!("v={bad}")).boolean("v").is_err(), "{bad}");
        }
    }
}
