//! The parts of the program that a gateway uses: how its instructions change the accounts of a scripted node. It does
//! not model signatures, rent and the escrow account. It does model the money that callers pay and get back.

use std::collections::HashMap;

use agent_marketplace::{
    instruction,
    instructions::{CompleteExecutionArgs, FailExecutionArgs, OpenExecutionArgs},
    state::{AgentListing, Config, ExecutionRecord, ExecutionStatus},
};
use anchor_lang::{AnchorDeserialize, Discriminator};
use bytemuck::{Pod, Zeroable};
use solana_message::compiled_instruction::CompiledInstruction;
use solana_pubkey::Pubkey;
use solana_transaction::versioned::VersionedTransaction;

use crate::{
    FetchedAccount, Layout,
    token::{ASSOCIATED_TOKEN_PROGRAM_ID, TOKEN_PROGRAM_ID, TokenAccount},
};

/// Accounts of a scripted node, by address.
pub type Accounts = HashMap<Pubkey, FetchedAccount>;

/// An account that the program owns.
pub fn program_account<A: Pod + Discriminator>(account: &A) -> FetchedAccount {
    let data = [A::DISCRIMINATOR, bytemuck::bytes_of(account)].concat();
    FetchedAccount { owner: agent_marketplace::ID, lamports: 1, data }
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
    for instruction in transaction.message.instructions() {
        let program = keys[usize::from(instruction.program_id_index)];
        if program == agent_marketplace::ID {
            Program { keys, instruction, accounts }.run();
        } else if program == ASSOCIATED_TOKEN_PROGRAM_ID {
            Program { keys, instruction, accounts }.create_token_account();
        }
    }
}

/// Whether a refund goes to a token account that does not exist and that the transaction does not create. It can be
/// used as a node's [`Refusal`](super::Refusal).
///
/// # Panics
/// If the bytes are not a transaction.
pub fn pays_a_missing_account(bytes: &[u8], accounts: &Accounts) -> bool {
    let transaction: VersionedTransaction = wincode::deserialize(bytes).expect("a transaction");
    let keys = transaction.message.static_account_keys();
    let created: Vec<Pubkey> = transaction
        .message
        .instructions()
        .iter()
        .filter(|instruction| keys[usize::from(instruction.program_id_index)] == ASSOCIATED_TOKEN_PROGRAM_ID)
        .map(|instruction| keys[usize::from(instruction.accounts[1])])
        .collect();
    transaction.message.instructions().iter().any(|instruction| {
        let refund_token = if instruction.data.starts_with(instruction::FailExecution::DISCRIMINATOR) {
            5
        } else if instruction.data.starts_with(instruction::RefundExpiredExecution::DISCRIMINATOR) {
            3
        } else {
            return false;
        };
        let address = keys[usize::from(instruction.accounts[refund_token])];
        !accounts.contains_key(&address) && !created.contains(&address)
    })
}

struct Program<'a> {
    keys: &'a [Pubkey],
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
            self.finish(3, ExecutionStatus::Completed, |record| {
                record.result_hash = args.result_hash;
                record.execution_time_ms = args.execution_time_ms;
            });
        } else if discriminator == instruction::FailExecution::DISCRIMINATOR {
            let args = FailExecutionArgs::deserialize(&mut args).expect("args");
            let record = self.finish(3, ExecutionStatus::Failed, |record| record.failure_reason = args.reason as u8);
            self.pay(self.address(5), record.amount.cast_signed());
        } else if discriminator == instruction::RefundExpiredExecution::DISCRIMINATOR {
            let record = self.finish(1, ExecutionStatus::Expired, |_| {});
            self.pay(self.address(3), record.amount.cast_signed());
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

    fn create_token_account(&mut self) {
        let account =
            TokenAccount { mint: self.address(3), owner: self.address(2), amount: 0, delegate: None, frozen: false };
        let fetched = FetchedAccount { owner: TOKEN_PROGRAM_ID, lamports: 1, data: account.encode() };
        self.accounts.entry(self.address(1)).or_insert(fetched);
    }

    fn open(&mut self, args: &OpenExecutionArgs) {
        let address = self.address(7);
        assert!(!self.accounts.contains_key(&address), "an execution is opened once");
        let (config, listing): (Config, AgentListing) = (self.read(5), self.read(6));
        let now = i64::try_from(std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_secs()).expect("small");
        let mut record = ExecutionRecord::zeroed();
        record.agent = self.address(6);
        record.caller = self.address(2);
        record.refund_owner = record.caller;
        record.rent_payer = self.address(1);
        record.grant = self.address(3);
        record.request_hash = args.request_hash;
        record.result_key = listing.result_key;
        record.execution_id = args.execution_id;
        record.revision = 1;
        record.amount = listing.price;
        record.platform_amount = listing.price / 100;
        record.creator_amount = listing.price.saturating_sub(record.platform_amount);
        record.opened_at_unix_s = now;
        let open_for = i64::from(listing.timeout_seconds).saturating_add(config.settle_grace_s);
        record.deadline_unix_s = now.saturating_add(open_for);
        record.timeout_seconds = listing.timeout_seconds;
        record.status = ExecutionStatus::Open as u8;
        self.pay(self.address(8), listing.price.cast_signed().saturating_neg());
        self.accounts.insert(address, program_account(&record));
    }

    fn finish(
        &mut self,
        index: usize,
        status: ExecutionStatus,
        change: impl FnOnce(&mut ExecutionRecord),
    ) -> ExecutionRecord {
        let mut record: ExecutionRecord = self.read(index);
        assert_eq!(record.status(), Some(ExecutionStatus::Open), "a record leaves `Open` exactly once");
        record.status = status as u8;
        record.revision = record.revision.saturating_add(1);
        record.finished_at_unix_s = record.opened_at_unix_s.saturating_add(1);
        change(&mut record);
        self.accounts.insert(self.address(index), program_account(&record));
        record
    }
}
