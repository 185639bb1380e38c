//! The checks of one answer to a request that the agent should complete.

use crtx_http::outbound::OutboundError;
use crtx_protocol::{
    creator_answer::{
        Answer, Fields, MAX_ANSWER_BYTES, MAX_RESULT_BYTES, MAX_STEPS_BYTES, MAX_STEPS_MEMORY, MAX_TOKENS_USED,
        Signatory, fits_in_memory,
    },
    result_hash::{ResultHash, parse_signature},
};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::{
    failure, hash_mistakes, quote,
    report::{Check, CheckName},
    schemas::OutputSchema,
    send::{NoAnswer, ReceivedAnswer, TestRequest},
    signature_mistakes::{self, SignatureVerdict, Signed},
    subject::TestedEndpoint,
};

/// Longest text that can be a hash or a signature in any spelling.
const MAX_PROOF_CHARS: usize = 200;

/// What the checks of one answer found.
#[derive(Debug, Default)]
pub struct Judged {
    /// Every check of an answer once, in the order of the report.
    pub checks: Vec<Check>,
    /// The result, if the answer has one.
    pub result: Option<String>,
    /// What the agent said, if it answered `failed`.
    pub failed: Option<String>,
    /// The checks of form and signature of the failure, if the agent answered `failed`.
    pub failure: Option<[Check; 2]>,
    /// The HTTP status of a whole answer.
    pub http_status: Option<u16>,
    pub answer_ms: Option<u64>,
    /// The test had no time to wait for the answer.
    pub no_time: bool,
}

impl Judged {
    /// The first check that failed, without those that `ignored` names.
    pub fn problem(&self, ignored: &[CheckName]) -> Option<&Check> {
        self.checks.iter().find(|check| check.has_failed() && !ignored.contains(&check.name))
    }
}

/// Checks an answer. Without `output` it compares the result with no schema. It runs on a thread that has the stack
/// that schemas need.
pub fn judge(
    subject: &TestedEndpoint,
    output: Option<&OutputSchema>,
    request: &TestRequest,
    outcome: Result<ReceivedAnswer, NoAnswer>,
) -> Judged {
    let mut judge = Judge { subject, output, request, judged: Judged::default(), needs: None };
    match outcome {
        Ok(received) => {
            judge.judged.http_status = Some(received.status);
            judge.judged.answer_ms = Some(milliseconds(&received));
            judge.connection(&received);
            if judge.fields(&received).is_some() {
                judge.agree_with_the_gateway(&received.body);
            }
        }
        Err(missing) => judge.nothing(missing),
    }
    judge.finish()
}

struct Judge<'a> {
    subject: &'a TestedEndpoint,
    output: Option<&'a OutputSchema>,
    request: &'a TestRequest,
    judged: Judged,
    /// Why the checks that are left are skipped.
    needs: Option<String>,
}

impl Judge<'_> {
    fn pass(&mut self, name: CheckName, received: impl Into<String>) {
        self.judged.checks.push(Check::passed(name, received));
    }

    fn fail(&mut self, name: CheckName, received: impl Into<String>, fix: impl Into<String>) {
        self.judged.checks.push(Check::failed(name, received, fix));
    }

    fn skip(&mut self, name: CheckName, reason: impl Into<String>) {
        self.judged.checks.push(Check::skipped(name, reason));
    }

    /// Notes a failure after which nothing more can be checked. `finish` skips the checks that have no entry.
    fn stop(&mut self, name: CheckName, received: impl Into<String>, fix: impl Into<String>) {
        self.fail(name, received, fix);
        self.needs = Some(needs(name));
    }

    /// There is no whole answer.
    fn nothing(&mut self, missing: NoAnswer) {
        use CheckName::{Reachable, ResultSize, Tls, WholeAnswer, WithinTimeout};
        if matches!(missing, NoAnswer::NotSecure(_) | NoAnswer::Dropped(_) | NoAnswer::TooLarge) {
            self.pass(Reachable, "a connection was made");
        }
        match missing {
            NoAnswer::NotCallable(OutboundError::NotHttps) => {
                self.stop(Tls, quote::text(&self.subject.endpoint), "Serve the endpoint under an https URL.");
            }
            NoAnswer::NotCallable(problem) => {
                let fix = "Use an https URL on port 443 with a host name of the public internet.";
                self.stop(Reachable, quote::text(&problem.to_string()), fix);
            }
            NoAnswer::Unreachable(cause) => {
                let fix = "Start the service, and let connections to its port through from the internet.";
                self.stop(Reachable, cause, fix);
            }
            NoAnswer::NotSecure(cause) => {
                self.stop(Tls, cause, "Install a certificate for the host, with its chain, that browsers trust.");
            }
            NoAnswer::Late => {
                let waited = format!("no whole answer within {} seconds", self.subject.timeout_seconds);
                self.stop(WithinTimeout, waited, "Answer faster, or list the agent with a longer `timeout_seconds`.");
            }
            NoAnswer::NoTime => {
                self.judged.no_time = true;
                self.needs = Some("the test had no more time to wait for an answer".to_owned());
            }
            NoAnswer::Dropped(cause) => {
                let fix = "Look into the service's log: it closed the connection before its answer was complete.";
                self.stop(WholeAnswer, cause, fix);
            }
            NoAnswer::TooLarge => {
                let received = format!("the whole answer has more than {MAX_ANSWER_BYTES} bytes");
                self.stop(ResultSize, received, "Return at most 1 MiB: a larger result can be a link to the data.");
            }
        }
    }

    fn connection(&mut self, received: &ReceivedAnswer) {
        let ms = milliseconds(received);
        self.pass(CheckName::Reachable, format!("answered after {ms} ms"));
        if self.subject.endpoint.trim_start().get(..6).is_some_and(|start| start.eq_ignore_ascii_case("https:")) {
            self.pass(CheckName::Tls, "the certificate is valid");
        } else {
            self.skip(CheckName::Tls, "the endpoint is a plain http URL, which only local networks allow");
        }
        self.pass(CheckName::WithinTimeout, format!("{ms} ms of {} s", self.subject.timeout_seconds));
        self.pass(CheckName::WholeAnswer, format!("{} bytes", received.body.len()));
    }

    /// Checks headers and members. `None`: the answer breaks a rule that the later checks need.
    fn fields(&mut self, received: &ReceivedAnswer) -> Option<()> {
        if let Some(encoding) = &received.encoding {
            let fix = "Send the answer without compression: the request says `accept-encoding: identity`.";
            self.stop(CheckName::ContentEncoding, format!("content-encoding: {encoding}"), fix);
            return None;
        }
        self.pass(CheckName::ContentEncoding, "none");
        let fields = Fields::read(&received.body);
        let reports_failure = fields.as_ref().is_ok_and(|fields| text(fields.status).as_deref() == Some("failed"));
        self.http_status(received, reports_failure)?;
        self.content_type(received.content_type.as_deref());
        let fields = match fields {
            Ok(fields) => fields,
            Err(problem) => {
                let start = quote::bytes(&received.body);
                self.stop(CheckName::JsonShape, format!("{problem}: {start}"), json_fix(&received.body));
                return None;
            }
        };
        self.pass(CheckName::JsonShape, "a JSON object");
        self.execution_id(fields.execution_id);
        self.status(&fields)?;
        self.tokens_used(fields.tokens_used);
        self.steps(fields.steps);
        let raw = fields.result;
        let result = self.result(raw)?;
        self.proof(&fields, &result, raw.map_or("", RawValue::get));
        if let Some(output) = self.output {
            self.judged.checks.push(output.check(&result));
        }
        self.judged.result = Some(result);
        Some(())
    }

    fn http_status(&mut self, received: &ReceivedAnswer, reports_failure: bool) -> Option<()> {
        let status = received.status;
        if (200..300).contains(&status) || reports_failure {
            self.pass(CheckName::HttpStatus, status.to_string());
            return Some(());
        }
        let body = quote::bytes(&received.body);
        let fix = match status {
            300..=399 => "Name the final URL as the endpoint: redirects are not followed.",
            401 | 403 => "Let requests of the marketplace through: they carry no credentials.",
            404 | 405 => "Name the URL that answers `POST`; nothing is added to its path.",
            415 | 400 | 422 => "Accept the JSON body that the specification describes.",
            _ => "Answer with status 200, or with `\"status\": \"failed\"` if the task cannot be done.",
        };
        let location = received.location.as_deref().map(|to| format!(", location {to}")).unwrap_or_default();
        self.stop(CheckName::HttpStatus, format!("HTTP {status}{location}: {body}"), fix);
        None
    }

    fn content_type(&mut self, value: Option<&str>) {
        let essence = value.and_then(|value| value.split(';').next()).unwrap_or_default().trim().to_ascii_lowercase();
        let shown = value.unwrap_or("no content-type");
        if essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json")) {
            self.pass(CheckName::ContentType, shown);
        } else {
            self.fail(CheckName::ContentType, shown, "Set the header `content-type: application/json`.");
        }
    }

    fn execution_id(&mut self, raw: Option<&RawValue>) {
        let named: Option<Uuid> = text(raw).and_then(|text| text.parse().ok());
        let asked = self.request.execution_id;
        if named == Some(asked) {
            self.pass(CheckName::ExecutionId, asked.to_string());
        } else {
            let received = format!("{}; the request has {asked}", shown(raw));
            self.fail(CheckName::ExecutionId, received, "Copy `execution_id` from the request into the answer.");
        }
    }

    fn status(&mut self, fields: &Fields<'_>) -> Option<()> {
        const NAME: CheckName = CheckName::Status;
        match text(fields.status).as_deref() {
            Some("completed") => {
                self.pass(NAME, "completed");
                return Some(());
            }
            Some("failed") => {
                let error = shown(fields.error);
                let fix = "Let the agent complete the example, or test with an example that it completes.";
                self.stop(NAME, format!("failed, with the error {error}"), fix);
                self.judged.failed = Some(error);
                self.judged.failure = Some(failure::of_fields(self.subject, self.request, fields));
            }
            _ => self.stop(NAME, shown(fields.status), "Answer with `\"status\": \"completed\"` or `\"failed\"`."),
        }
        None
    }

    fn result(&mut self, raw: Option<&RawValue>) -> Option<String> {
        let Some(result) = text(raw) else {
            let fix = if raw.is_some_and(|raw| raw.get().starts_with('"')) {
                "Return valid Unicode: the string has half of a surrogate pair."
            } else {
                "Return a string. Serialise other values to JSON text first, and hash and sign this text."
            };
            self.stop(CheckName::ResultIsString, shown(raw), fix);
            return None;
        };
        self.pass(CheckName::ResultIsString, format!("a string, {}", quote::hexadecimal(result.as_bytes())));
        let size = format!("{} bytes", result.len());
        if result.len() <= MAX_RESULT_BYTES {
            self.pass(CheckName::ResultSize, size);
        } else {
            let fix = "Return at most 1 MiB: a larger result can be a link to the data.";
            self.fail(CheckName::ResultSize, size, fix);
        }
        Some(result)
    }

    fn proof(&mut self, fields: &Fields<'_>, result: &str, raw: &str) {
        let claimed = match text(fields.result_hash).map(|text| text.parse::<ResultHash>()) {
            Some(Ok(hash)) => hash,
            _ => {
                let fix = hash_form_fix(&text(fields.result_hash).unwrap_or_default());
                self.stop(CheckName::ResultHashForm, shown(fields.result_hash), fix);
                return;
            }
        };
        self.pass(CheckName::ResultHashForm, claimed.to_string());
        self.hash(&claimed, result, raw);
        let Some(signature) = self.signature_form(CheckName::SignatureForm, fields.signature) else { return };
        let opening = self.request.opening;
        let signed = Signed { result, hash: &claimed, execution_id: self.request.execution_id, opening: &opening };
        let key_is_right = self.signature(signed, &signature);
        if !self.subject.binding {
            for name in [CheckName::CallSignatureForm, CheckName::CallSignature] {
                self.skip(name, "the listing does not promise results that are signed for the call");
            }
        } else if let Some(signature) = self.signature_form(CheckName::CallSignatureForm, fields.call_signature)
            && key_is_right
        {
            self.call_signature(signed, &signature);
        }
    }

    fn hash(&mut self, claimed: &ResultHash, result: &str, raw: &str) {
        let right = ResultHash::of(result.as_bytes());
        if right == *claimed {
            self.pass(CheckName::ResultHash, claimed.to_string());
            return;
        }
        let bytes = quote::hexadecimal(result.as_bytes());
        let mistake = hash_mistakes::explain(claimed, result, raw, &self.request.example.task);
        let of = mistake.map(|mistake| format!(", the hash of {}", mistake.of)).unwrap_or_default();
        let received = format!("{claimed}{of}; the result has {bytes}, and their hash is {right}");
        let fix = mistake.map_or("Hash the UTF-8 bytes of exactly the string that you return.", |mistake| mistake.fix);
        self.fail(CheckName::ResultHash, received, fix);
    }

    fn signature_form(&mut self, name: CheckName, raw: Option<&RawValue>) -> Option<[u8; 64]> {
        let written = text(raw);
        if let Some(Ok(signature)) = written.as_deref().map(parse_signature) {
            self.pass(name, format!("64 bytes {}", hex::encode(signature)));
            return Some(signature);
        }
        let fix = match (&written, raw) {
            (None, Some(_)) => "Write the signature as a string: `ed25519:` and the base58 form of its 64 bytes.",
            _ => signature_form_fix(written.as_deref().unwrap_or_default()),
        };
        self.stop(name, shown(raw), fix);
        None
    }

    /// Whether the key is the listed one.
    fn signature(&mut self, signed: Signed<'_>, signature: &[u8; 64]) -> bool {
        let listed = self.subject.result_key.to_bytes();
        let Some(key) = signature_mistakes::usable(&listed) else {
            let (received, fix) = private_key(&listed, signed, signature).unwrap_or_else(|| {
                let received = format!("{} is not such a key", self.subject.result_key);
                (received, "List the 32 bytes of an Ed25519 public key in base58 form.".to_owned())
            });
            self.stop(CheckName::ResultKey, received, fix);
            return false;
        };
        let right = ResultHash::of(signed.result.as_bytes());
        let verdict = match signature_mistakes::of_result(&key, signed, signature) {
            SignatureVerdict::Unknown => {
                signature_mistakes::of_result(&key, Signed { hash: &right, ..signed }, signature)
            }
            known => known,
        };
        match verdict {
            SignatureVerdict::Good => {
                self.pass(CheckName::ResultKey, self.subject.result_key.to_string());
                self.pass(CheckName::Signature, format!("over {}", signed.hash));
                true
            }
            SignatureVerdict::Other(over) => {
                self.pass(CheckName::ResultKey, self.subject.result_key.to_string());
                let message = quote::hexadecimal(&signed.hash.signed_text());
                let fix = format!("Sign the 71 UTF-8 bytes of the text `result_hash`: {message}.");
                self.fail(CheckName::Signature, format!("a signature over {over}"), fix);
                true
            }
            SignatureVerdict::Unknown => {
                let (received, fix) = private_key(&listed, signed, signature).unwrap_or_else(|| self.foreign_key());
                self.stop(CheckName::ResultKey, received, fix);
                false
            }
        }
    }

    fn foreign_key(&self) -> (String, String) {
        let received = format!(
            "not a signature of {} over `result_hash`, or over any text that is often signed by mistake",
            self.subject.result_key
        );
        let fix = "Sign with the private key of `result_key`, or list the public key of the key that signs.";
        (received, fix.to_owned())
    }

    fn call_signature(&mut self, signed: Signed<'_>, signature: &[u8; 64]) {
        const NAME: CheckName = CheckName::CallSignature;
        let listed = self.subject.result_key.to_bytes();
        let Some(key) = signature_mistakes::usable(&listed) else { return };
        let fix = "Sign `crtx-call-v2:`, the 32 bytes that `execution_record` is the base58 form of, `:`, the 8 bytes \
                   of `opened_at_unix_s`, lowest first, `:`, and the text `result_hash`: 126 bytes.";
        match signature_mistakes::of_call(&key, signed, signature) {
            SignatureVerdict::Good => self.pass(NAME, format!("for the record {}", self.request.record())),
            SignatureVerdict::Other(over) => self.fail(NAME, format!("a signature over {over}"), fix),
            SignatureVerdict::Unknown => self.fail(NAME, "a signature over another message or by another key", fix),
        }
    }

    fn tokens_used(&mut self, raw: Option<&RawValue>) {
        const NAME: CheckName = CheckName::TokensUsed;
        let Some(written) = raw else { return self.skip(NAME, "the answer has no `tokens_used`") };
        match serde_json::from_str::<u64>(written.get()) {
            Ok(tokens) if tokens <= MAX_TOKENS_USED => self.pass(NAME, tokens.to_string()),
            _ => self.fail(NAME, shown(raw), "Report a whole number, or leave `tokens_used` out."),
        }
    }

    fn steps(&mut self, raw: Option<&RawValue>) {
        const NAME: CheckName = CheckName::Steps;
        let Some(written) = raw.map(RawValue::get) else { return self.skip(NAME, "the answer has no `steps`") };
        if !written.starts_with('[') {
            self.fail(NAME, shown(raw), "Report an array, or leave `steps` out.");
        } else if written.len() > MAX_STEPS_BYTES || !fits_in_memory(written, MAX_STEPS_MEMORY) {
            let received = format!("an array of {} bytes", written.len());
            self.fail(NAME, received, "Shorten the trace: callers do not get one that is larger than the limits.");
        } else {
            self.pass(NAME, format!("an array of {} bytes", written.len()));
        }
    }

    /// The gateway's own check decides whether a caller gets the result. If it refuses what passed here, the report
    /// says so.
    fn agree_with_the_gateway(&mut self, body: &[u8]) {
        let signatory = Signatory {
            result_key: self.subject.result_key,
            opening: self.request.opening,
            binding: self.subject.binding,
        };
        let accepted = Answer::read(body).and_then(|answer| answer.check(self.request.execution_id, &signatory));
        let Err(refusal) = accepted else { return };
        if !self.judged.checks.iter().any(Check::has_failed) {
            self.judged.checks.retain(|check| check.name != CheckName::JsonShape);
            let fix = "Answer as \"Creator service protocol\" in the specification describes it.";
            self.fail(CheckName::JsonShape, quote::text(&refusal.to_string()), fix);
        }
    }

    fn finish(mut self) -> Judged {
        let reason = self.needs.unwrap_or_else(|| "not checked for this request".to_owned());
        let of_an_answer = CheckName::Reachable..=CheckName::OutputSchema;
        for &name in CheckName::ALL.iter().filter(|name| of_an_answer.contains(name)) {
            if !self.judged.checks.iter().any(|check| check.name == name) {
                self.judged.checks.push(Check::skipped(name, reason.clone()));
            }
        }
        self.judged.checks.sort_by_key(|check| check.name);
        self.judged
    }
}

/// What was received and how to fix it, if the listed key is a private key.
fn private_key(listed: &[u8; 32], signed: Signed<'_>, signature: &[u8; 64]) -> Option<(String, String)> {
    let public = signature_mistakes::made_with_private_key(listed, signed, signature)?;
    let public = bs58::encode(public.as_bytes()).into_string();
    let fix = "Make a new key pair: the private key is known to others now. List the public key of the new one.";
    Some((format!("`result_key` is the private key of {public}"), fix.to_owned()))
}

/// The reason to skip a check that needs `name` to pass.
pub fn needs(name: CheckName) -> String {
    format!("it needs `{name}` to pass first")
}

pub fn milliseconds(received: &ReceivedAnswer) -> u64 {
    u64::try_from(received.elapsed.as_millis()).unwrap_or(u64::MAX)
}

/// A member that is a string.
pub fn text(raw: Option<&RawValue>) -> Option<String> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
}

/// A member as it stands in the answer.
pub fn shown(raw: Option<&RawValue>) -> String {
    raw.map_or_else(|| "missing or null".to_owned(), |raw| quote::text(raw.get()))
}

fn json_fix(body: &[u8]) -> &'static str {
    let start = body.trim_ascii_start();
    if body.starts_with(b"\xef\xbb\xbf") {
        "Write the answer without a byte order mark."
    } else if std::str::from_utf8(body).is_err() {
        "Encode the answer as UTF-8."
    } else if start.starts_with(b"<") {
        "Answer with JSON: this is an HTML page, perhaps of a proxy in front of the service."
    } else if start.starts_with(b"\"") {
        "Serialise the answer once: it is a JSON string that holds JSON."
    } else if start.starts_with(b"[") {
        "Answer with the object itself, not with an array."
    } else if start.is_empty() {
        "Answer with a JSON object: the body is empty."
    } else {
        "Answer with one valid JSON object that holds each member once."
    }
}

fn hash_form_fix(text: &str) -> &'static str {
    let digits = text.strip_prefix("sha256:").unwrap_or(text);
    let hexadecimal = digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if hexadecimal && digits.bytes().any(|b| b.is_ascii_uppercase()) {
        "Write the hexadecimal digits in lower case, with `sha256:` in front, and sign this text."
    } else if hexadecimal {
        "Put `sha256:` in front of the hexadecimal digits, and sign this text."
    } else if text.len() <= MAX_PROOF_CHARS && text.ends_with('=') {
        "Write the hash in hexadecimal form, not in base64."
    } else {
        "Write `sha256:` and the 64 lower-case hexadecimal digits of the hash."
    }
}

pub fn signature_form_fix(text: &str) -> &'static str {
    let encoded = text.strip_prefix("ed25519:").unwrap_or(text);
    if text.is_empty() {
        return "Add the signature to the answer.";
    }
    if encoded.len() > MAX_PROOF_CHARS {
        return "Write `ed25519:` and the base58 form of the 64 bytes of the signature.";
    }
    if encoded.len() == 128 && encoded.bytes().all(|b| b.is_ascii_hexdigit()) {
        return "Write the signature in base58, not in hexadecimal form, with `ed25519:` in front.";
    }
    match bs58::decode(encoded).into_vec() {
        Ok(bytes) if bytes.len() == 64 => "Put `ed25519:` in front of the base58 text.",
        Ok(_) => "Write all 64 bytes of the signature, and nothing else, in base58.",
        Err(_) => "Write the signature in base58, not in base64, with `ed25519:` in front.",
    }
}
