//! Every error number has a test that ends in it, no number is used twice, and texts name the bounds.
#![expect(clippy::expect_used, reason = "a test: a panic is a failure")]

use std::{collections::BTreeMap, fs, path::Path};

use crtx_program_tests::{MarketplaceError as E, state::*};
use crtx_protocol::{call_text, failure_text, result_text};

/// Errors that no transaction can end in, because the chain's own programs refuse first. The unit tests of the
/// gate prove them.
const PROVED_ON_BYTES: [&str; 1] = ["SysvarUnreadable"];

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).expect("the file is there")
}

/// Names and discriminants as `error.rs` has them.
fn errors() -> Vec<(String, u32)> {
    read("../../programs/agent-marketplace/src/error.rs")
        .lines()
        .filter_map(|line| line.trim().strip_suffix(',')?.split_once(" = "))
        .filter_map(|(name, number)| Some((name.to_owned(), number.parse().ok()?)))
        .collect()
}

/// All Rust files below a folder.
fn sources(folder: &Path) -> String {
    let entries = fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("an entry").path());
    let read = |path: std::path::PathBuf| match path.extension() {
        _ if path.is_dir() => sources(&path),
        Some(extension) if extension == "rs" => fs::read_to_string(&path).expect("the file is there"),
        _ => String::new(),
    };
    entries.map(read).collect()
}

/// `true` if `text` contains `path` as a whole word.
fn mentions(text: &str, path: &str) -> bool {
    text.match_indices(path).any(|(at, _)| {
        let behind = text[at..].chars().nth(path.chars().count());
        let before = text[..at].chars().next_back();
        let part_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !part_of_word(behind) && !part_of_word(before)
    })
}

#[test]
fn every_error_number_ends_a_test() {
    let tests = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"));
    let gate = read("../../programs/agent-marketplace/src/ed25519_gate.rs");
    let (_, gate_tests) = gate.split_once("mod tests").expect("the gate has tests");
    let untested: Vec<_> = errors()
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| {
            let (long, short) = (format!("MarketplaceError::{name}"), format!("E::{name}"));
            let proved = mentions(&tests, &long) || mentions(&tests, &short);
            let on_bytes = PROVED_ON_BYTES.contains(&name.as_str()) && mentions(gate_tests, &long);
            !(proved || on_bytes)
        })
        .collect();
    assert!(untested.is_empty(), "no test ends in {untested:?}");
}

#[test]
fn no_number_is_used_twice_and_the_idl_knows_them_all() {
    let errors = errors();
    assert!(errors.len() > 80, "the enum was not read");
    let mut by_number = BTreeMap::new();
    for (name, number) in &errors {
        assert_eq!(by_number.insert(number + 6_000, name), None, "{name}");
    }
    let idl: serde_json::Value = serde_json::from_str(&read("../../idl/agent_marketplace.json")).expect("JSON");
    let in_idl: BTreeMap<_, _> = idl["errors"]
        .as_array()
        .expect("errors")
        .iter()
        .map(|error| (error["code"].as_u64().expect("a code"), error["name"].as_str().expect("a name").to_owned()))
        .collect();
    let expected: BTreeMap<_, _> =
        by_number.into_iter().map(|(number, name)| (u64::from(number), name.clone())).collect();
    assert_eq!(in_idl, expected);
}

#[test]
fn a_text_names_the_bounds_that_the_program_applies() {
    let bounds: [(E, &[i128]); 21] = [
        (E::FeeTooHigh, &[0, i128::from(MarketParameters::MAX_FEE_BPS)]),
        (
            E::DurationOutOfRange,
            &[
                i128::from(MarketParameters::MIN_DISPUTE_WINDOW_S),
                i128::from(MarketParameters::MAX_DISPUTE_WINDOW_S),
                0,
                i128::from(MarketParameters::MAX_SETTLE_GRACE_S),
            ],
        ),
        (E::AnnouncementNotDue, &[i128::from(Config::ROLE_DELAY_S), 16, i128::from(Config::PARAMETERS_DELAY_S), 7]),
        (E::AnnouncementLapsed, &[i128::from(Config::ANNOUNCEMENT_LIFE_S), 7]),
        (E::MinPriceOutOfRange, &[1, i128::from(MAX_PRICE)]),
        (E::DisputeBondTooHigh, &[i128::from(MarketParameters::MAX_DISPUTE_BOND)]),
        (E::PenaltyMultipleOutOfRange, &[1, i128::from(MarketParameters::MAX_PENALTY_MULTIPLE)]),
        (E::DisplayNameInvalid, &[1, MAX_DISPLAY_NAME_BYTES as i128]),
        (E::PriceOutOfRange, &[i128::from(MAX_PRICE)]),
        (E::TokensImplausible, &[i128::from(MAX_TOKENS_USED)]),
        (E::TimeoutOutOfRange, &[i128::from(MIN_TIMEOUT_S), i128::from(MAX_TIMEOUT_S)]),
        (E::MetadataUriInvalid, &[1, MAX_METADATA_URI_BYTES as i128]),
        (E::AmountZero, &[1, i128::from(u64::MAX)]),
        (
            E::Ed25519WrongLength,
            &[112 + result_text::LEN as i128, 112 + call_text::LEN as i128, 112 + failure_text::LEN as i128],
        ),
        (E::Ed25519WrongMessageSize, &[result_text::LEN as i128, call_text::LEN as i128, failure_text::LEN as i128]),
        (E::WrongVersion, &[LAYOUT_VERSION as i128]),
        (E::TooManyAllowedAgents, &[0, MAX_ALLOWED_AGENTS as i128]),
        (E::GrantCapZero, &[1, i128::from(u64::MAX)]),
        (E::EvidenceUriInvalid, &[1, MAX_EVIDENCE_URI_BYTES as i128]),
        (E::DisputeStillDecidable, &[i128::from(Dispute::LIMIT_S)]),
        (E::AnswerPeriodRunning, &[i128::from(Dispute::ANSWER_PERIOD_S), 24]),
    ];
    for (error, bounds) in bounds {
        let text = error.to_string();
        let numbers: Vec<i128> =
            text.split(|c: char| !c.is_ascii_alphanumeric()).filter_map(|word| word.parse().ok()).collect();
        assert_eq!(numbers.get(..bounds.len()), Some(bounds), "{text}");
    }
}
