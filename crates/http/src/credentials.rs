//! What a request presents: the value of `Authorization: Bearer …`, or the session's cookie. The header goes first.

use axum::http::{HeaderMap, HeaderName, header};
use solana_pubkey::Pubkey;

use crate::{error::ApiError, formats, site::Site};

/// Names the wallet that a request means. A browser has one session for all of its tabs, and each may show another
/// wallet.
pub const MEANT_WALLET: HeaderName = HeaderName::from_static("x-crtx-wallet");

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
pub fn session_cookie<'a>(headers: &'a HeaderMap, site: &Site) -> Result<Option<&'a str>, ApiError> {
    let expected = site.session_cookie();
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut found = pairs.filter(|(name, _)| *name == expected).map(|(_, value)| value);
    let first = found.next();
    if found.next().is_some() {
        return Err(ApiError::unauthorized(format!("send one cookie `{expected}`")));
    }
    Ok(first)
}

/// The wallet that a request names, if it does.
pub fn meant_wallet(headers: &HeaderMap) -> Result<Option<Pubkey>, ApiError> {
    let mut values = headers.get_all(MEANT_WALLET).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let wallet = value.to_str().ok().and_then(|text| text.parse().ok()).filter(|_| values.next().is_none());
    wallet.map(Some).ok_or_else(|| ApiError::invalid(formats::MEANT_WALLET, "must be one address in base58"))
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    fn cookie(values: &[&str]) -> Result<Option<String>, ApiError> {
        cookie_at("http://127.0.0.1:8080", values)
    }

    fn cookie_at(url: &str, values: &[&str]) -> Result<Option<String>, ApiError> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::COOKIE, value.parse().expect("header value"));
        }
        session_cookie(&headers, &Site::new(url)).map(|found| found.map(str::to_owned))
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        assert_eq!(cookie(&[]), Ok(None));
        assert_eq!(cookie(&["a=b; xcrtx_session=c; crtx_session"]), Ok(None));
        assert_eq!(cookie(&["a=b", "c=d;crtx_session=token; e=f"]), Ok(Some("token".to_owned())));
    }

    #[test]
    fn with_tls_the_cookie_has_the_name_that_no_other_host_can_set() {
        let both = ["crtx_session=planted; __Host-crtx_session=token"];
        assert_eq!(cookie_at("https://api.example", &both), Ok(Some("token".to_owned())));
        assert_eq!(cookie_at("https://api.example", &["crtx_session=planted"]), Ok(None));
        assert_eq!(cookie(&both), Ok(Some("planted".to_owned())));
    }

    #[test]
    fn a_second_cookie_of_the_same_name_is_refused() {
        for values in [&["crtx_session=a; crtx_session=b"][..], &["crtx_session=a", "crtx_session=a"]] {
            assert_eq!(cookie(values).expect_err("refused").status(), StatusCode::UNAUTHORIZED);
        }
    }
}
