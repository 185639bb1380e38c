//! What a request presents: the value of `Authorization: Bearer …`, or the session's cookie. The header goes first.

use axum::http::{HeaderMap, header};

use crate::error::ApiError;

/// The cookie that holds the token of a browser's session.
pub const SESSION_COOKIE: &str = "crtx_session";

/// The text after `Bearer`. `None` without the header. `what` names the expected secret in errors.
pub fn bearer<'a>(headers: &'a HeaderMap, what: &str) -> Result<Option<&'a str>, ApiError> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(ApiError::unauthorized("send one `Authorization` header"));
    }
    let malformed = || ApiError::unauthorized(format!("the `Authorization` header must be `Bearer <{what}>`"));
    let text = value.to_str().map_err(|_| malformed())?;
    let (scheme, secret) = text.split_once(' ').ok_or_else(malformed)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(malformed());
    }
    Ok(Some(secret.trim()))
}

/// The value of the session's cookie. Two cookies of this name are refused: one of them is from another site.
pub fn session_cookie(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut found = pairs.filter(|(name, _)| *name == SESSION_COOKIE).map(|(_, value)| value);
    let first = found.next();
    if found.next().is_some() {
        return Err(ApiError::unauthorized(format!("send one cookie `{SESSION_COOKIE}`")));
    }
    Ok(first)
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    fn cookie(values: &[&str]) -> Result<Option<String>, ApiError> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::COOKIE, value.parse().expect("header value"));
        }
        session_cookie(&headers).map(|found| found.map(str::to_owned))
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        assert_eq!(cookie(&[]), Ok(None));
        assert_eq!(cookie(&["a=b; xcrtx_session=c; crtx_session"]), Ok(None));
        assert_eq!(cookie(&["a=b", "c=d;crtx_session=token; e=f"]), Ok(Some("token".to_owned())));
    }

    #[test]
    fn a_second_cookie_of_the_same_name_is_refused() {
        for values in [&["crtx_session=a; crtx_session=b"][..], &["crtx_session=a", "crtx_session=a"]] {
            assert_eq!(cookie(values).expect_err("refused").status(), StatusCode::UNAUTHORIZED);
        }
    }
}
