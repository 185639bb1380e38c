//! Says why the chain refuses a transaction, in the program's own words instead of numbers.

use std::{collections::BTreeMap, sync::LazyLock};

use serde_json::Value;

/// The interface of the program, which has the text of every error.
static IDL: &str = include_str!("../../../idl/agent_marketplace.json");

/// Numbers of the token program that a wallet can cause.
const INSUFFICIENT_FUNDS: u32 = 1;

static TEXTS: LazyLock<BTreeMap<u32, String>> = LazyLock::new(|| {
    let idl: Value = serde_json::from_str(IDL).unwrap_or_default();
    let errors = idl.get("errors").and_then(Value::as_array).into_iter().flatten();
    let text = |error: &Value| {
        let (message, name) = (error.get("msg")?.as_str()?, error.get("name")?.as_str()?);
        Some((u32::try_from(error.get("code")?.as_u64()?).ok()?, format!("{message} ({name})")))
    };
    errors.filter_map(text).collect()
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
