//! Says why the chain refuses a transaction, in the program's own words instead of numbers.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// The interface of the program, which has the text of every error.
static IDL: &str = include_str!("../../../idl/agent_marketplace.json");

/// Numbers of the token program that a wallet can cause.
const INSUFFICIENT_FUNDS: u32 = 1;

#[derive(Deserialize)]
struct Idl {
    errors: Vec<IdlError>,
}

#[derive(Deserialize)]
struct IdlError {
    code: u32,
    name: String,
    msg: String,
}

static TEXTS: LazyLock<BTreeMap<u32, String>> = LazyLock::new(|| {
    let errors = serde_json::from_str::<Idl>(IDL).map(|idl| idl.errors).unwrap_or_default();
    errors.into_iter().map(|error| (error.code, format!("{} ({})", error.msg, error.name))).collect()
});

/// `error`: the text of a transaction error, such as
/// `Error processing Instruction 2: custom program error: 0x1838`.
pub fn explain(error: &str) -> String {
    let number = error.rsplit_once("custom program error: 0x").and_then(|(_, hex)| u32::from_str_radix(hex, 16).ok());
    match number {
        Some(INSUFFICIENT_FUNDS) => "an account that pays has too little USDC, or too little SOL for rent".to_owned(),
        Some(number) => match TEXTS.get(&number) {
            Some(text) => text.clone(),
            None => format!("a program refused it with its error {number}"),
        },
        None => error.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use agent_marketplace::error::MarketplaceError;

    use super::*;

    #[test]
    fn an_error_of_the_program_is_shown_with_its_own_text() {
        let code = u32::from(MarketplaceError::AgentNotActive);
        let text = explain(&format!("Error processing Instruction 2: custom program error: {code:#x}"));
        assert_eq!(text, format!("{} (AgentNotActive)", MarketplaceError::AgentNotActive));
        assert!(TEXTS.len() > 80, "{}", TEXTS.len());
    }

    #[test]
    fn other_errors_are_said_as_they_are() {
        assert!(explain("Error processing Instruction 1: custom program error: 0x1").contains("too little USDC"));
        assert!(explain("Error processing Instruction 1: custom program error: 0xffff").contains("65535"));
        assert_eq!(explain("Blockhash not found"), "Blockhash not found");
    }
}
