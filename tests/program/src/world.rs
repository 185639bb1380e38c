//! A deployment in LiteSVM with one creator, one agent, one caller and one API key, and what tests need
//! to look at it and to push it around. Every key follows from the world's seed, so a world repeats.

use std::{cell::RefCell, sync::OnceLock};

use agent_marketplace::{
    instructions as ix,
    state::{
        AgentListing, Config, CreatorProfile, Dispute, DisputeOutcome, ExecutionRecord, ExecutionStatus, SpendingGrant,
    },
    token::{TOKEN_ACCOUNT_LEN, TOKEN_PROGRAM_ID},
};
use anchor_lang::{Discriminator, ZeroCopy, prelude::Pubkey};
use crtx_protocol::address::Addresses;
use ed25519_dalek::SigningKey;
use litesvm::{LiteSVM, types::TransactionResult};
use sha2::{Digest, Sha256};
use solana_account::Account;
use solana_clock::Clock;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_program_runtime::solana_sbpf::program::BuiltinFunctionDefinition as _;
use solana_signer::Signer;
use solana_transaction::Transaction;

use crate::{assert_invariants, assert_ok, instructions::Execution, proxy};

pub const PROGRAM_ID: Pubkey = agent_marketplace::ID;
/// When a world begins.
pub const START_UNIX_S: i64 = 1_760_000_000;
/// USDC base units in one USDC.
pub const USDC: u64 = 1_000_000;
/// What everybody starts with, in USDC base units.
pub const PURSE: u64 = 10_000 * USDC;
/// Price of the first agent's calls.
pub const PRICE: u64 = 50_000;
/// Collateral of the first agent: the tier of its price.
pub const COLLATERAL: u64 = 10 * USDC;
pub const TIMEOUT_S: u32 = 60;
const LAMPORTS: u64 = 100_000_000_000;

/// A wallet with a USDC account.
#[derive(Debug)]
pub struct Actor {
    pub keypair: Keypair,
    pub token: Pubkey,
}

impl Actor {
    pub fn key(&self) -> Pubkey {
        self.keypair.pubkey()
    }
}

impl Clone for Actor {
    fn clone(&self) -> Self {
        Self { keypair: self.keypair.insecure_clone(), token: self.token }
    }
}

/// One listed agent.
#[derive(Clone, Debug)]
pub struct Agent {
    pub creator: Actor,
    pub index: u32,
    pub address: Pubkey,
    pub result_key: SigningKey,
}

pub struct World {
    pub svm: LiteSVM,
    pub addresses: Addresses,
    pub upgrade_authority: Actor,
    pub admin: Actor,
    pub resolver: Actor,
    /// The gateway's settlement key.
    pub gateway: Actor,
    pub treasury: Actor,
    /// Pays fees and rent; the gateway's other key.
    pub payer: Actor,
    pub caller: Actor,
    /// A second wallet that has nothing to do with anything.
    pub stranger: Actor,
    /// The session key of the caller's API key.
    pub session: Keypair,
    pub mint: Pubkey,
    pub agent: Agent,
    /// USDC that exists.
    pub supply: u64,
    /// Somebody changed the program's accounts behind its back: invariants are off.
    tampered: bool,
    seed: u64,
    counter: u64,
}

/// The ELF under test: the committed one, or the one that `CRTX_PROGRAM_ELF` names.
pub fn elf() -> &'static [u8] {
    static ELF: OnceLock<Vec<u8>> = OnceLock::new();
    ELF.get_or_init(|| {
        let committed =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/agent-marketplace/artifacts/agent_marketplace.so");
        let path = std::env::var("CRTX_PROGRAM_ELF").unwrap_or_else(|_| committed.to_owned());
        std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}; `cargo xtask build-program` builds it"))
    })
}

thread_local! {
    /// Programs are verified once per thread; every world starts from a copy.
    static EMPTY: RefCell<Option<LiteSVM>> = const { RefCell::new(None) };
}

fn empty_svm() -> LiteSVM {
    EMPTY.with_borrow_mut(|empty| {
        empty
            .get_or_insert_with(|| {
                let mut svm = LiteSVM::new();
                svm.add_program(PROGRAM_ID, elf()).expect("the ELF loads");
                svm.add_builtin(proxy::PROXY_PROGRAM_ID, proxy::Entrypoint::register);
                svm
            })
            .clone()
    })
}

impl World {
    /// A configured deployment with one active agent, a funded caller and a grant for its API key.
    pub fn new() -> Self {
        Self::with_seed(0)
    }

    pub fn with_seed(seed: u64) -> Self {
        let mut world = Self::bare(seed);
        let initialize = world.initialize_config();
        world.must(&[initialize], &[&world.upgrade_authority.keypair.insecure_clone()]);
        let agent = world.agent.clone();
        world.list(&agent, world.list_args(&agent));
        world.grant_to_session(ix::GrantSpendingArgs {
            session_key: world.session.pubkey(),
            per_call_cap: USDC,
            total_cap: 100 * USDC,
            expires_at_unix_s: START_UNIX_S + 30 * 24 * 3_600,
            allowed_agents: vec![],
        });
        world
    }

    /// The program is deployed, everybody has money, nothing is configured.
    pub fn bare(seed: u64) -> Self {
        let mut counter = 0;
        let mut next = || {
            counter += 1;
            seeded_key(seed, counter)
        };
        let mut keys: Vec<Keypair> = (0..9).map(|_| next()).collect();
        let session = next();
        let mint = next().pubkey();
        let result_key = SigningKey::from_bytes(next().secret_bytes());
        let mut world = {
            let mut actor = || Actor { keypair: keys.remove(0), token: Pubkey::default() };
            let creator = actor();
            let addresses = Addresses::new(PROGRAM_ID);
            Self {
                svm: empty_svm(),
                addresses,
                upgrade_authority: actor(),
                admin: actor(),
                resolver: actor(),
                gateway: actor(),
                treasury: actor(),
                payer: actor(),
                caller: actor(),
                stranger: actor(),
                session,
                mint,
                agent: Agent { address: addresses.agent(&creator.key(), 0), creator, index: 0, result_key },
                supply: 0,
                tampered: false,
                seed,
                counter,
            }
        };
        world.populate();
        world
    }

    fn populate(&mut self) {
        self.set_time(START_UNIX_S);
        self.put_mint(self.mint, 0);
        for index in 0..9 {
            let wallet = self.actor_mut(index).key();
            self.svm.airdrop(&wallet, LAMPORTS).expect("an airdrop");
            let token = self.new_token_account(&wallet, PURSE);
            self.actor_mut(index).token = token;
        }
        self.set_upgrade_authority(Some(self.upgrade_authority.key()));
    }

    fn actor_mut(&mut self, index: usize) -> &mut Actor {
        match index {
            0 => &mut self.upgrade_authority,
            1 => &mut self.admin,
            2 => &mut self.resolver,
            3 => &mut self.gateway,
            4 => &mut self.treasury,
            5 => &mut self.payer,
            6 => &mut self.caller,
            7 => &mut self.stranger,
            _ => &mut self.agent.creator,
        }
    }

    // Keys, accounts, time.

    /// A key nobody has used yet.
    pub fn new_key(&mut self) -> Keypair {
        self.counter += 1;
        seeded_key(self.seed, self.counter)
    }

    /// A funded wallet with a USDC account.
    pub fn new_actor(&mut self) -> Actor {
        let keypair = self.new_key();
        self.svm.airdrop(&keypair.pubkey(), LAMPORTS).expect("an airdrop");
        let token = self.new_token_account(&keypair.pubkey(), PURSE);
        Actor { keypair, token }
    }

    /// The key pair of a key that this world made.
    pub fn key_of(&self, public: &Pubkey) -> Option<Keypair> {
        (0..=self.counter).map(|counter| seeded_key(self.seed, counter)).find(|key| key.pubkey() == *public)
    }

    pub fn new_execution_id(&mut self) -> [u8; 16] {
        let key = self.new_key().pubkey().to_bytes();
        key[..16].try_into().expect("16 bytes")
    }

    pub fn now(&self) -> i64 {
        self.svm.get_sysvar::<Clock>().unix_timestamp
    }

    pub fn set_time(&mut self, unix_s: i64) {
        let mut clock = self.svm.get_sysvar::<Clock>();
        clock.unix_timestamp = unix_s;
        self.svm.set_sysvar(&clock);
    }

    pub fn account(&self, address: &Pubkey) -> Option<Account> {
        self.svm.get_account(address).filter(|account| account.lamports > 0)
    }

    pub fn lamports(&self, address: &Pubkey) -> u64 {
        self.svm.get_balance(address).unwrap_or(0)
    }

    pub fn put_account(&mut self, address: Pubkey, account: Account) {
        self.svm.set_account(address, account).expect("the account is set");
    }

    /// Changes an account's bytes behind the program's back.
    pub fn tamper(&mut self, address: &Pubkey, change: impl FnOnce(&mut Account)) {
        let mut account = self.svm.get_account(address).expect("the account exists");
        change(&mut account);
        self.put_account(*address, account);
    }

    /// Rewrites one of the program's accounts behind its back. Invariants are not checked any more.
    pub fn tamper_state<T: ZeroCopy + Discriminator>(&mut self, address: &Pubkey, change: impl FnOnce(&mut T)) {
        self.tampered = true;
        self.tamper(address, |account| change(bytemuck::from_bytes_mut(&mut account.data[8..])));
    }

    /// One of the program's accounts.
    #[track_caller]
    pub fn state<T: ZeroCopy + Discriminator>(&self, address: &Pubkey) -> T {
        self.try_state(address).expect("the account exists")
    }

    pub fn try_state<T: ZeroCopy + Discriminator>(&self, address: &Pubkey) -> Option<T> {
        let account = self.account(address).filter(|account| account.owner == PROGRAM_ID)?;
        assert_eq!(&account.data[..8], T::DISCRIMINATOR, "another kind of account");
        Some(bytemuck::pod_read_unaligned(&account.data[8..]))
    }

    pub fn config(&self) -> Config {
        self.state(&self.addresses.config())
    }

    pub fn listing(&self, agent: &Agent) -> AgentListing {
        self.state(&agent.address)
    }

    pub fn record(&self, execution: &Execution) -> ExecutionRecord {
        self.state(&execution.record)
    }

    pub fn status(&self, execution: &Execution) -> ExecutionStatus {
        self.record(execution).status().expect("a known status")
    }

    pub fn grant(&self) -> SpendingGrant {
        self.state(&self.addresses.grant(&self.caller.key(), &self.session.pubkey()))
    }

    pub fn profile(&self, wallet: &Pubkey) -> CreatorProfile {
        self.state(&self.addresses.creator_profile(wallet))
    }

    pub fn dispute(&self, execution: &Execution) -> Dispute {
        self.state(&self.addresses.dispute(&execution.record))
    }

    pub fn outcome(&self, execution: &Execution) -> DisputeOutcome {
        self.dispute(execution).outcome().expect("a known outcome")
    }

    /// Tells the loader who may upgrade the program.
    pub fn set_upgrade_authority(&mut self, authority: Option<Pubkey>) {
        self.tamper(&program_data(), |account| {
            account.data[12] = u8::from(authority.is_some());
            account.data[13..45].copy_from_slice(authority.unwrap_or_default().as_ref());
        });
    }

    // Tokens.

    /// A 6-decimal mint.
    pub fn put_mint(&mut self, mint: Pubkey, supply: u64) {
        let mut data = vec![0; 82];
        data[36..44].copy_from_slice(&supply.to_le_bytes());
        data[44] = 6;
        data[45] = 1;
        // Mint authority and freeze authority: the mint itself, which nobody can sign for.
        data[0] = 1;
        data[4..36].copy_from_slice(mint.as_ref());
        data[46] = 1;
        data[50..82].copy_from_slice(mint.as_ref());
        self.put_account(mint, token_owned(data));
    }

    /// A USDC account of `owner` with `amount` freshly minted base units.
    pub fn new_token_account(&mut self, owner: &Pubkey, amount: u64) -> Pubkey {
        let mint = self.mint;
        self.supply += amount;
        self.put_mint(mint, self.supply);
        self.new_token_account_of(&mint, owner, amount)
    }

    pub fn new_token_account_of(&mut self, mint: &Pubkey, owner: &Pubkey, amount: u64) -> Pubkey {
        let address = self.new_key().pubkey();
        self.put_account(address, token_account(mint, owner, amount));
        address
    }

    /// Base units in a token account; 0 if it does not exist.
    pub fn balance(&self, token: &Pubkey) -> u64 {
        self.account(token)
            .filter(|account| account.owner == TOKEN_PROGRAM_ID && account.data.len() == TOKEN_ACCOUNT_LEN)
            .map_or(0, |account| u64::from_le_bytes(account.data[64..72].try_into().expect("8 bytes")))
    }

    /// Somebody sends USDC to an account nobody accounts for.
    pub fn dust(&mut self, token: &Pubkey, amount: u64) {
        self.supply += amount;
        let (mint, supply) = (self.mint, self.supply);
        self.put_mint(mint, supply);
        let total = self.balance(token) + amount;
        self.tamper(token, |account| account.data[64..72].copy_from_slice(&total.to_le_bytes()));
    }

    pub fn freeze(&mut self, token: &Pubkey) {
        self.tamper(token, |account| account.data[108] = 2);
    }

    /// Every USDC account there is, with its balance.
    pub fn token_balances(&self) -> Vec<(Pubkey, u64)> {
        let mut accounts: Vec<_> = self
            .svm
            .get_program_accounts(&TOKEN_PROGRAM_ID)
            .into_iter()
            .filter(|(_, account)| {
                account.data.len() == TOKEN_ACCOUNT_LEN && account.data[..32] == self.mint.to_bytes()
            })
            .map(|(address, _)| (address, self.balance(&address)))
            .collect();
        accounts.sort_unstable();
        accounts
    }

    // Transactions.

    /// Sends a transaction whose fee `payer` pays. Whatever went through left every invariant standing.
    #[track_caller]
    pub fn send(&mut self, instructions: &[Instruction], signers: &[&Keypair]) -> TransactionResult {
        self.svm.expire_blockhash();
        let payer = self.payer.keypair.insecure_clone();
        let mut keys: Vec<&Keypair> = vec![&payer];
        for signer in signers {
            if keys.iter().all(|key| key.pubkey() != signer.pubkey()) {
                keys.push(signer);
            }
        }
        let blockhash = self.svm.latest_blockhash();
        let transaction = Transaction::new_signed_with_payer(instructions, Some(&payer.pubkey()), &keys, blockhash);
        let result = self.svm.send_transaction(transaction);
        if result.is_ok() && !self.tampered {
            assert_invariants(self);
        }
        result
    }

    #[track_caller]
    pub fn must(&mut self, instructions: &[Instruction], signers: &[&Keypair]) -> litesvm::types::TransactionMetadata {
        assert_ok(self.send(instructions, signers))
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

/// The program's program-data account.
pub fn program_data() -> Pubkey {
    let loader = anchor_lang::solana_program::bpf_loader_upgradeable::ID;
    Pubkey::find_program_address(&[PROGRAM_ID.as_ref()], &loader).0
}

pub fn token_account(mint: &Pubkey, owner: &Pubkey, amount: u64) -> Account {
    let mut data = vec![0; TOKEN_ACCOUNT_LEN];
    data[..32].copy_from_slice(mint.as_ref());
    data[32..64].copy_from_slice(owner.as_ref());
    data[64..72].copy_from_slice(&amount.to_le_bytes());
    data[108] = 1;
    token_owned(data)
}

pub fn token_owned(data: Vec<u8>) -> Account {
    let lamports = solana_rent::Rent::default().minimum_balance(data.len());
    Account { lamports, data, owner: TOKEN_PROGRAM_ID, executable: false, rent_epoch: u64::MAX }
}

fn seeded_key(seed: u64, counter: u64) -> Keypair {
    let mut hash = Sha256::new();
    hash.update(b"crtx test world");
    hash.update(seed.to_le_bytes());
    hash.update(counter.to_le_bytes());
    Keypair::new_from_array(hash.finalize().into())
}
