//! The program in LiteSVM, wallets with USDC, and what tests need to read and to change accounts. Every key
//! follows from the world's seed, so worlds with one seed are equal.

use std::sync::OnceLock;

use agent_marketplace::{
    state::{
        AgentListed, Config, CreatorProfile, Dispute, DisputeOutcome, ExecutionRecord, ExecutionStatus, OpenTerms,
        SpendingGrant,
    },
    token::TOKEN_PROGRAM_ID,
};
use anchor_lang::{Discriminator, ZeroCopy, prelude::Pubkey};
use crtx_chain::{
    Instructions,
    instructions::program_data_address,
    token::{TokenAccount, associated_token_address},
};
use crtx_protocol::address::Addresses;
use ed25519_dalek::SigningKey;
use litesvm::{
    LiteSVM,
    types::{TransactionMetadata, TransactionResult},
};
use sha2::{Digest, Sha256};
use solana_account::Account;
use solana_clock::Clock;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_program_runtime::solana_sbpf::program::BuiltinFunctionDefinition as _;
use solana_signer::Signer;
use solana_transaction::Transaction;

use crate::{
    expect::assert_ok,
    invariants::assert_invariants,
    ledger,
    people::{Actor, Agent, Execution, PROGRAM_ID, PURSE, START_UNIX_S},
    proxy,
};

/// Sees a transaction before it is sent.
pub type OnSend = Box<dyn FnMut(&mut World, &[Instruction], &[&Keypair])>;

const LAMPORTS: u64 = 100_000_000_000;
/// Keys up to this number belong to the world itself; tests get the keys after them.
const OWN_KEYS: u64 = 21;

pub struct World {
    pub svm: LiteSVM,
    pub addresses: Addresses,
    pub upgrade_authority: Actor,
    pub admin: Actor,
    pub resolver: Actor,
    /// The gateway's settlement key.
    pub gateway: Actor,
    pub treasury: Actor,
    /// Receives penalties.
    pub insurance: Actor,
    /// May stop, and not resume.
    pub guardian: Actor,
    /// Pays fees and rent; the gateway's other key.
    pub payer: Actor,
    pub caller: Actor,
    /// A wallet without any role.
    pub stranger: Actor,
    /// The session key of the caller's API key.
    pub session: Keypair,
    pub mint: Pubkey,
    pub agent: Agent,
    /// USDC that was minted, in base units.
    pub supply: u64,
    /// Called with every transaction before it is sent, but not with those that it sends itself.
    pub on_send: Option<OnSend>,
    /// A test changed the program's accounts without the program, so invariants are not checked.
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

/// The program is verified and compiled once per process; every world starts from a copy.
static EMPTY: OnceLock<LiteSVM> = OnceLock::new();

fn empty_svm() -> LiteSVM {
    EMPTY.get_or_init(|| with_programs(LiteSVM::new(), elf())).clone()
}

fn with_programs(mut svm: LiteSVM, elf: &[u8]) -> LiteSVM {
    svm.add_program(PROGRAM_ID, elf).expect("the ELF loads");
    svm.add_builtin(proxy::PROXY_PROGRAM_ID, proxy::Entrypoint::register);
    svm
}

/// Every world starts from a copy of `svm`, with `elf` as the program. Called before the first world.
pub fn start_from(svm: LiteSVM, elf: &[u8]) {
    assert!(EMPTY.set(with_programs(svm, elf)).is_ok(), "a world has already started");
}

impl World {
    /// The program is deployed, all wallets have money, nothing is configured.
    pub fn bare(seed: u64) -> Self {
        let mut counter = 0;
        let mut next = || {
            counter += 1;
            seeded_key(seed, counter)
        };
        let mut keys: Vec<Keypair> = (0..10).map(|_| next()).collect();
        // The last of the world's own keys.
        keys.push(seeded_key(seed, OWN_KEYS));
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
                insurance: actor(),
                guardian: actor(),
                session,
                mint,
                agent: Agent { address: addresses.agent(&creator.key(), 0), creator, index: 0, result_key },
                supply: 0,
                on_send: None,
                tampered: false,
                seed,
                counter: OWN_KEYS,
            }
        };
        world.populate();
        world
    }

    fn populate(&mut self) {
        self.set_time(START_UNIX_S);
        self.put_mint(self.mint, 0);
        for index in 0..11 {
            let wallet = self.actor_mut(index).key();
            self.actor_mut(index).token = self.fund(&wallet);
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
            8 => &mut self.insurance,
            9 => &mut self.guardian,
            _ => &mut self.agent.creator,
        }
    }

    // Keys, accounts, time.

    /// A key that nobody used before.
    pub fn new_key(&mut self) -> Keypair {
        self.counter += 1;
        seeded_key(self.seed, self.counter)
    }

    /// A funded wallet with a USDC account.
    pub fn new_actor(&mut self) -> Actor {
        let keypair = self.new_key();
        let token = self.fund(&keypair.pubkey());
        Actor { keypair, token }
    }

    /// Gives a wallet SOL, and USDC in its associated account; returns the account.
    fn fund(&mut self, wallet: &Pubkey) -> Pubkey {
        self.svm.airdrop(wallet, LAMPORTS).expect("an airdrop");
        let token = associated_token_address(wallet, &self.mint);
        self.mint_usdc(PURSE);
        self.put_account(token, token_account(&self.mint, wallet, PURSE));
        token
    }

    /// The key pair of a public key that this world made.
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
        ledger::account(&self.svm, address)
    }

    pub fn lamports(&self, address: &Pubkey) -> u64 {
        self.svm.get_balance(address).unwrap_or(0)
    }

    pub fn put_account(&mut self, address: Pubkey, account: Account) {
        self.svm.set_account(address, account).expect("the account is set");
    }

    /// Changes an account's bytes without the program.
    pub fn tamper(&mut self, address: &Pubkey, change: impl FnOnce(&mut Account)) {
        let mut account = self.svm.get_account(address).expect("the account exists");
        change(&mut account);
        self.put_account(*address, account);
    }

    /// Changes one of the program's accounts without the program. Invariants are not checked any more.
    pub fn tamper_state<T: ZeroCopy + Discriminator>(&mut self, address: &Pubkey, change: impl FnOnce(&mut T)) {
        self.tampered = true;
        self.tamper(address, |account| change(bytemuck::from_bytes_mut(&mut account.data[8..8 + size_of::<T>()])));
    }

    /// One of the program's accounts.
    #[track_caller]
    pub fn state<T: ZeroCopy + Discriminator>(&self, address: &Pubkey) -> T {
        self.try_state(address).expect("the account exists")
    }

    #[track_caller]
    pub fn try_state<T: ZeroCopy + Discriminator>(&self, address: &Pubkey) -> Option<T> {
        ledger::state(&self.svm, address)
    }

    pub fn config(&self) -> Config {
        self.state(&self.addresses.config())
    }

    pub fn listing(&self, agent: &Agent) -> AgentListed {
        self.state(&agent.address)
    }

    pub fn record(&self, execution: &Execution) -> ExecutionRecord {
        self.state(&execution.record)
    }

    /// The terms of an open execution; `None` if it is not open.
    pub fn try_terms(&self, execution: &Execution) -> Option<OpenTerms> {
        ledger::open_terms(&self.svm, &execution.record)
    }

    /// The terms of an open execution.
    #[track_caller]
    pub fn terms(&self, execution: &Execution) -> OpenTerms {
        self.try_terms(execution).expect("the execution is open")
    }

    /// Last second in which a completed execution can be disputed.
    #[track_caller]
    pub fn dispute_deadline(&self, execution: &Execution) -> i64 {
        self.record(execution).dispute_deadline_unix_s().expect("the execution was completed")
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

    /// Changes who may upgrade the program.
    pub fn set_upgrade_authority(&mut self, authority: Option<Pubkey>) {
        self.tamper(&program_data_address(&PROGRAM_ID), |account| {
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
        // Mint authority and freeze authority are the mint itself, which nobody can sign for.
        data[0] = 1;
        data[4..36].copy_from_slice(mint.as_ref());
        data[46] = 1;
        data[50..82].copy_from_slice(mint.as_ref());
        self.put_account(mint, token_owned(data));
    }

    /// A USDC account of `owner` with `amount` freshly minted base units.
    pub fn new_token_account(&mut self, owner: &Pubkey, amount: u64) -> Pubkey {
        self.mint_usdc(amount);
        self.new_token_account_of(&self.mint.clone(), owner, amount)
    }

    fn mint_usdc(&mut self, amount: u64) {
        self.supply += amount;
        self.put_mint(self.mint, self.supply);
    }

    pub fn new_token_account_of(&mut self, mint: &Pubkey, owner: &Pubkey, amount: u64) -> Pubkey {
        let address = self.new_key().pubkey();
        self.put_account(address, token_account(mint, owner, amount));
        address
    }

    /// Base units in a token account; 0 if it does not exist.
    pub fn balance(&self, token: &Pubkey) -> u64 {
        ledger::balance(&self.svm, token)
    }

    /// A stranger sends USDC that no account of the program counts.
    pub fn dust(&mut self, token: &Pubkey, amount: u64) {
        self.mint_usdc(amount);
        let total = self.balance(token) + amount;
        self.tamper(token, |account| account.data[64..72].copy_from_slice(&total.to_le_bytes()));
    }

    pub fn freeze(&mut self, token: &Pubkey) {
        self.tamper(token, |account| account.data[108] = 2);
    }

    /// Every USDC account with its balance.
    pub fn token_balances(&self) -> Vec<(Pubkey, u64)> {
        ledger::token_balances(&self.svm, &self.mint)
    }

    // Transactions.

    /// Builds the instructions for this deployment.
    pub fn instructions(&self) -> Instructions {
        Instructions::new(self.addresses, self.mint)
    }

    /// Sends a transaction; `payer` pays its fee. If it succeeds, every invariant must hold.
    #[track_caller]
    pub fn send(&mut self, instructions: &[Instruction], signers: &[&Keypair]) -> TransactionResult {
        if let Some(mut on_send) = self.on_send.take() {
            on_send(self, instructions, signers);
            self.on_send = Some(on_send);
        }
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
            self.assert_invariants();
        }
        result
    }

    #[track_caller]
    pub fn must(&mut self, instructions: &[Instruction], signers: &[&Keypair]) -> TransactionMetadata {
        assert_ok(self.send(instructions, signers))
    }

    #[track_caller]
    pub fn assert_invariants(&self) {
        assert_invariants(&self.svm, &self.addresses, &self.mint, self.supply);
    }
}

pub fn token_account(mint: &Pubkey, owner: &Pubkey, amount: u64) -> Account {
    let account = TokenAccount { mint: *mint, owner: *owner, amount, delegate: None, frozen: false };
    token_owned(account.encode())
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
