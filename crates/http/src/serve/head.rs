//! Looks at request line and header fields before hyper does, so that what is malformed or too
//! large is answered with the error body, and so that the end of each request is known.
//!
//! It is at least as strict as hyper: what passes here, hyper takes, and both agree on where the
//! body ends. What could be read in two ways is refused.

use axum::http::{Method, Uri, uri::Authority};

use super::limits::{MAX_HEAD, MAX_HEADER_FIELDS, MAX_TARGET};
use crate::error::{ApiError, ErrorCode};

/// Length of a request whose end only hyper finds, because its body is chunked.
pub const CHUNKED: u64 = u64::MAX;
/// Method, version and spaces of a request line.
const LINE_OVERHEAD: usize = 64;
/// Beyond what any body can be; above it hyper's own arithmetic begins.
const MAX_CONTENT_LENGTH: u64 = i64::MAX as u64;

/// Examines the beginning of a connection's bytes, up to the first blank line. Returns how many bytes the request has, or
/// [`CHUNKED`]; `None` while the rest of the head has to come.
pub fn examine(bytes: &[u8]) -> Result<Option<u64>, ApiError> {
    let line_end = bytes.iter().position(|byte| *byte == b'\n');
    if line_end.unwrap_or(bytes.len()) > MAX_TARGET + LINE_OVERHEAD {
        return Err(target_too_long());
    }
    let mut fields = [httparse::EMPTY_HEADER; MAX_HEADER_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let too_large = |problem: String| Err(ApiError::new(ErrorCode::HeadersTooLarge, problem));
    let too_long = || format!("request line and header fields together are larger than {MAX_HEAD} bytes");
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length > MAX_HEAD => too_large(too_long()),
        Ok(httparse::Status::Complete(length)) => {
            let body = check(&request)?;
            Ok(Some(body.saturating_add(u64::try_from(length).unwrap_or(CHUNKED))))
        }
        Ok(httparse::Status::Partial) if bytes.len() >= MAX_HEAD => too_large(too_long()),
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

fn target_too_long() -> ApiError {
    ApiError::new(ErrorCode::UriTooLong, format!("the request target is longer than {MAX_TARGET} bytes"))
}

/// Returns the length of the body.
fn check(request: &httparse::Request<'_, '_>) -> Result<u64, ApiError> {
    let target = request.path.unwrap_or_default();
    if target.len() > MAX_TARGET {
        return Err(target_too_long());
    }
    Method::from_bytes(request.method.unwrap_or_default().as_bytes()).map_err(|_| malformed("invalid method"))?;
    target.parse::<Uri>().map_err(|error| malformed(&error.to_string()))?;
    check_host(request)?;
    length_of_body(request)
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

fn length_of_body(request: &httparse::Request<'_, '_>) -> Result<u64, ApiError> {
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
        (true, None) => Ok(CHUNKED),
        (false, length) => Ok(length.unwrap_or_default()),
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

    fn code(head: &str) -> ErrorCode {
        examine(head.as_bytes()).expect_err(head).code
    }

    #[test]
    fn a_head_is_complete_with_its_blank_line_and_not_before() {
        let head = b"POST /a?b=c HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\n";
        for end in 0..head.len() {
            assert_eq!(examine(&head[..end]), Ok(None), "{end}");
        }
        let whole = [&head[..], b"helloGET / HTTP/1.1"].concat();
        assert_eq!(examine(&whole), Ok(Some(head.len() as u64 + 5)));
    }

    #[test]
    fn a_target_beyond_the_limit_is_414_also_before_it_has_ended() {
        let fits = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "x".repeat(MAX_TARGET - 1));
        assert!(matches!(examine(fits.as_bytes()), Ok(Some(_))));
        assert_eq!(code(&format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(MAX_TARGET))), ErrorCode::UriTooLong);
        assert_eq!(code(&format!("GET /{}", "x".repeat(MAX_TARGET + LINE_OVERHEAD))), ErrorCode::UriTooLong);
    }

    #[test]
    fn header_fields_beyond_the_limits_are_431_also_before_they_have_ended() {
        assert_eq!(code(&format!("GET / HTTP/1.1\r\na: {}\r\n\r\n", "x".repeat(MAX_HEAD))), ErrorCode::HeadersTooLarge);
        assert_eq!(code(&format!("GET / HTTP/1.1\r\na: {}", "x".repeat(MAX_HEAD))), ErrorCode::HeadersTooLarge);
        let many = "host:x\r\n".to_owned() + &"a:1\r\n".repeat(MAX_HEADER_FIELDS - 1);
        assert!(matches!(examine(format!("GET / HTTP/1.1\r\n{many}\r\n").as_bytes()), Ok(Some(_))));
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
    fn the_end_of_a_body_is_read_from_the_header_fields() {
        for (head, expected) in [
            ("GET / HTTP/1.0\r\nHost: api.example:8080\r\n\r\n", 0),
            ("POST / HTTP/1.1\r\nHOST: [::1]:80 \r\nContent-Length:7 \r\n\r\n", 7),
            ("POST / HTTP/1.1\r\nHost:127.0.0.1\r\nTransfer-Encoding: Chunked\r\n\r\n", CHUNKED),
        ] {
            let examined = examine(head.as_bytes());
            assert_eq!(examined, Ok(Some(expected.saturating_add(head.len() as u64))), "{head:?}");
        }
    }
}
