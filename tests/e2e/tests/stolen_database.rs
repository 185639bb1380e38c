//! A thief has the whole database and the gateway's key pair, and tries everything with them to open an execution for
//! somebody's wallet.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use agent_marketplace::instructions::GrantSpendingArgs;
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use crtx_chain::{
    Outcome, ProgramAccount, SignedTransaction,
    instructions::Opening,
    token::{self, TOKEN_PROGRAM_ID, USDC_DECIMALS},
};
use crtx_e2e::{
    Up,
    chain::Chain,
    market::{Answer, Balances, Market},
    session::{Headers, Session, ask, bearer, challenge, registration, sign_in_body, signature},
};
use crtx_protocol::api_key::{ApiKey, KeyNetwork};
use crtx_store::testing::dump::{dump, runs_of_32_bytes};
use ed25519_dalek::SigningKey;
use reqwest::Method;
use serde_json::{Value, json};
use solana_instruction::{AccountMeta, Instruction};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

const HOUR: Duration = Duration::from_secs(3_600);

/// A marketplace, and what was stolen from it.
struct Loot {
    market: Market,
    chain: Chain,
    gateway: Keypair,
    /// Everything that the database holds, as text.
    database: String,
    /// The key that the thief wants to use. Its owner has registered and used it.
    session_key: Pubkey,
}

/// The gateway's key pair, as the services read it.
fn gateway_keypair(market: &Market) -> Keypair {
    let file = std::fs::read(market.info.data_dir().join("gateway-authority.json")).unwrap();
    let bytes: Vec<u8> = serde_json::from_slice(&file).unwrap();
    Keypair::new_from_array(bytes[..32].try_into().unwrap())
}

async fn call(market: &Market, headers: &Headers, body: &Value) -> Answer {
    let path = format!("/v1/agents/{}/execute", market.agent("text-stats"));
    ask(market, Method::POST, &path, headers, Some(body)).await
}

/// The execution records of the wallet, by address, with all their bytes.
async fn records(chain: &Chain) -> BTreeMap<Pubkey, Vec<u8>> {
    let accounts = chain.accounts().await.into_iter();
    let records = accounts.filter(|(_, account)| match ProgramAccount::decode(&account.data) {
        Ok(ProgramAccount::Execution(_)) => true,
        other => {
            assert!(other.is_ok(), "an account of the program");
            false
        }
    });
    records.map(|(address, account)| (address, account.data)).collect()
}

/// Values of exactly 32 bytes: keys, hashes and addresses, each as a column holds it.
fn values_of_32_bytes(database: &str) -> BTreeSet<[u8; 32]> {
    let words = database.split(|c: char| !c.is_ascii_alphanumeric());
    let values = words.filter_map(|word| match word.strip_prefix('x').unwrap_or(word) {
        hex if hex.len() == 64 => runs_of_32_bytes(hex).first().copied(),
        base58 => base58.parse::<Pubkey>().ok().map(|address| address.to_bytes()),
    });
    values.collect()
}

/// Every signed transaction that the database holds.
fn signed_transactions(database: &str) -> Vec<Vec<u8>> {
    let words = database.split(|c: char| !c.is_ascii_alphanumeric());
    // The count of signatures comes first. A hash is shorter.
    let transactions = words.filter_map(|word| word.strip_prefix('x').filter(|hex| hex.len() > 256));
    let bytes = transactions.map(|hex| {
        (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16)).collect::<Result<Vec<_>, _>>()
    });
    bytes.filter_map(Result::ok).filter(|bytes| (1..=3).contains(&bytes[0])).collect()
}

impl Loot {
    fn opening(&self) -> Opening {
        Opening {
            agent: self.market.agent("text-stats").parse().unwrap(),
            execution_id: uuid::Uuid::new_v4().into_bytes(),
            request_hash: [7; 32],
            max_amount: self.market.price("text-stats"),
            terms_hash: None,
            min_cover: 0,
        }
    }

    /// The honest instruction of the key, with the gateway as payer.
    fn opening_with_key(&self) -> Instruction {
        let wallet = self.chain.wallet.pubkey();
        self.chain.build.open_execution_with_grant(&wallet, &self.session_key, &self.gateway.pubkey(), &self.opening())
    }

    /// Instructions that the gateway's signature alone does not carry, and whose missing signatures are left out.
    fn instructions_of_the_gateway(&self) -> Vec<(&'static str, Instruction)> {
        let (build, wallet, gateway) = (&self.chain.build, self.chain.wallet.pubkey(), self.gateway.pubkey());
        let own = build.open_execution_with_grant(&wallet, &gateway, &gateway, &self.opening());
        let grant = build.addresses.grant(&wallet, &self.session_key);
        let usdc = build.usdc_of(&wallet);
        let transfer = |authority: Pubkey| {
            let mut data = vec![12];
            data.extend_from_slice(&1_000_u64.to_le_bytes());
            data.push(USDC_DECIMALS);
            let accounts = vec![
                AccountMeta::new(usdc, false),
                AccountMeta::new_readonly(build.usdc_mint, false),
                AccountMeta::new(build.usdc_of(&self.chain.creator.pubkey()), false),
                AccountMeta::new_readonly(authority, true),
            ];
            Instruction { program_id: TOKEN_PROGRAM_ID, accounts, data }
        };
        let args = GrantSpendingArgs {
            session_key: gateway,
            per_call_cap: u64::MAX,
            total_cap: u64::MAX,
            daily_cap: 0,
            expires_at_unix_s: 4_000_000_000,
            allowed_agents: vec![],
        };
        let own_grant = build.addresses.grant(&wallet, &gateway);
        let all = [
            ("the gateway's key in place of the session key", own.clone()),
            ("the same with the grant of the session key", with(&own, own_grant, grant)),
            ("the session key without its signature", self.opening_with_key()),
            ("the wallet without its signature", build.open_execution(&wallet, &gateway, &self.opening())),
            (
                "the gateway as caller, with the wallet's money",
                with(&build.open_execution(&gateway, &gateway, &self.opening()), build.usdc_of(&gateway), usdc),
            ),
            ("a grant to the gateway without the wallet's signature", build.grant_spending(&wallet, args)),
            (
                "an approval without the wallet's signature",
                token::approve(&usdc, &build.usdc_mint, &gateway, &wallet, 1_000_000),
            ),
            ("a transfer by the gateway", transfer(gateway)),
            ("a transfer by the spender address", transfer(build.addresses.spender(&wallet))),
        ];
        all.map(|(what, instruction)| (what, signed_by_alone(instruction, &gateway))).into()
    }

    /// Openings with the session key's account as signer, and forged or stolen signatures in its place.
    async fn forgeries(&self) -> Vec<Vec<u8>> {
        let blockhash = self.chain.client.recent_blockhash().await.unwrap();
        let payer = self.gateway.pubkey();
        let draft = SignedTransaction::draft(&[self.opening_with_key()], &payer, blockhash).unwrap();
        assert_eq!(draft.bytes[0], 2, "the payer and the session key sign");
        let of_gateway = self.gateway.sign_message(draft.message());
        let stolen = signed_transactions(&self.database).into_iter().filter(|bytes| bytes[0] == 2);
        let stolen = stolen.map(|bytes| bytes[65..129].to_vec());
        let in_place = [vec![0; 64], vec![1; 64], of_gateway.as_array().to_vec()].into_iter().chain(stolen);
        in_place.map(|second| [&[2], of_gateway.as_array().as_slice(), &second, draft.message()].concat()).collect()
    }

    /// Sends bytes past the node's checks, whatever it answers.
    async fn send(&self, transaction: &[u8]) {
        let params = json!([BASE64.encode(transaction), {"encoding": "base64", "skipPreflight": true}]);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "sendTransaction", "params": params});
        let answer = reqwest::Client::new().post(&self.market.info.rpc_url).json(&body).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    }

    /// A chain without anything new, and balances as they were.
    async fn nothing_moved(&self, before: &(Balances, BTreeMap<Pubkey, Vec<u8>>)) {
        assert_eq!(&(self.market.balances().await, records(&self.chain).await), before);
    }
}

/// The instruction with another account in place of one.
fn with(instruction: &Instruction, from: Pubkey, to: Pubkey) -> Instruction {
    let mut changed = instruction.clone();
    let at = changed.accounts.iter_mut().find(|account| account.pubkey == from).expect("the account is there");
    at.pubkey = to;
    changed
}

/// The instruction without demands for signatures of others.
fn signed_by_alone(mut instruction: Instruction, signer: &Pubkey) -> Instruction {
    for account in &mut instruction.accounts {
        account.is_signer &= account.pubkey == *signer;
    }
    instruction
}

/// A market with a registered and used key, an execution that was paid and one that was refunded, and open sessions.
async fn burgled(up: &Up, folder: &std::path::Path) -> (Loot, ApiKey) {
    let market = Market::new(up.info().clone());
    let chain = Chain::of(&market, folder);
    let session = Session::bearer(&market, &chain.wallet).await;
    let _browser = Session::cookie(&market, &chain.wallet).await;
    let key = session.new_key(&market, &chain, &chain.wallet, "laptop").await;
    let paid = call(&market, &bearer(&key.reveal()), &json!({"task": "One. Two."})).await;
    assert_eq!(paid.status, 200, "{paid:?}");
    market.paid().await;
    let refunded = market.behave("wrong_hash").await;
    assert_ne!(refunded.status, 200, "{refunded:?}");
    let pool = crtx_store::testing::connect(&market.info.database_url, 2).await.unwrap();
    let database = dump(&pool).await;
    let session_key = Pubkey::new_from_array(key.session_public_key());
    assert!(database.contains(&session_key.to_string()), "the dump has the key's row");
    for secret in [key.reveal(), session.token, market.info.api_key.clone()] {
        assert!(!database.contains(secret.rsplit('_').next().unwrap()), "no secret of a client is stored");
    }
    let gateway = gateway_keypair(&market);
    (Loot { market, chain, gateway, database, session_key }, key)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_database_and_the_gateways_key_pair_open_no_execution() {
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    let (loot, key) = burgled(&up, folder.path()).await;
    let before = (loot.market.balances().await, records(&loot.chain).await);
    assert_eq!(before.1.len(), 3, "two paid executions and one that was refunded");

    no_bytes_derive_a_key_with_a_grant(&loot).await;
    no_value_is_accepted_over_http(&loot).await;
    loot.nothing_moved(&before).await;

    for (what, instruction) in loot.instructions_of_the_gateway() {
        let blockhash = loot.chain.client.recent_blockhash().await.unwrap();
        let transaction = SignedTransaction::sign(&[instruction], &[&loot.gateway], blockhash).unwrap();
        let simulated = loot.chain.client.simulate(&transaction).await;
        assert!(matches!(simulated, crtx_chain::Simulation::Refused(_)), "{what}: {simulated:?}");
        loot.send(&transaction.bytes).await;
    }
    for forged in loot.forgeries().await {
        loot.send(&forged).await;
    }
    let stored = signed_transactions(&loot.database);
    assert!(stored.len() >= 6, "an opening and an end of each execution: {}", stored.len());
    for transaction in &stored {
        loot.send(transaction).await;
    }
    loot.nothing_moved(&before).await;

    // The honest key works all the while, and is the only thing that moved money.
    let paid = call(&loot.market, &bearer(&key.reveal()), &json!({"task": "One. Two."})).await;
    assert_eq!(paid.status, 200, "{paid:?}");
    let (balances, price) = (loot.market.balances().await, loot.market.price("text-stats"));
    assert_eq!(balances.caller, before.0.caller - price);
    assert_eq!(records(&loot.chain).await.len(), 4);

    // Long after, when the records are closed and their addresses are free again.
    loot.market.travel(200 * HOUR).await;
    for _ in 0..300 {
        if records(&loot.chain).await.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let later = (loot.market.balances().await, records(&loot.chain).await);
    assert_eq!(later, (balances, BTreeMap::new()), "every record is closed, and nobody was charged again");
    for transaction in &stored {
        loot.send(transaction).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    loot.nothing_moved(&later).await;

    // What all of this lacked is the session key: with it, the same instruction opens.
    let session = Keypair::new_from_array(key.session_signing_key().to_bytes());
    let blockhash = loot.chain.client.recent_blockhash().await.unwrap();
    let signers = [&loot.gateway, &session];
    let honest = SignedTransaction::sign(&[loot.opening_with_key()], &signers, blockhash).unwrap();
    loot.send(&honest.bytes).await;
    let outcome = loot.chain.client.confirm(&honest, Duration::from_secs(20)).await;
    assert!(matches!(outcome, Outcome::Confirmed { .. }), "{outcome:?}");
    assert_eq!(loot.market.balances().await.caller, balances.caller - price);
    up.stop().await.unwrap();
}

/// As the seed of a session key pair, as the secret of an API key, or as the token of a session.
async fn no_bytes_derive_a_key_with_a_grant(loot: &Loot) {
    let accounts = loot.chain.accounts().await.into_iter();
    let granted: BTreeSet<[u8; 32]> = accounts
        .filter_map(|(_, account)| match ProgramAccount::decode(&account.data) {
            Ok(ProgramAccount::SpendingGrant(grant)) => Some(grant.session_key.to_bytes()),
            _ => None,
        })
        .collect();
    assert!(granted.contains(&loot.session_key.to_bytes()) && granted.len() >= 3, "{granted:?}");
    let mut candidates: BTreeSet<[u8; 32]> = runs_of_32_bytes(&loot.database).into_iter().collect();
    candidates.insert(*loot.gateway.secret_bytes());
    assert!(candidates.len() > 1_000, "signed transactions among them: {}", candidates.len());
    for candidate in &candidates {
        let as_seed = SigningKey::from_bytes(candidate).verifying_key().to_bytes();
        let as_secret = [KeyNetwork::Test, KeyNetwork::Live]
            .map(|network| ApiKey::from_secret(network, *candidate).session_public_key());
        assert!(!granted.contains(&as_seed), "{candidate:?}");
        assert!(!as_secret.iter().any(|key| granted.contains(key)), "{candidate:?}");
    }
}

/// As an API key, as a session's token, as a cookie; and the gateway's signature in place of the wallet's.
async fn no_value_is_accepted_over_http(loot: &Loot) {
    let Loot { market, chain, gateway, .. } = loot;
    let mut values = values_of_32_bytes(&loot.database);
    assert!(values.len() > 20, "{}", values.len());
    values.insert(*gateway.secret_bytes());
    for (number, value) in values.iter().enumerate() {
        // One address may not present so many values that are not known.
        let address = std::net::Ipv4Addr::from(0x7f00_0100 + u32::try_from(number).unwrap() / 10);
        let market = &Market::from_address(market.info.clone(), address);
        let digits = bs58::encode(value).into_string();
        let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
        let session = format!("crtx_session_{digits}");
        let csrf = ("x-csrf-token", digits.clone());
        for presented in [
            bearer(&format!("crtx_test_{digits}")),
            bearer(&session),
            bearer(&format!("crtx_session_{hex}")),
            bearer(&digits),
            bearer(&hex),
        ] {
            let answer = call(market, &presented, &json!({"task": "stolen"})).await;
            assert_eq!((answer.status.as_u16(), answer.error_code()), (401, "unauthorized"), "{presented:?}");
        }
        for presented in [bearer(&session), vec![("cookie", format!("crtx_session={session}")), csrf]] {
            let answer = ask(market, Method::GET, "/v1/keys", &presented, None).await;
            assert_eq!((answer.status.as_u16(), answer.error_code()), (401, "unauthorized"), "{presented:?}");
        }
    }
    // The gateway makes challenges, and only a wallet answers them.
    let message = challenge(market, &chain.wallet.pubkey()).await;
    let body = sign_in_body(&message, &signature(gateway, message.as_bytes()), "bearer");
    let refused = market.request(Method::POST, "/v1/sign-in", None, Some(&body)).await;
    assert_eq!((refused.status.as_u16(), refused.error_code()), (401, "unauthorized"), "{refused:?}");
    // A session of the gateway's own wallet registers no key of another wallet, and has no grant of its own.
    let own = Session::bearer(market, gateway).await;
    let made_up = ApiKey::from_secret(KeyNetwork::Test, *gateway.secret_bytes());
    for body in [registration(market, gateway, &made_up, "mine"), registration(market, &chain.wallet, &made_up, "mine")]
    {
        let refused = own.ask(market, Method::POST, "/v1/keys", Some(&body)).await;
        assert!(matches!(refused.status.as_u16(), 400 | 404), "{refused:?}");
    }
}
