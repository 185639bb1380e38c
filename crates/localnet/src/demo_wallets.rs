//! `POST /local/wallets`: hands the key pairs of the demo's wallets to the dashboard of `crtx up`, so that a newcomer can
//! act in every role. Only `crtx up` has this endpoint. The money of these wallets is worth nothing, but their keys are
//! still for the page of this network alone: see [`check`].

use axum::{
    Json, Router,
    body::Body,
    http::{HeaderMap, header},
    routing::post,
};
use crtx_http::{ApiError, ErrorCode, Site, signed_in::check_page};
use serde_json::json;
use solana_keypair::Keypair;
use solana_signer::Signer;

use crate::keys::Keys;

/// The endpoint. `site`: where this network's service is reached.
pub fn router(keys: &Keys, site: Site) -> Router {
    let wallet = |label: &str, keypair: &Keypair| {
        let (address, secret_key) = (keypair.pubkey().to_string(), keypair.to_base58_string());
        json!({"label": label, "address": address, "secret_key": secret_key})
    };
    let wallets = [
        wallet("Caller", &keys.demo.wallet),
        wallet("Creator", &keys.creator),
        wallet("Resolver", &keys.resolver),
        wallet("Admin", &keys.admin),
        wallet("Guardian", &keys.guardian),
    ];
    let wallets = json!({"wallets": wallets});
    let answer = move |headers: HeaderMap, _body: Body| {
        let checked = check(&headers, &site);
        let answer = checked.map(|()| ([(header::CACHE_CONTROL, "no-store")], Json(wallets.clone())));
        async move { answer }
    };
    Router::new().route("/local/wallets", post(answer))
}

/// Accepts the request of a page of this origin, and nothing else:
/// - `Host` must be this network's own, so that a foreign name that resolves to this machine (DNS rebinding) is refused;
/// - `Origin` must be there and be this origin, which browsers send with every `POST` and pages cannot change;
/// - the content type must be JSON, which a foreign page cannot send without a permission that nobody gives.
fn check(headers: &HeaderMap, site: &Site) -> Result<(), ApiError> {
    let is = |name: header::HeaderName, expected: &str| {
        let mut values = headers.get_all(name).iter();
        values.next().is_some_and(|value| value.as_bytes() == expected.as_bytes()) && values.next().is_none()
    };
    if !is(header::HOST, site.domain()) || !is(header::ORIGIN, site.origin()) {
        return Err(ApiError::new(ErrorCode::Forbidden, format!("only pages of {} get these wallets", site.origin())));
    }
    if !is(header::CONTENT_TYPE, "application/json") {
        return Err(ApiError::new(ErrorCode::UnsupportedMediaType, "the content type must be application/json"));
    }
    check_page(headers, site)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(pairs: &[(&'static str, &str)]) -> Result<(), ErrorCode> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().expect("header value"));
        }
        check(&headers, &Site::new("http://127.0.0.1:8080")).map_err(|error| error.code)
    }

    const HOST: (&str, &str) = ("host", "127.0.0.1:8080");
    const ORIGIN: (&str, &str) = ("origin", "http://127.0.0.1:8080");
    const JSON: (&str, &str) = ("content-type", "application/json");

    #[test]
    fn the_own_page_gets_the_wallets() {
        assert_eq!(answer(&[HOST, ORIGIN, JSON]), Ok(()));
        assert_eq!(answer(&[HOST, ORIGIN, JSON, ("sec-fetch-site", "same-origin")]), Ok(()));
    }

    #[test]
    fn a_foreign_page_or_name_gets_nothing() {
        let rebound = ("host", "evil.example:8080");
        for headers in [
            &[HOST, JSON][..],
            &[ORIGIN, JSON],
            &[rebound, ORIGIN, JSON],
            &[rebound, ("origin", "http://evil.example:8080"), JSON],
            &[HOST, ("origin", "http://evil.example"), JSON],
            &[HOST, ("origin", "null"), JSON],
            &[HOST, ("origin", "http://localhost:8080"), JSON],
            &[HOST, ORIGIN, ORIGIN, JSON],
            &[HOST, HOST, ORIGIN, JSON],
            &[HOST, ORIGIN, JSON, ("sec-fetch-site", "cross-site")],
        ] {
            assert_eq!(answer(headers), Err(ErrorCode::Forbidden), "{headers:?}");
        }
    }

    #[test]
    fn a_form_gets_nothing() {
        for kind in [&[HOST, ORIGIN][..], &[HOST, ORIGIN, ("content-type", "text/plain")]] {
            assert_eq!(answer(kind), Err(ErrorCode::UnsupportedMediaType), "{kind:?}");
        }
    }
}
