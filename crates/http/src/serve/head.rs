//! Looks at request line and header fields before the HTTP engine does, so that what is malformed or too
//! large is answered with the error body, and so that the end of each request is known.
//!
//! It is at least as strict as the engine: what passes here, the engine takes, and both agree on where the
//! body ends. What could be read in two ways is refused.

use axum::http::{Method, Uri, uri::Authority};

use super::limits::{HeadLimits, MAX_HEADER_FIELDS};
use crate::error::{ApiError, ErrorCode};

/// How the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// 0: there is none.
    Length(u64),
    Chunked,
}

/// Method, version and spaces of a request line.
const LINE_OVERHEAD: usize = 64;
/// Beyond what any body can be; above it the engine's own arithmetic begins.
const MAX_CONTENT_LENGTH: u64 = i64::MAX as u64;

/// Examines the beginning of a connection's bytes, up to the first blank line: the length of the head, and how its body
/// ends. `None` while the rest of the head has to come.
pub fn examine(bytes: &[u8], limits: &HeadLimits) -> Result<Option<(usize, Framing)>, ApiError> {
    let line_end = bytes.iter().position(|byte| *byte == b'\n');
    if line_end.unwrap_or(bytes.len()) > limits.max_target.saturating_add(LINE_OVERHEAD) {
        return Err(target_too_long(limits));
    }
    let mut fields = [httparse::EMPTY_HEADER; MAX_HEADER_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let too_large = |problem: String| Err(ApiError::new(ErrorCode::HeadersTooLarge, problem));
    let too_long = || format!("request line and header fields together are larger than {} bytes", limits.max_head);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length > limits.max_head => too_large(too_long()),
        Ok(httparse::Status::Complete(length)) => Ok(Some((length, check(&request, limits)?))),
        Ok(httparse::Status::Partial) if bytes.len() >= limits.max_head => too_large(too_long()),
        Ok(httparse::Status::Partial) => Ok(None),
        Err(httparse::Error::TooManyHeaders) => {
            too_large(format!("the request has more than {MAX_HEADER_FIELDS} header fields"))
        }
        Err(error) => Err(malformed(&error.to_string())),
    }
}

fn malformed(problem: &str) -> ApiError {
    ApiError::invalid_request(format!("the request is not valid HTTP/1.1: {problem}"))
}

fn target_too_long(limits: &HeadLimits) -> ApiError {
    ApiError::new(ErrorCode::UriTooLong, format!("the request target is longer than {} bytes", limits.max_target))
}

fn check(request: &httparse::Request<'_, '_>, limits: &HeadLimits) -> Result<Framing, ApiError> {
    let target = request.path.unwrap_or_default();
    if target.len() > limits.max_target {
        return Err(target_too_long(limits));
    }
    Method::from_bytes(request.method.unwrap_or_default().as_bytes()).map_err(|_| malformed("invalid method"))?;
    target.parse::<Uri>().map_err(|error| malformed(&error.to_string()))?;
    check_host(request)?;
    framing(request)
}

/// One `Host`, also in HTTP/1.0: with none or two, a proxy and this service could mean different hosts.
fn check_host(request: &httparse::Request<'_, '_>) -> Result<(), ApiError> {
    let mut hosts = request.headers.iter().filter(|field| field.name.eq_ignore_ascii_case("host"));
    match (hosts.next(), hosts.next()) {
        (None, _) => Err(malformed("`Host` is missing")),
        (Some(_), Some(_)) => Err(malformed("`Host` is given more than once")),
        (Some(host), None) if is_host(host.value) => Ok(()),
        (Some(_), None) => Err(malformed("invalid `Host`")),
    }
}

/// A name or an address, and perhaps a port.
fn is_host(value: &[u8]) -> bool {
    let host = std::str::from_utf8(value).ok().and_then(|text| text.trim_ascii().parse::<Authority>().ok());
    host.is_some_and(|host| !host.as_str().contains('@'))
}

fn framing(request: &httparse::Request<'_, '_>) -> Result<Framing, ApiError> {
    let mut length = None;
    let mut chunked = false;
    for field in request.headers.iter() {
        if field.name.eq_ignore_ascii_case("content-length") {
            let value = content_length(field.value).ok_or_else(|| malformed("invalid Content-Length"))?;
            if length.replace(value).is_some_and(|other| other != value) {
                return Err(malformed("two Content-Length fields that differ"));
            }
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            if chunked || !field.value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                return Err(malformed("the only transfer coding is `chunked`, given once"));
            }
            chunked = true;
        }
    }
    match (chunked, length) {
        (true, Some(_)) => Err(malformed("both Content-Length and Transfer-Encoding")),
        (true, None) if request.version != Some(1) => Err(malformed("Transfer-Encoding in HTTP/1.0")),
        (true, None) => Ok(Framing::Chunked),
        (false, length) => Ok(Framing::Length(length.unwrap_or_default())),
    }
}

fn content_length(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value.trim_ascii()).ok()?;
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|length| digits && *length <= MAX_CONTENT_LENGTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: HeadLimits = HeadLimits { max_target: 100, max_head: 1_000 };

    fn code(head: &str) -> ErrorCode {
        examine(head.as_bytes(), &LIMITS).expect_err(head).code
    }

    #[test]
    fn a_head_is_complete_with_its_blank_line_and_not_before() {
        let head = b"POST /a?b=c HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\n";
        for end in 0..head.len() {
            assert_eq!(examine(&head[..end], &LIMITS), Ok(None), "{end}");
        }
        let whole = [&head[..], b"helloGET / HTTP/1.1"].concat();
        assert_eq!(examine(&whole, &LIMITS), Ok(Some((head.len(), Framing::Length(5)))));
    }

    #[test]
    fn a_target_beyond_the_limit_is_414_also_before_it_has_ended() {
        let fits = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "x".repeat(99));
        assert!(matches!(examine(fits.as_bytes(), &LIMITS), Ok(Some(_))));
        assert_eq!(code(&format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(100))), ErrorCode::UriTooLong);
        assert_eq!(code(&format!("GET /{}", "x".repeat(1_000))), ErrorCode::UriTooLong);
    }

    #[test]
    fn header_fields_beyond_the_limits_are_431_also_before_they_have_ended() {
        assert_eq!(code(&format!("GET / HTTP/1.1\r\na: {}\r\n\r\n", "x".repeat(1_000))), ErrorCode::HeadersTooLarge);
        assert_eq!(code(&format!("GET / HTTP/1.1\r\na: {}", "x".repeat(1_000))), ErrorCode::HeadersTooLarge);
        let many = "host:x\r\n".to_owned() + &"a:1\r\n".repeat(MAX_HEADER_FIELDS - 1);
        assert!(matches!(examine(format!("GET / HTTP/1.1\r\n{many}\r\n").as_bytes(), &LIMITS), Ok(Some(_))));
        assert_eq!(code(&format!("GET / HTTP/1.1\r\n{many}b:1\r\n\r\n")), ErrorCode::HeadersTooLarge);
    }

    #[test]
    fn what_is_not_http_or_could_be_read_in_two_ways_is_malformed() {
        for head in [
            "\x16\x03\x01 TLS",
            "PRI * HTTP/2.0\r\n\r\n",
            "GET / HTTP/3.0\r\n\r\n",
            "GET\r\n\r\n",
            "GET / HTTP/1.1\r\nno colon\r\n\r\n",
            "GET / HTTP/1.1\r\na b: c\r\n\r\n",
            "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
            "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: +5\r\n\r\n",
            "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5, 5\r\n\r\n",
            "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999\r\n\r\n",
            "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
            "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
            "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n",
            "POST / HTTP/1.0\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.0\r\n\r\n",
            "GET http://x/ HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nhost: x\r\nHost: x\r\n\r\n",
            "GET / HTTP/1.0\r\nhost: x\r\nHost: y\r\n\r\n",
            "GET / HTTP/1.1\r\nhost: \r\n\r\n",
            "GET / HTTP/1.1\r\nhost: a, b\r\n\r\n",
            "GET / HTTP/1.1\r\nhost: a/b\r\n\r\n",
            "GET / HTTP/1.1\r\nhost: a@b\r\n\r\n",
        ] {
            assert_eq!(code(head), ErrorCode::InvalidRequest, "{head:?}");
        }
    }

    #[test]
    fn the_framing_is_read_from_the_header_fields() {
        for (head, expected) in [
            ("GET / HTTP/1.0\r\nHost: api.example:8080\r\n\r\n", Framing::Length(0)),
            ("POST / HTTP/1.1\r\nHOST: [::1]:80 \r\nContent-Length:7 \r\n\r\n", Framing::Length(7)),
            ("POST / HTTP/1.1\r\nHost:127.0.0.1\r\nTransfer-Encoding: Chunked\r\n\r\n", Framing::Chunked),
        ] {
            let examined = examine(head.as_bytes(), &LIMITS);
            assert_eq!(examined, Ok(Some((head.len(), expected))), "{head:?}");
        }
    }
}
