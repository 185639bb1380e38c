//! What Anchor's library does not see in the program's source, added to the IDL: the seeds of every address that the
//! program derives, and the part of an open execution's account that follows behind its record.

use anchor_lang_idl::types::{
    Idl, IdlInstruction, IdlInstructionAccountItem, IdlPda, IdlSeed, IdlSeedAccount, IdlSeedArg, IdlSeedConst,
    IdlTypeDef,
};
use anyhow::Result;
use crtx_protocol::seeds;

const EVENT_AUTHORITY: &[u8] = b"__event_authority";

/// `OpenTerms` of the program's `state/execution_record.rs`.
const OPEN_TERMS: &str = r#"{
    "name": "OpenTerms",
    "docs": [
        "What only an open execution needs. In the account it follows behind `ExecutionRecord`, and is dropped when the",
        "execution ends."
    ],
    "serialization": "bytemuck",
    "repr": { "kind": "c" },
    "type": {
        "kind": "struct",
        "fields": [
            { "name": "request_hash", "docs": ["SHA-256 of the RFC 8785 form of `{task, parameters}`."],
              "type": { "array": ["u8", 32] } },
            { "name": "result_key", "docs": ["The listing's result key when the execution was opened."],
              "type": "pubkey" },
            { "name": "grant",
              "docs": ["The spending grant used; all zeros when the wallet signed by itself."], "type": "pubkey" },
            { "name": "paid_from", "docs": ["The token account that paid. A refund may go to it."], "type": "pubkey" },
            { "name": "deadline_unix_s", "docs": ["Last second in which a result settles."], "type": "i64" },
            { "name": "timeout_seconds", "type": "u32" },
            { "name": "reserved", "type": { "array": ["u8", 4] } }
        ]
    }
}"#;

/// Adds both to the IDL.
pub fn add(idl: &mut Idl) -> Result<()> {
    for instruction in &mut idl.instructions {
        add_seeds(instruction);
    }
    let open_terms: IdlTypeDef = serde_json::from_str(OPEN_TERMS)?;
    let place = idl.types.iter().position(|other| other.name > open_terms.name).unwrap_or(idl.types.len());
    idl.types.insert(place, open_terms);
    Ok(())
}

fn add_seeds(instruction: &mut IdlInstruction) {
    let names: Vec<String> = instruction.accounts.iter().filter_map(single).collect();
    for account in &mut instruction.accounts {
        if let IdlInstructionAccountItem::Single(account) = account
            && let Some(seeds) = seeds_of(&instruction.name, &account.name, &names)
        {
            account.pda = Some(IdlPda { seeds, program: None });
        }
    }
}

fn single(account: &IdlInstructionAccountItem) -> Option<String> {
    match account {
        IdlInstructionAccountItem::Single(account) => Some(account.name.clone()),
        IdlInstructionAccountItem::Composite(_) => None,
    }
}

/// Seeds of an account of an instruction with the accounts `names`; `None` if its address is not derived.
///
/// Where a seed is neither an account nor an argument of the instruction, it is a field of one of its accounts.
fn seeds_of(instruction: &str, account: &str, names: &[String]) -> Option<Vec<IdlSeed>> {
    let has = |name: &str| names.iter().any(|other| other == name);
    let in_agent = |field: &str| field_of("agent", field, "AgentListed");
    let in_record = |field: &str| field_of("record", field, "ExecutionRecord");
    Some(match (account, instruction) {
        ("config", _) => vec![text(seeds::CONFIG)],
        ("event_authority", _) => vec![text(EVENT_AUTHORITY)],
        ("profile", "verify_creator") => {
            vec![text(seeds::CREATOR), field_of("profile", "wallet", "CreatorProfile")]
        }
        ("profile", _) => vec![text(seeds::CREATOR), key(if has("wallet") { "wallet" } else { "creator" })],
        ("agent", "list_agent") => vec![text(seeds::AGENT), key("creator"), argument("index")],
        ("agent", _) => {
            let creator = if has("creator") { key("creator") } else { in_agent("creator") };
            vec![text(seeds::AGENT), creator, in_agent("index")]
        }
        ("escrow", _) => vec![text(seeds::ESCROW), key("agent")],
        ("collateral_vault", _) => vec![text(seeds::COLLATERAL), key("agent")],
        ("record", "open_execution" | "open_execution_with_grant") => {
            vec![text(seeds::EXECUTION), key(if has("wallet") { "wallet" } else { "caller" }), argument("execution_id")]
        }
        ("record", _) => {
            let caller = if has("caller") { key("caller") } else { in_record("caller") };
            vec![text(seeds::EXECUTION), caller, in_record("execution_id")]
        }
        ("dispute", _) => vec![text(seeds::DISPUTE), key("record")],
        ("grant", "grant_spending") => vec![text(seeds::GRANT), key("wallet"), argument("session_key")],
        ("grant", "open_execution_with_grant") => vec![text(seeds::GRANT), key("wallet"), key("session_key")],
        ("grant", _) => {
            let wallet = if has("record") { in_record("caller") } else { key("wallet") };
            vec![text(seeds::GRANT), wallet, field_of("grant", "session_key", "SpendingGrant")]
        }
        ("spender", _) => vec![text(seeds::SPENDER), key("wallet")],
        _ => return None,
    })
}

fn text(bytes: &[u8]) -> IdlSeed {
    IdlSeed::Const(IdlSeedConst { value: bytes.to_vec() })
}

fn key(account: &str) -> IdlSeed {
    IdlSeed::Account(IdlSeedAccount { path: account.to_owned(), account: None })
}

fn field_of(account: &str, field: &str, kind: &str) -> IdlSeed {
    IdlSeed::Account(IdlSeedAccount { path: format!("{account}.{field}"), account: Some(kind.to_owned()) })
}

fn argument(name: &str) -> IdlSeed {
    IdlSeed::Arg(IdlSeedArg { path: format!("args.{name}") })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::workspace;

    fn committed() -> Idl {
        let text = fs::read_to_string(workspace::root().join("idl/agent_marketplace.json")).expect("the IDL");
        serde_json::from_str(&text).expect("an IDL")
    }

    /// Accounts whose addresses the program does not derive.
    const NOT_DERIVED: [&str; 24] = [
        "admin",
        "authority",
        "bond_token",
        "caller",
        "caller_token",
        "creator",
        "creator_token",
        "dispute_rent_payer",
        "instructions_sysvar",
        "insurance_token",
        "nominee",
        "payer",
        "program",
        "program_data",
        "refund_token",
        "rent_payer",
        "resolver",
        "session_key",
        "system_program",
        "token_program",
        "treasury_token",
        "usdc_mint",
        "wallet",
        "wallet_token",
    ];

    #[test]
    fn every_address_that_the_program_derives_has_its_seeds_in_the_idl() {
        for instruction in committed().instructions {
            for account in &instruction.accounts {
                let IdlInstructionAccountItem::Single(account) = account else { panic!("a flat list of accounts") };
                let derived = !NOT_DERIVED.contains(&account.name.as_str());
                assert_eq!(account.pda.is_some(), derived, "{}.{}", instruction.name, account.name);
            }
        }
    }

    #[test]
    fn the_seeds_in_the_idl_name_accounts_arguments_and_fields_that_exist() {
        let idl = committed();
        let fields = |kind: &str| {
            let found = idl.types.iter().find(|other| other.name == kind).expect("a type");
            serde_json::to_string(&found.ty).expect("JSON")
        };
        for instruction in &idl.instructions {
            let names: Vec<_> = instruction.accounts.iter().filter_map(single).collect();
            for account in &instruction.accounts {
                let IdlInstructionAccountItem::Single(account) = account else { panic!("a flat list of accounts") };
                for seed in account.pda.iter().flat_map(|pda| &pda.seeds) {
                    match seed {
                        IdlSeed::Const(seed) => assert!(!seed.value.is_empty()),
                        IdlSeed::Arg(seed) => {
                            let field = seed.path.strip_prefix("args.").expect("a field of the arguments");
                            let kind = serde_json::to_value(&instruction.args[0].ty).expect("JSON");
                            let kind = kind["defined"]["name"].as_str().expect("a defined type").to_owned();
                            assert!(fields(&kind).contains(&format!("\"{field}\"")), "{}", seed.path);
                        }
                        IdlSeed::Account(seed) => match (seed.path.split_once('.'), &seed.account) {
                            (None, None) => assert!(names.contains(&seed.path), "{}", seed.path),
                            (Some((account, field)), Some(kind)) => {
                                assert!(names.iter().any(|name| name == account), "{}", seed.path);
                                assert!(fields(kind).contains(&format!("\"{field}\"")), "{}", seed.path);
                            }
                            other => panic!("{other:?}"),
                        },
                    }
                }
            }
        }
    }
}
