//! The parts of the program that a gateway uses: how its instructions change the accounts of a scripted node. It does
//! not model signatures, rent and the escrow account. It does model the money that callers pay and get back.

use std::collections::HashMap;

use agent_marketplace::{
    instruction,
    instructions::{CompleteExecutionArgs, FailExecutionArgs, OpenExecutionArgs},
    state::{
        AgentListed, Config, ExecutionRecord, ExecutionStatus, FailureReason, MarketParameters, OpenTerms, Settler,
        SpendingGrant,
    },
};
use anchor_lang::{AnchorDeserialize, Discriminator};
use bytemuck::{Pod, Zeroable};
use crtx_protocol::{
    call_text::{self, OpeningId},
    failure_text, result_text,
};
use solana_message::compiled_instruction::CompiledInstruction;
use solana_pubkey::Pubkey;
use solana_transaction::versioned::VersionedTransaction;

use crate::{
    Execution, FetchedAccount, Layout,
    token::{ASSOCIATED_TOKEN_PROGRAM_ID, TOKEN_PROGRAM_ID, TokenAccount},
};

/// Accounts of a scripted node, by address.
pub type Accounts = HashMap<Pubkey, FetchedAccount>;

/// An account that the program owns.
pub fn program_account<A: Pod + Discriminator>(account: &A) -> FetchedAccount {
    let data = [A::DISCRIMINATOR, bytemuck::bytes_of(account)].concat();
    FetchedAccount { owner: agent_marketplace::ID, lamports: 1, data }
}

/// The account of an execution.
pub fn execution_account(execution: &Execution) -> FetchedAccount {
    FetchedAccount { owner: agent_marketplace::ID, lamports: 1, data: execution.encode() }
}

/// Applies the program's instructions in a transaction to `accounts`. It can be used as a node's
/// [`Effect`](super::Effect).
///
/// # Panics
/// If the transaction has an instruction that a gateway does not send or that the program would refuse: opening a
/// record twice, ending one that is not open, spending more than the wallet holds.
pub fn execute(bytes: &[u8], accounts: &mut Accounts) {
    let transaction: VersionedTransaction = wincode::deserialize(bytes).expect("a transaction");
    let keys = transaction.message.static_account_keys();
    let mut before: &[u8] = &[];
    for instruction in transaction.message.instructions() {
        let program = keys[usize::from(instruction.program_id_index)];
        if program == agent_marketplace::ID {
            Program { keys, before, instruction, accounts }.run();
        } else if program == ASSOCIATED_TOKEN_PROGRAM_ID {
            Program { keys, before, instruction, accounts }.create_token_account();
        }
        before = &instruction.data;
    }
}

/// Whether the program would refuse the transaction because of something that others can change while it is on its way:
/// the terms of the listing, the accounts that are paid, or the end of the record. It can be used as a node's
/// [`Refusal`](super::Refusal).
///
/// # Panics
/// If the bytes are not a transaction.
pub fn refuses(bytes: &[u8], accounts: &Accounts) -> bool {
    let transaction: VersionedTransaction = wincode::deserialize(bytes).expect("a transaction");
    let keys = transaction.message.static_account_keys();
    let instructions = transaction.message.instructions();
    let created: Vec<Pubkey> = instructions
        .iter()
        .filter(|instruction| keys[usize::from(instruction.program_id_index)] == ASSOCIATED_TOKEN_PROGRAM_ID)
        .map(|instruction| keys[usize::from(instruction.accounts[1])])
        .collect();
    let has_ended = |record: &Pubkey| {
        let record = accounts.get(record).and_then(|record| Execution::decode(&record.data).ok());
        record.is_none_or(|record| record.terms.is_none())
    };
    let is_missing = |token: &Pubkey| !accounts.contains_key(token) && !created.contains(token);
    instructions.iter().any(|instruction| {
        let account = |index: usize| &keys[usize::from(instruction.accounts[index])];
        if let Some(args) = instruction.data.strip_prefix(instruction::OpenExecutionWithGrant::DISCRIMINATOR) {
            opens_on_other_terms(args, &accounts[account(5)], &accounts[account(6)])
        } else if instruction.data.starts_with(instruction::CompleteExecution::DISCRIMINATOR) {
            has_ended(account(3)) || is_missing(account(6)) || is_missing(account(7))
        } else if instruction.data.starts_with(instruction::FailExecution::DISCRIMINATOR) {
            has_ended(account(3)) || is_missing(account(6))
        } else if instruction.data.starts_with(instruction::RefundExpiredExecution::DISCRIMINATOR) {
            has_ended(account(1)) || is_missing(account(4))
        } else {
            false
        }
    })
}

/// Whether an opening names terms or a cover that the listing does not have.
fn opens_on_other_terms(mut args: &[u8], config: &FetchedAccount, listing: &FetchedAccount) -> bool {
    let args = OpenExecutionArgs::deserialize(&mut args).expect("args");
    let config = Config::decode(&config.data).expect("a configuration");
    let listing = AgentListed::decode(&listing.data).expect("a listing");
    let terms_hash = listing.terms_hash(config.parameters.market_terms());
    args.terms_hash.is_some_and(|hash| hash != terms_hash) || listing.check_cover(args.min_cover).is_err()
}

struct Program<'a> {
    keys: &'a [Pubkey],
    /// The data of the instruction before this one.
    before: &'a [u8],
    instruction: &'a CompiledInstruction,
    accounts: &'a mut Accounts,
}

impl Program<'_> {
    fn run(&mut self) {
        let (discriminator, mut args) = self.instruction.data.split_at(8);
        if discriminator == instruction::OpenExecutionWithGrant::DISCRIMINATOR {
            self.open(&OpenExecutionArgs::deserialize(&mut args).expect("args"));
        } else if discriminator == instruction::CompleteExecution::DISCRIMINATOR {
            let args = CompleteExecutionArgs::deserialize(&mut args).expect("args");
            self.check_proof(&args.result_hash);
            self.finish(3, ExecutionStatus::Completed, |record| {
                record.result_hash = args.result_hash;
                record.settled_by = Settler::Gateway as u8;
                record.execution_time_ms = u32::try_from(args.execution_time_ms).expect("plausible");
                record.tokens_reported = u8::from(args.tokens_used.is_some());
                record.tokens_used = u32::try_from(args.tokens_used.unwrap_or_default()).expect("plausible");
            });
            self.count(2, |listing| {
                listing.completed_executions += 1;
                listing.total_executions += 1;
            });
        } else if discriminator == instruction::FailExecution::DISCRIMINATOR {
            let args = FailExecutionArgs::deserialize(&mut args).expect("args");
            self.give_back(3, 7);
            // A time-out that a gateway reports has always passed here.
            let agents_failure = args.signed || args.reason == FailureReason::Timeout;
            if args.signed {
                self.check_signed_failure();
            }
            let record = self.finish(3, ExecutionStatus::Failed, |record| {
                record.failure_reason = args.reason as u8;
                record.agents_failure = u8::from(agents_failure);
            });
            self.pay(self.address(6), record.amount.cast_signed());
            self.count(2, |listing| match args.reason {
                _ if agents_failure => {
                    listing.failed_executions += 1;
                    listing.total_executions += 1;
                }
                FailureReason::Interrupted => listing.expired_executions += 1,
                _ => listing.unproved_failures += 1,
            });
        } else if discriminator == instruction::RefundExpiredExecution::DISCRIMINATOR {
            self.give_back(1, 5);
            let expire = |record: &mut ExecutionRecord| record.failure_reason = FailureReason::Expired as u8;
            let record = self.finish(1, ExecutionStatus::Expired, expire);
            self.pay(self.address(4), record.amount.cast_signed());
            self.count(0, |listing| listing.expired_executions += 1);
        } else {
            panic!("the gateway sent an instruction that it does not use");
        }
    }

    /// Address of the instruction's account at `index`, in the order of the program's account lists.
    fn address(&self, index: usize) -> Pubkey {
        self.keys[usize::from(self.instruction.accounts[index])]
    }

    fn read<A: Layout>(&self, index: usize) -> A {
        A::decode(&self.accounts[&self.address(index)].data).expect("an account of the right kind")
    }

    fn pay(&mut self, address: Pubkey, change: i64) {
        let account = self.accounts.get_mut(&address).expect("the wallet's USDC");
        let mut usdc = TokenAccount::decode(account).expect("token account");
        usdc.amount = usdc.amount.checked_add_signed(change).expect("enough");
        account.data = usdc.encode();
    }

    /// The signed message must be the one that the record demands.
    fn check_proof(&self, result_hash: &[u8; 32]) {
        let record: Execution = self.read(3);
        let message = match record.binding {
            0 => result_text::of(result_hash).to_vec(),
            _ => {
                let opened_at_unix_s = record.opened_at_unix_s;
                call_text::of(&OpeningId { record: self.address(3).to_bytes(), opened_at_unix_s }, result_hash).to_vec()
            }
        };
        assert_eq!(self.before.get(112..), Some(message.as_slice()), "the proof is about the demanded message");
        let result_key = record.terms.expect("an open record").result_key;
        assert_eq!(self.before.get(16..48), Some(result_key.as_ref()), "the proof is of the record's key");
        assert_eq!(self.address(4), record.rent_payer, "the rent returns to its payer");
    }

    /// The signed message must be the failure of this opening.
    fn check_signed_failure(&self) {
        let record: Execution = self.read(3);
        let opening = OpeningId { record: self.address(3).to_bytes(), opened_at_unix_s: record.opened_at_unix_s };
        assert_eq!(self.before.get(112..), Some(failure_text::of(&opening).as_slice()), "the proof is of this failure");
        let result_key = record.terms.expect("an open record").result_key;
        assert_eq!(self.before.get(16..48), Some(result_key.as_ref()), "the proof is of the record's key");
    }

    /// Gives the grant of the open record at `record_at` back what it had spent.
    fn give_back(&mut self, record_at: usize, grant_at: usize) {
        let record: Execution = self.read(record_at);
        assert_eq!(self.address(record_at + 1), record.rent_payer, "the rent returns to its payer");
        let Some(grant) = record.grant() else { return };
        assert_eq!(self.address(grant_at), grant, "the refund names the record's grant");
        let mut grant: SpendingGrant = self.read(grant_at);
        grant.spent = grant.spent.saturating_sub(record.amount);
        grant.revision += 1;
        self.accounts.insert(self.address(grant_at), program_account(&grant));
    }

    /// Changes the totals of the listing.
    fn count(&mut self, agent_at: usize, change: impl FnOnce(&mut AgentListed)) {
        let mut listing: AgentListed = self.read(agent_at);
        change(&mut listing);
        listing.revision += 1;
        self.accounts.insert(self.address(agent_at), program_account(&listing));
    }

    fn create_token_account(&mut self) {
        let account =
            TokenAccount { mint: self.address(3), owner: self.address(2), amount: 0, delegate: None, frozen: false };
        let fetched = FetchedAccount { owner: TOKEN_PROGRAM_ID, lamports: 1, data: account.encode() };
        self.accounts.entry(self.address(1)).or_insert(fetched);
    }

    fn open(&mut self, args: &OpenExecutionArgs) {
        let address = self.address(7);
        assert!(!self.accounts.contains_key(&address), "an execution is opened once");
        let (config, listing): (Config, AgentListed) = (self.read(5), self.read(6));
        let now = i64::try_from(std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_secs()).expect("small");
        let mut record = ExecutionRecord::zeroed();
        record.agent = self.address(6);
        record.caller = self.address(2);
        record.rent_payer = self.address(1);
        record.execution_id = args.execution_id;
        record.revision = 1;
        record.amount = listing.price;
        record.fee_bps = 100;
        record.max_penalty_multiple = 20;
        // Longer than any test or benchmark runs: nobody closes its records.
        record.dispute_window_s = u32::try_from(MarketParameters::DEFAULT.dispute_window_s).expect("14 days at most");
        record.binding = listing.binding;
        record.opened_at_unix_s = now;
        record.status = ExecutionStatus::Open as u8;
        let open_for = i64::from(listing.timeout_seconds).saturating_add(config.parameters.settle_grace_s);
        let terms = OpenTerms {
            request_hash: args.request_hash,
            result_key: listing.result_key,
            grant: self.address(3),
            paid_from: self.address(8),
            deadline_unix_s: now.saturating_add(open_for),
            timeout_seconds: listing.timeout_seconds,
            reserved: [0; 4],
        };
        let terms_hash = listing.terms_hash(config.parameters.market_terms());
        assert!(args.terms_hash.is_none_or(|hash| hash == terms_hash), "the terms are the agreed ones");
        let mut grant: SpendingGrant = self.read(3);
        grant.spent += listing.price;
        grant.revision += 1;
        self.accounts.insert(self.address(3), program_account(&grant));
        self.pay(self.address(8), listing.price.cast_signed().saturating_neg());
        self.accounts.insert(address, execution_account(&Execution { record, terms: Some(terms) }));
    }

    fn finish(
        &mut self,
        index: usize,
        status: ExecutionStatus,
        change: impl FnOnce(&mut ExecutionRecord),
    ) -> ExecutionRecord {
        let Execution { mut record, .. } = self.read(index);
        assert_eq!(record.status(), Some(ExecutionStatus::Open), "a record leaves `Open` exactly once");
        record.status = status as u8;
        record.revision = record.revision.saturating_add(1);
        record.finished_at_unix_s = record.opened_at_unix_s.saturating_add(1);
        change(&mut record);
        self.accounts.insert(self.address(index), execution_account(&Execution { record, terms: None }));
        record
    }
}
