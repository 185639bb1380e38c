//! Puts a program's code on chain with the upgradeable loader: an ELF is written to a buffer in many transactions, and
//! one more makes the buffer a program or its next version.

use std::{collections::BTreeSet, time::Duration};

use crtx_protocol::{result_hash::ResultHash, transaction::Outcome};
use futures::{StreamExt, stream};
use parking_lot::Mutex;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_loader_v3_interface::instruction as loader;
pub use solana_loader_v3_interface::state::UpgradeableLoaderState as LoaderState;
use solana_pubkey::{Pubkey, PubkeyError};
use solana_sdk_ids::{bpf_loader_upgradeable, system_program};
use solana_system_interface::{MAX_PERMITTED_DATA_LENGTH, instruction as system};
use tokio::time::sleep;

use crate::{
    ChainClient, ChainError, CommitmentConfig, FetchedAccount, RecentBlockhash, SignError, SignedTransaction,
    instructions::{compute_unit_limit, compute_unit_price},
    transaction::MAX_TRANSACTION_BYTES,
};

/// Longest ELF that fits into a program, in bytes.
pub const MAX_ELF_BYTES: usize = MAX_ACCOUNT_BYTES - LoaderState::size_of_programdata_metadata();
const MAX_ACCOUNT_BYTES: usize = MAX_PERMITTED_DATA_LENGTH as usize;
/// Compute units of one write. It needs less than half of them.
pub const WRITE_UNITS: u32 = 6_000;

/// The loader's tag of a buffer, and where a buffer says whether there is an authority, and which.
const BUFFER_TAG: [u8; 4] = [1, 0, 0, 0];
const AUTHORITY_FLAG_AT: usize = 4;
const AUTHORITY_AT: usize = 5;
const CONTENT_AT: usize = LoaderState::size_of_buffer_metadata();

/// Writes under way at once.
const MOST_AT_ONCE: usize = 64;
/// Longer than the life of a blockhash, so that a write that is still not there gets a fresh one.
const PATIENCE: Duration = Duration::from_secs(90);
/// So many times in succession a round may leave the buffer as it was.
const MOST_IDLE_ROUNDS: u32 = 4;
const IDLE_PAUSE: Duration = Duration::from_secs(1);
/// So often in succession a node may fail to show the buffer, with pauses that it asks for, up to the longest.
const MOST_READS: u32 = 30;
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
const SLOT_PAUSE: Duration = Duration::from_millis(200);
/// A cluster makes more than a hundred slots in this time.
const MOST_SLOT_PAUSES: u32 = 300;

/// Why the code is not in its buffer.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    #[error("there is no buffer {0} any more; another run may have used or closed it")]
    Gone(Pubkey),
    #[error("the account {address} cannot be the buffer: {why}")]
    Foreign { address: Pubkey, why: String },
    #[error("{missing} parts of the code do not arrive in the buffer {address}{}", why(.last))]
    Stalled { address: Pubkey, missing: usize, last: Option<String> },
    #[error("the chain makes no new slots")]
    NoSlots,
    #[error(transparent)]
    Sign(#[from] SignError),
    #[error(transparent)]
    Chain(#[from] ChainError),
}

fn why(last: &Option<String>) -> String {
    last.as_ref().map_or_else(String::new, |error| format!(": {error}"))
}

/// A buffer as the chain has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// `None`: nobody can change or use it any more.
    pub authority: Option<Pubkey>,
    pub lamports: u64,
    pub content: Vec<u8>,
}

impl Buffer {
    /// `None` if the account is not a buffer of the loader.
    pub fn decode(account: &FetchedAccount) -> Option<Self> {
        let data = account.data.as_slice();
        if account.owner != bpf_loader_upgradeable::ID || !data.starts_with(&BUFFER_TAG) {
            return None;
        }
        let authority = data.get(AUTHORITY_AT..)?.first_chunk::<32>();
        let authority = authority.filter(|_| data.get(AUTHORITY_FLAG_AT) == Some(&1));
        Some(Self {
            authority: authority.map(|key| Pubkey::new_from_array(*key)),
            lamports: account.lamports,
            content: data.get(CONTENT_AT..)?.to_vec(),
        })
    }
}

/// What is at an address that a new account is to have. Anybody may have sent lamports there.
fn vacant(account: Option<&FetchedAccount>) -> Option<u64> {
    match account {
        None => Some(0),
        Some(account) if account.owner == system_program::ID && account.data.is_empty() => Some(account.lamports),
        Some(_) => None,
    }
}

/// The way of one ELF of one wallet into its buffer.
///
/// The buffer's address follows from the wallet and the ELF. So every run finds the buffer of an earlier one without a
/// key or a file, and whatever was ever sent to it writes the right bytes: a write that lands late does no harm.
#[derive(Clone, Copy, Debug)]
pub struct Upload<'a> {
    pub wallet: Pubkey,
    pub buffer: Pubkey,
    elf: &'a [u8],
    /// In millionths of a lamport for a compute unit; 0: none.
    unit_price: u64,
    /// Bytes of code that fit into one transaction.
    part: usize,
}

impl<'a> Upload<'a> {
    pub fn new(wallet: Pubkey, elf: &'a [u8], unit_price: u64) -> Result<Self, SignError> {
        let buffer = buffer_address(&wallet, elf).map_err(|error| SignError::Encoding(error.to_string()))?;
        let mut upload = Self { wallet, buffer, elf, unit_price, part: 1 };
        // The length of a longer instruction takes one byte more.
        let blockhash = RecentBlockhash { hash: solana_hash::Hash::default(), last_valid_block_height: 0 };
        let one = SignedTransaction::draft(&upload.write(0, &[0]), &wallet, blockhash)?.bytes.len();
        upload.part = MAX_TRANSACTION_BYTES.saturating_sub(one).max(1);
        Ok(upload)
    }

    /// The buffer; `None` and what is at its address if it has to be made.
    pub async fn found(&self, chain: &ChainClient) -> Result<(Option<Buffer>, u64), UploadError> {
        let account = chain.account(&self.buffer).await?.value;
        if let Some(lamports) = vacant(account.as_ref()) {
            return Ok((None, lamports));
        }
        let found = account.as_ref().and_then(Buffer::decode);
        let foreign = |why: &str| UploadError::Foreign { address: self.buffer, why: why.to_owned() };
        let found = found.ok_or_else(|| foreign("it is none"))?;
        if found.content.len() != self.elf.len() {
            return Err(foreign("it has another length"));
        }
        Ok((Some(found), 0))
    }

    /// Makes the buffer with the wallet as its authority. `rent`: what it needs; `held`: what is at its address.
    pub fn create(&self, rent: u64, held: u64) -> Result<Vec<Instruction>, UploadError> {
        let space = u64::try_from(LoaderState::size_of_buffer(self.elf.len())).unwrap_or(u64::MAX);
        let (seed, owner) = (seed_of(self.elf), bpf_loader_upgradeable::ID);
        let make = system::allocate_with_seed(&self.buffer, &self.wallet, &seed, space, &owner);
        let initialize = loader::create_buffer(&self.wallet, &self.buffer, &self.wallet, rent, self.elf.len())
            .map_err(|error| SignError::Encoding(error.to_string()))?;
        let mut all = vec![system::transfer(&self.wallet, &self.buffer, rent.saturating_sub(held)), make];
        // Not its first one: it fails if somebody has sent lamports to the address.
        all.extend(initialize.into_iter().skip(1));
        Ok(all)
    }

    /// The offsets of the parts that differ from the ELF.
    pub fn missing(&self, content: &[u8]) -> Vec<usize> {
        let parts = self.elf.chunks(self.part).enumerate();
        let parts = parts.map(|(number, part)| (number.saturating_mul(self.part), part));
        let differs = |(at, part): &(usize, &[u8])| content.get(*at..).is_none_or(|rest| !rest.starts_with(part));
        parts.filter(differs).map(|(at, _)| at).collect()
    }

    pub fn parts(&self) -> usize {
        self.elf.len().div_ceil(self.part)
    }

    fn write(&self, at: usize, part: &[u8]) -> Vec<Instruction> {
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        let mut all = Vec::new();
        if self.unit_price > 0 {
            all.extend([compute_unit_limit(WRITE_UNITS), compute_unit_price(self.unit_price)]);
        }
        all.push(loader::write(&self.buffer, &self.wallet, at, part.to_vec()));
        all
    }

    /// Fills the buffer, and returns when the chain shows the whole ELF in it: how many parts were sent.
    ///
    /// Only the buffer says what has arrived. Writes are not stored before they are sent, unlike what moves money: each
    /// can be repeated, and nothing follows from one alone. `left` is called before each round with what is missing.
    pub async fn fill(
        &self,
        chain: &ChainClient,
        keypair: &Keypair,
        left: impl Fn(usize),
    ) -> Result<usize, UploadError> {
        let (mut sent, mut idle, mut last) = (BTreeSet::new(), 0_u32, None);
        let mut before = self.parts().saturating_add(1);
        loop {
            let found = self.read(chain).await?.ok_or(UploadError::Gone(self.buffer))?;
            if found.authority != Some(self.wallet) {
                let why = "it belongs to somebody else".to_owned();
                return Err(UploadError::Foreign { address: self.buffer, why });
            }
            let missing = self.missing(&found.content);
            let count = missing.len();
            if count == 0 {
                return Ok(sent.len());
            }
            idle = if count < before { 0 } else { idle.saturating_add(1) };
            if idle > MOST_IDLE_ROUNDS {
                return Err(UploadError::Stalled { address: self.buffer, missing: count, last });
            }
            if idle > 0 {
                sleep(IDLE_PAUSE).await;
            }
            before = count;
            sent.extend(missing.iter().copied());
            left(count);
            last = self.round(chain, keypair, missing).await?.or(last);
        }
    }

    /// The buffer, also from a node that limits requests or does not answer for a while.
    async fn read(&self, chain: &ChainClient) -> Result<Option<Buffer>, UploadError> {
        for _ in 1..MOST_READS {
            match self.found(chain).await {
                Err(UploadError::Chain(error)) => sleep(pause_after(&error)).await,
                found => return Ok(found?.0),
            }
        }
        Ok(self.found(chain).await?.0)
    }

    /// Sends these parts, many at a time. Returns why one of them is not there, if that is known.
    async fn round(
        &self,
        chain: &ChainClient,
        keypair: &Keypair,
        missing: Vec<usize>,
    ) -> Result<Option<String>, SignError> {
        let last = Mutex::new(Ok(None));
        let keep = |result| *last.lock() = result;
        let send = async |at: usize| {
            let rest = self.elf.get(at..).unwrap_or_default();
            let part = rest.get(..self.part).unwrap_or(rest);
            let blockhash = match chain.recent_blockhash().await {
                Ok(blockhash) => blockhash,
                Err(error) => {
                    sleep(pause_after(&error)).await;
                    return keep(Ok(Some(error.to_string())));
                }
            };
            let transaction = match SignedTransaction::sign(&self.write(at, part), &[keypair], blockhash) {
                Ok(transaction) => transaction,
                Err(error) => return keep(Err(error)),
            };
            match chain.send_and_confirm(&transaction, PATIENCE).await {
                Outcome::Confirmed { .. } => {}
                Outcome::Rejected { error, .. } => keep(Ok(Some(error))),
                Outcome::Expired | Outcome::Unknown => keep(Ok(Some("the network does not take them".to_owned()))),
            }
        };
        stream::iter(missing).for_each_concurrent(MOST_AT_ONCE, send).await;
        last.into_inner()
    }

    /// Makes the buffer a program at the address of a key pair that signs too. `rent`: what the program's account
    /// needs; `held`: what is at its address already.
    pub fn deploy(&self, program: &Pubkey, rent: u64, held: u64) -> Result<Vec<Instruction>, SignError> {
        let (wallet, buffer, length) = (&self.wallet, &self.buffer, self.elf.len());
        let deploy = loader::deploy_with_max_program_len(wallet, program, buffer, wallet, rent, length)
            .map_err(|error| SignError::Encoding(error.to_string()))?;
        let space = u64::try_from(LoaderState::size_of_program()).unwrap_or(u64::MAX);
        let mut all = vec![system::allocate(program, space), system::assign(program, &bpf_loader_upgradeable::ID)];
        let missing = rent.saturating_sub(held);
        if missing > 0 {
            all.insert(0, system::transfer(wallet, program, missing));
        }
        all.extend(deploy.into_iter().skip(1));
        Ok(all)
    }

    /// Makes the buffer the next version of a program. Its rent returns to the wallet.
    pub fn upgrade(&self, program: &Pubkey) -> Instruction {
        loader::upgrade(program, &self.buffer, &self.wallet, &self.wallet)
    }

    /// Gives the buffer away.
    pub fn give_to(&self, authority: &Pubkey) -> Instruction {
        loader::set_buffer_authority(&self.buffer, &self.wallet, authority)
    }
}

fn pause_after(error: &ChainError) -> Duration {
    error.retry_after().unwrap_or(IDLE_PAUSE).clamp(IDLE_PAUSE, LONGEST_PAUSE)
}

/// The seed of a buffer's address: half of the ELF's SHA-256, because no more fits.
fn seed_of(elf: &[u8]) -> String {
    let hash = ResultHash::of(elf).0;
    hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// The address of a wallet's buffer for an ELF.
pub fn buffer_address(wallet: &Pubkey, elf: &[u8]) -> Result<Pubkey, PubkeyError> {
    Pubkey::create_with_seed(wallet, &seed_of(elf), &bpf_loader_upgradeable::ID)
}

/// Lamports at an address where a program is to be made; `None` if there is an account already.
pub async fn lamports_at_vacant(chain: &ChainClient, address: &Pubkey) -> Result<Option<u64>, ChainError> {
    Ok(vacant(chain.account(address).await?.value.as_ref()))
}

/// How many bytes a program with room for `room` bytes of code has to grow for an ELF; `None` if it cannot.
pub fn growth(room: usize, elf: usize) -> Option<u32> {
    const LEAST: usize = loader::MINIMUM_EXTEND_PROGRAM_BYTES as usize;
    let missing = elf.saturating_sub(room);
    let most = MAX_ELF_BYTES.saturating_sub(room);
    match missing {
        0 => Some(0),
        _ if missing > most => None,
        _ => u32::try_from(missing.max(LEAST).min(most)).ok(),
    }
}

/// Makes room for longer code. Anybody may, and pays for it.
pub fn extend(program: &Pubkey, payer: &Pubkey, bytes: u32) -> Instruction {
    loader::extend_program(program, Some(payer), bytes)
}

/// Gives a program away, without asking who gets it.
pub fn hand_over(program: &Pubkey, from: &Pubkey, to: &Pubkey) -> Instruction {
    loader::set_upgrade_authority(program, from, Some(to))
}

/// Closes a buffer; its lamports go to its authority.
pub fn close_buffer(buffer: &Pubkey, authority: &Pubkey) -> Instruction {
    loader::close(buffer, authority, authority)
}

/// Waits until the chain has passed a slot: a program works, and can be changed again, from the slot after its last
/// change on.
pub async fn wait_until_after(chain: &ChainClient, slot: u64) -> Result<(), UploadError> {
    for _ in 0..MOST_SLOT_PAUSES {
        if chain.slot(CommitmentConfig::confirmed()).await? > slot {
            return Ok(());
        }
        sleep(SLOT_PAUSE).await;
    }
    Err(UploadError::NoSlots)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use solana_signer::Signer;
    use solana_transaction::versioned::VersionedTransaction;

    use super::*;
    use crate::testing::{FakeRpc, Fault, OnSend};

    fn wallet() -> Keypair {
        Keypair::new_from_array([1; 32])
    }

    fn elf() -> Vec<u8> {
        (0..2_500_u32).map(|number| u8::try_from(number % 251).expect("small")).collect()
    }

    fn account(authority: Option<Pubkey>, content: &[u8]) -> FetchedAccount {
        let mut data = [&BUFFER_TAG[..], &[u8::from(authority.is_some())]].concat();
        data.extend_from_slice(authority.unwrap_or_default().as_ref());
        data.extend_from_slice(content);
        FetchedAccount { owner: bpf_loader_upgradeable::ID, lamports: 1, data }
    }

    /// What the loader does with a write.
    fn write(bytes: &[u8], accounts: &mut HashMap<Pubkey, FetchedAccount>) {
        let transaction: VersionedTransaction = wincode::deserialize(bytes).expect("a transaction");
        let data = &transaction.message.instructions().last().expect("one").data;
        let at = usize::try_from(u32::from_le_bytes(data[4..8].try_into().expect("an offset"))).expect("small");
        let part = &data[16..];
        let keys = transaction.message.static_account_keys();
        let (_, buffer) = accounts.iter_mut().find(|(address, _)| keys.contains(address)).expect("a buffer");
        buffer.data[CONTENT_AT..][at..][..part.len()].copy_from_slice(part);
    }

    async fn start(content: &[u8]) -> (FakeRpc, ChainClient) {
        let node = FakeRpc::start().await;
        let client = ChainClient::new(node.url(), Duration::from_secs(5));
        let address = buffer_address(&wallet().pubkey(), &elf()).expect("an address");
        node.script().effect = Box::new(write);
        node.script().accounts.insert(address, account(Some(wallet().pubkey()), content));
        (node, client)
    }

    async fn filled(client: &ChainClient) -> Result<usize, UploadError> {
        let elf = elf();
        let upload = Upload::new(wallet().pubkey(), &elf, 0)?;
        upload.fill(client, &wallet(), |_| {}).await
    }

    #[tokio::test]
    async fn an_empty_buffer_gets_every_part_and_a_full_one_nothing() {
        let (node, client) = start(&[0; 2_500]).await;
        assert_eq!(filled(&client).await.expect("fills"), 3);
        assert_eq!(filled(&client).await.expect("is full"), 0);
        assert_eq!(node.script().sent.len(), 3);
    }

    #[tokio::test]
    async fn only_parts_that_differ_are_sent() {
        let mut content = elf();
        content[1_500] = 0;
        let (node, client) = start(&content).await;
        assert_eq!(filled(&client).await.expect("fills"), 1);
        assert_eq!(node.script().sent.len(), 1);
    }

    #[tokio::test]
    async fn an_answer_that_errs_is_no_failure_and_the_buffer_decides() {
        let (node, client) = start(&[0; 2_500]).await;
        node.script().on_send = OnSend::LandButAnswerError;
        assert_eq!(filled(&client).await.expect("fills"), 3);
    }

    #[tokio::test]
    async fn a_node_that_takes_no_requests_for_a_while_is_asked_again() {
        for fault in [Fault::RateLimit(1), Fault::Status(502)] {
            let (node, client) = start(&[0; 2_500]).await;
            node.script().fault = Some(fault);
            let recovery = async {
                sleep(Duration::from_secs(6)).await;
                node.script().fault = None;
            };
            let (result, ()) = tokio::join!(filled(&client), recovery);
            assert_eq!(result.expect("fills"), 3);
        }
    }

    #[tokio::test]
    async fn a_confirmed_write_that_is_not_in_the_buffer_ends_in_an_error_after_some_rounds() {
        let (node, client) = start(&[0; 2_500]).await;
        node.script().effect = Box::new(|_, _| {});
        let error = filled(&client).await.expect_err("nothing arrives").to_string();
        assert!(error.contains("3 parts of the code do not arrive"), "{error}");
    }

    #[tokio::test]
    async fn a_buffer_of_somebody_else_or_none_gets_nothing() {
        let (node, client) = start(&[0; 2_500]).await;
        let address = buffer_address(&wallet().pubkey(), &elf()).expect("an address");
        for authority in [None, Some(Pubkey::new_from_array([7; 32]))] {
            node.script().accounts.insert(address, account(authority, &[0; 2_500]));
            assert!(matches!(filled(&client).await, Err(UploadError::Foreign { .. })), "{authority:?}");
        }
        node.script().accounts.insert(address, account(Some(wallet().pubkey()), &[0; 2_499]));
        assert!(matches!(filled(&client).await, Err(UploadError::Foreign { .. })));
        let other_owner = FetchedAccount { owner: Pubkey::new_from_array([7; 32]), ..account(None, &elf()) };
        node.script().accounts.insert(address, other_owner);
        assert!(matches!(filled(&client).await, Err(UploadError::Foreign { .. })));
        node.script().accounts.remove(&address);
        assert!(matches!(filled(&client).await, Err(UploadError::Gone(_))));
        assert!(node.script().sent.is_empty());
    }

    #[test]
    fn a_part_fills_a_transaction_also_with_a_priority_fee() {
        let elf = vec![1; 20_000];
        for price in [0, u64::MAX] {
            let upload = Upload::new(wallet().pubkey(), &elf, price).expect("an upload");
            let blockhash = RecentBlockhash { hash: solana_hash::Hash::default(), last_valid_block_height: 0 };
            let write = upload.write(elf.len(), &elf[..upload.part]);
            let transaction = SignedTransaction::sign(&write, &[&wallet()], blockhash).expect("fits");
            assert_eq!(transaction.bytes.len(), MAX_TRANSACTION_BYTES);
        }
    }

    #[test]
    fn the_buffer_of_other_code_or_another_wallet_is_another_one() {
        let (wallet, elf) = (wallet().pubkey(), elf());
        let address = |wallet, elf: &[u8]| buffer_address(&wallet, elf).expect("an address");
        assert_eq!(address(wallet, &elf), address(wallet, &elf));
        assert_ne!(address(wallet, &elf), address(wallet, &elf[1..]));
        assert_ne!(address(wallet, &elf), address(Pubkey::new_from_array([2; 32]), &elf));
    }

    #[test]
    fn a_program_grows_by_what_the_loader_takes_and_up_to_its_bound() {
        assert_eq!((growth(100, 100), growth(100, 50), growth(100, 101)), (Some(0), Some(0), Some(10_240)));
        assert_eq!(growth(100, 100 + 10_241), Some(10_241));
        assert_eq!(growth(MAX_ELF_BYTES - 5, MAX_ELF_BYTES), Some(5), "all that is left");
        assert_eq!(growth(MAX_ELF_BYTES, MAX_ELF_BYTES + 1), None);
    }

    #[test]
    fn what_is_no_buffer_is_not_read_as_one() {
        assert!(Buffer::decode(&account(None, b"code")).is_some_and(|buffer| buffer.authority.is_none()));
        for data in [vec![], BUFFER_TAG.to_vec(), vec![3; 100], account(None, b"").data[..36].to_vec()] {
            assert_eq!(Buffer::decode(&FetchedAccount { data, ..account(None, b"") }), None);
        }
    }
}
