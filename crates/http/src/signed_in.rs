//! Authentication of a wallet that signed in: `Authorization: Bearer crtx_session_…`, or the session's cookie.

use std::net::IpAddr;

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, Method, header, request::Parts},
};
use crtx_store::sessions::{self, SessionKind, SessionRow};
use solana_pubkey::Pubkey;
use uuid::Uuid;

use crate::{
    auth::AuthState,
    credentials::{bearer, meant_wallet, session_cookie},
    error::{ApiError, ErrorCode},
    layers::Peer,
    lookup::note_use,
    serve::BodyOwner,
    session_token::{self, SessionToken},
    site::Site,
    strangers::CredentialName,
};

/// Holds the token that an unsafe request with the session's cookie must repeat.
pub const CSRF_TOKEN: HeaderName = HeaderName::from_static("x-csrf-token");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A wallet that signed in. Without a valid session: 401 `unauthorized`, also with an API key. An unsafe
/// method with the cookie, without the matching `X-CSRF-Token` or from a foreign page: 403 `forbidden`. The session of
/// another wallet than `X-Crtx-Wallet` names: 409 `conflict`.
#[derive(Clone, Debug)]
pub struct SignedIn {
    pub wallet: Pubkey,
    pub session_id: Uuid,
    pub kind: SessionKind,
    /// What the session is looked up by.
    pub name: CredentialName,
    /// What `X-CSRF-Token` must repeat. `None` for a session without cookie, which needs none.
    pub csrf_token: Option<String>,
}

impl<S: AuthState> FromRequestParts<S> for SignedIn {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let client = Peer::of(&parts.extensions);
        let signed_in = authenticate(&parts.method, &parts.headers, client, state).await?;
        BodyOwner::note(&parts.extensions, &signed_in.wallet);
        Ok(signed_in)
    }
}

/// The session of a request that presents one, and checks it as [`authenticate`] does. `None` for a request without
/// credentials or with an API key. `example` stands for the token in the text of an error.
pub async fn if_presented<S: AuthState>(
    example: &str,
    method: &Method,
    headers: &HeaderMap,
    client: Option<IpAddr>,
    state: &S,
) -> Result<Option<SignedIn>, ApiError> {
    let is_presented = match bearer(headers, example)? {
        Some(secret) => secret.starts_with(session_token::PREFIX),
        None => session_cookie(headers, state.site())?.is_some(),
    };
    if is_presented { authenticate(method, headers, client, state).await.map(Some) } else { Ok(None) }
}

/// Checks the session of a request: reads the `Authorization` header or the cookie, and looks the session up. One that was
/// refused a moment ago is refused again without that, and a client that presents many unknown ones gets 429.
pub async fn authenticate<S: AuthState>(
    method: &Method,
    headers: &HeaderMap,
    client: Option<IpAddr>,
    state: &S,
) -> Result<SignedIn, ApiError> {
    let (token, kind) = presented(headers, state.site())?;
    if kind == SessionKind::Cookie && !method.is_safe() {
        check_page(headers, state.site())?;
        let sent = headers.get(CSRF_TOKEN).and_then(|value| value.to_str().ok());
        if !sent.is_some_and(|sent| token.is_csrf_token(sent)) {
            let message = "send the session's `csrf_token` in the header `X-CSRF-Token`";
            return Err(ApiError::new(ErrorCode::Forbidden, message));
        }
    }
    let meant = meant_wallet(headers)?;
    let (credentials, token_hash) = (state.credentials(), token.hash());
    let name = CredentialName::Session { token_hash, kind };
    credentials.strangers.admit(&name, client)?;
    let found = credentials.sessions.ask(token_hash).await.and_then(|row| that_holds(row, kind));
    credentials.strangers.note(&name, &found);
    let row = found?;
    if let Some(meant) = meant.filter(|meant| *meant != row.wallet) {
        let message = format!("this session is of another wallet than {meant}; sign in with that one");
        return Err(ApiError::new(ErrorCode::Conflict, message));
    }
    if row.is_use_due {
        note_use(sessions::touch(&credentials.pool, &row.session_id)).await;
    }
    let csrf_token = (kind == SessionKind::Cookie).then(|| token.csrf_token());
    Ok(SignedIn { wallet: row.wallet, session_id: row.session_id, kind, name, csrf_token })
}

/// The session, if it is valid.
pub fn that_holds(row: Option<SessionRow>, kind: SessionKind) -> Result<SessionRow, ApiError> {
    match row.filter(|row| row.kind == kind) {
        None => Err(ApiError::unauthorized("the session is not known")),
        Some(row) if row.ended => Err(ApiError::unauthorized("the session has been ended; sign in again")),
        Some(row) if row.expired => Err(ApiError::unauthorized("the session has expired; sign in again")),
        Some(row) => Ok(row),
    }
}

/// Refuses a request that a browser sends for a page of another origin: 403.
pub fn check_page(headers: &HeaderMap, site: &Site) -> Result<(), ApiError> {
    let forbidden = |problem: String| Err(ApiError::new(ErrorCode::Forbidden, problem));
    if headers.get_all(header::ORIGIN).iter().any(|origin| origin.as_bytes() != site.origin().as_bytes()) {
        return forbidden(format!("this request is accepted from pages of {} alone", site.origin()));
    }
    let own = |value: &[u8]| matches!(value, b"same-origin" | b"none");
    if headers.get_all(FETCH_SITE).iter().any(|value| !own(value.as_bytes())) {
        return forbidden("this request is not accepted from a page of another site".to_owned());
    }
    Ok(())
}

fn presented(headers: &HeaderMap, site: &Site) -> Result<(SessionToken, SessionKind), ApiError> {
    let (text, kind) = match bearer(headers, "SESSION_TOKEN")? {
        Some(text) => (text, SessionKind::Bearer),
        None => match session_cookie(headers, site)? {
            Some(text) => (text, SessionKind::Cookie),
            None => return Err(ApiError::unauthorized("sign in, and send the session's token")),
        },
    };
    if !text.starts_with(session_token::PREFIX) {
        return Err(ApiError::unauthorized(
            "this needs the session of a wallet that signed in; an API key is not enough",
        ));
    }
    let token =
        text.parse().map_err(|error| ApiError::unauthorized(format!("the session token is malformed: {error}")))?;
    Ok((token, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(pairs: &[(&'static str, &str)]) -> Result<(), ApiError> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().expect("header value"));
        }
        check_page(&headers, &Site::new("https://api.example"))
    }

    #[test]
    fn only_pages_of_the_own_origin_may_change_something() {
        for own in [
            &[][..],
            &[("origin", "https://api.example")],
            &[("sec-fetch-site", "same-origin"), ("origin", "https://api.example")],
            &[("sec-fetch-site", "none")],
        ] {
            assert_eq!(page(own), Ok(()), "{own:?}");
        }
        for foreign in [
            &[("origin", "https://evil.example")][..],
            &[("origin", "null")],
            &[("origin", "http://api.example")],
            &[("origin", "https://api.example:8443")],
            &[("origin", "https://api.example"), ("origin", "https://evil.example")],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site"), ("origin", "https://api.example")],
        ] {
            assert_eq!(page(foreign).expect_err("refused").code, ErrorCode::Forbidden, "{foreign:?}");
        }
    }
}
