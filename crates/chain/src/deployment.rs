//! A deployment before it has its one configuration: what must hold on chain, and the instructions that make it.
//! `crtx admin init` and the set-up of local networks are these functions.

use agent_marketplace::{
    error::MarketplaceError,
    instructions::InitializeConfigArgs,
    state::{Config, LAYOUT_VERSION},
};
use bytemuck::Zeroable;
use crtx_protocol::result_hash::ResultHash;
use serde::Deserialize;
use solana_instruction::Instruction;
use solana_program_pack::Pack;
use solana_pubkey::Pubkey;
use solana_sdk_ids::{bpf_loader_upgradeable, system_program};
use spl_token_interface::state::Mint;

use crate::{
    ChainClient, ChainError, DecodeError, FetchedAccount, Instructions, Layout,
    instructions::program_data_address,
    token::{self, TOKEN_PROGRAM_ID, USDC_DECIMALS},
};

/// Describes the committed ELF; `cargo xtask build-program` writes it.
static BUILD: &str = include_str!("agent_marketplace.json");

/// The committed ELF, which works only at the address that it was built for.
pub static COMMITTED_ELF: &[u8] = include_bytes!("agent_marketplace.so");

/// The loader's tags of its accounts, little-endian.
const PROGRAM_TAG: [u8; 4] = [2, 0, 0, 0];
const PROGRAM_DATA_TAG: [u8; 4] = [3, 0, 0, 0];
/// Where a program-data account says in which slot the code was changed, whether there is an upgrade authority, and
/// which; the code begins after it.
const SLOT_AT: usize = 4;
const AUTHORITY_FLAG_AT: usize = 12;
const AUTHORITY_AT: usize = 13;
const CODE_AT: usize = 45;
/// Owner of the mints that the program does not take.
const TOKEN_2022_PROGRAM_ID: Pubkey = Pubkey::from_str_const("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb");

/// Why a deployment cannot get this configuration.
#[derive(Debug, thiserror::Error)]
pub enum DeploymentError {
    #[error("there is no program {0} on this chain; deploy it first")]
    NoProgram(Pubkey),
    #[error("{0} is no program of the upgradeable loader, so it has no upgrade authority who could do this")]
    NotUpgradeable(Pubkey),
    #[error("the program {0} has no code any more: it was closed, and its address cannot be used again")]
    Closed(Pubkey),
    #[error("the program {0} has no upgrade authority any more, so nobody can do this; deploy it at another address")]
    Immutable(Pubkey),
    #[error("only the upgrade authority {authority} of the program {program} may do this, and not {wallet}")]
    NotAuthority { program: Pubkey, authority: Pubkey, wallet: Pubkey },
    #[error("the code of the program {program} is not the one of this version ({found} instead of {committed})")]
    OtherCode { program: Pubkey, found: String, committed: String },
    #[error("the code of the program {program} has the hash {found} instead of {expected}")]
    OtherHash { program: Pubkey, found: String, expected: String },
    #[error("the code at {0} works only at the address {address} that it was built for", address = agent_marketplace::ID)]
    OtherAddress(Pubkey),
    #[error("there is no mint {0} on this chain")]
    NoMint(Pubkey),
    #[error("{0} is a mint of Token-2022; only mints of the classic SPL Token program are taken")]
    Token2022(Pubkey),
    #[error("{0} is not a mint of the classic SPL Token program")]
    NotMint(Pubkey),
    #[error("the mint {mint} has {decimals} decimals; USDC has {USDC_DECIMALS}")]
    Decimals { mint: Pubkey, decimals: u8 },
    #[error("the {first} and the {second} are the same address, {address}; each needs one of its own")]
    Shared { first: &'static str, second: &'static str, address: Pubkey },
    #[error("the {0} is the zero address")]
    Missing(&'static str),
    #[error("the program does not take these parameters: {0}")]
    Parameters(MarketplaceError),
    #[error("the configuration is of another version of the program")]
    OtherLayout(#[from] DecodeError),
    #[error(transparent)]
    Chain(#[from] ChainError),
}

/// Which code a deployment may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpectedCode {
    /// The committed ELF, at the address that it was built for.
    Committed,
    /// Code with this [`code_hash`](DeployedProgram::code_hash): another build of the same source.
    Hash(String),
    Any,
}

#[derive(Deserialize)]
struct Build {
    sha256: String,
    bytes: usize,
}

/// A program as the chain has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployedProgram {
    pub address: Pubkey,
    /// Who may replace the code and make the configuration; `None`: nobody any more.
    pub upgrade_authority: Option<Pubkey>,
    /// SHA-256 of as many bytes of code as the committed ELF has.
    pub sha256: String,
    /// That of the committed ELF.
    pub committed_sha256: String,
    /// Whether the code is the committed ELF, followed by zeros alone.
    pub is_committed: bool,
    /// [`code_hash`] of the code.
    pub code_hash: String,
    /// Bytes of code that fit.
    pub room: usize,
    /// The slot of the last deployment, upgrade or extension.
    pub slot: u64,
}

/// SHA-256 of code without the zeros at its end, as `solana-verify` and explorers show it.
pub fn code_hash(code: &[u8]) -> String {
    let end = code.iter().rposition(|byte| *byte != 0).map_or(0, |last| last.saturating_add(1));
    sha256(code.get(..end).unwrap_or_default())
}

/// In hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    ResultHash::of(bytes).0.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl DeployedProgram {
    /// Reads both accounts of the loader at one slot.
    pub async fn read(chain: &ChainClient, address: &Pubkey) -> Result<Self, DeploymentError> {
        let accounts = chain.accounts(&[*address, program_data_address(address)]).await?.value;
        let [program, data] = <[Option<FetchedAccount>; 2]>::try_from(accounts)
            .map_err(|_| ChainError::Malformed("an answer about two accounts"))?;
        let program = program.ok_or(DeploymentError::NoProgram(*address))?;
        if program.owner != bpf_loader_upgradeable::ID || !program.data.starts_with(&PROGRAM_TAG) {
            return Err(DeploymentError::NotUpgradeable(*address));
        }
        let data = data.filter(|data| data.owner == bpf_loader_upgradeable::ID);
        let data = data.filter(|data| data.data.starts_with(&PROGRAM_DATA_TAG));
        Self::of(*address, &data.ok_or(DeploymentError::Closed(*address))?.data)
    }

    fn of(address: Pubkey, data: &[u8]) -> Result<Self, DeploymentError> {
        let build: Build = serde_json::from_str(BUILD)
            .map_err(|_| ChainError::Malformed("comparable: this build does not describe its program"))?;
        let authority = data.get(AUTHORITY_AT..).and_then(|rest| rest.first_chunk::<32>());
        // Nobody has the key of the zero address; genesis tools write it for "none".
        let has_authority = data.get(AUTHORITY_FLAG_AT) == Some(&1) && authority != Some(&[0; 32]);
        let code = data.get(CODE_AT..).unwrap_or_default();
        let slot = data.get(SLOT_AT..).and_then(|rest| rest.first_chunk()).map_or(0, |slot| u64::from_le_bytes(*slot));
        let (code_hash, room_for) = (code_hash(code), code.len());
        // The loader keeps room for a longer version.
        let (code, room) = code.split_at_checked(build.bytes).unwrap_or((code, &[]));
        let sha256 = sha256(code);
        Ok(Self {
            address,
            upgrade_authority: authority.filter(|_| has_authority).map(|key| Pubkey::new_from_array(*key)),
            is_committed: sha256 == build.sha256 && room.iter().all(|byte| *byte == 0),
            sha256,
            committed_sha256: build.sha256,
            code_hash,
            room: room_for,
            slot,
        })
    }

    /// Whether `wallet` may initialise the configuration.
    pub fn check_authority(&self, wallet: &Pubkey) -> Result<(), DeploymentError> {
        let program = self.address;
        match self.upgrade_authority {
            None => Err(DeploymentError::Immutable(program)),
            Some(authority) if authority != *wallet => {
                Err(DeploymentError::NotAuthority { program, authority, wallet: *wallet })
            }
            Some(_) => Ok(()),
        }
    }

    /// Whether the code is the expected one. The committed ELF must be at the address that it was built for.
    pub fn check_code(&self, expected: &ExpectedCode) -> Result<(), DeploymentError> {
        let program = self.address;
        match expected {
            ExpectedCode::Committed if !self.is_committed => {
                let (found, committed) = (self.sha256.clone(), self.committed_sha256.clone());
                return Err(DeploymentError::OtherCode { program, found, committed });
            }
            ExpectedCode::Hash(expected) if *expected != self.code_hash => {
                let (found, expected) = (self.code_hash.clone(), expected.clone());
                return Err(DeploymentError::OtherHash { program, found, expected });
            }
            _ => {}
        }
        match self.is_committed && self.address != agent_marketplace::ID {
            true => Err(DeploymentError::OtherAddress(self.address)),
            false => Ok(()),
        }
    }
}

/// Whether the program takes the mint as USDC.
pub async fn check_usdc_mint(chain: &ChainClient, mint: &Pubkey) -> Result<(), DeploymentError> {
    let account = chain.account(mint).await?.value.ok_or(DeploymentError::NoMint(*mint))?;
    if account.owner == TOKEN_2022_PROGRAM_ID {
        return Err(DeploymentError::Token2022(*mint));
    }
    let found = Mint::unpack(&account.data).ok().filter(|_| account.owner == TOKEN_PROGRAM_ID);
    match found.ok_or(DeploymentError::NotMint(*mint))?.decimals {
        USDC_DECIMALS => Ok(()),
        decimals => Err(DeploymentError::Decimals { mint: *mint, decimals }),
    }
}

/// The configuration that a deployment is to get.
#[derive(Clone, Debug)]
pub struct Initialization {
    /// Program and mint.
    pub instructions: Instructions,
    pub args: InitializeConfigArgs,
}

impl Initialization {
    /// The account that the program writes.
    pub fn config(&self) -> Config {
        Config {
            admin: self.args.admin,
            resolver: self.args.resolver,
            gateway_authority: self.args.gateway_authority,
            treasury_owner: self.args.treasury_owner,
            insurance_owner: self.args.insurance_owner,
            guardian: self.args.guardian,
            usdc_mint: self.instructions.usdc_mint,
            revision: 1,
            parameters: self.args.parameters,
            version: LAYOUT_VERSION,
            ..Config::zeroed()
        }
    }

    /// The configuration that the deployment has already. Lamports that somebody sent to its address are none.
    pub async fn found(&self, chain: &ChainClient) -> Result<Option<Config>, DeploymentError> {
        let addresses = &self.instructions.addresses;
        let account = chain.account(&addresses.config()).await?.value;
        let account = account.filter(|account| account.owner != system_program::ID);
        Ok(account.map(|account| Config::decode(&account.data)).transpose()?)
    }

    /// Parameters within their limits, and no address with two meanings: who loses one key then loses one power.
    pub fn check_roles(&self) -> Result<(), DeploymentError> {
        let args = &self.args;
        args.parameters.check().map_err(DeploymentError::Parameters)?;
        let named = [
            ("admin", args.admin),
            ("resolver", args.resolver),
            ("gateway authority", args.gateway_authority),
            ("treasury owner", args.treasury_owner),
            ("insurance owner", args.insurance_owner),
            ("guardian", args.guardian),
            ("USDC mint", self.instructions.usdc_mint),
            ("program", self.instructions.addresses.program_id()),
        ];
        for (index, (first, address)) in named.into_iter().enumerate() {
            if address == Pubkey::default() {
                // A deployment can do without a guardian.
                if first == "guardian" {
                    continue;
                }
                return Err(DeploymentError::Missing(first));
            }
            if let Some((name, _)) = named.iter().take(index).find(|(_, other)| *other == address) {
                return Err(DeploymentError::Shared { first: name, second: first, address });
            }
        }
        Ok(())
    }

    /// Program, signer and mint as the chain has them.
    pub async fn check_chain(
        &self,
        chain: &ChainClient,
        authority: &Pubkey,
        code: &ExpectedCode,
    ) -> Result<DeployedProgram, DeploymentError> {
        let program = DeployedProgram::read(chain, &self.instructions.addresses.program_id()).await?;
        program.check_authority(authority)?;
        program.check_code(code)?;
        check_usdc_mint(chain, &self.instructions.usdc_mint).await?;
        Ok(program)
    }

    /// The token accounts of treasury and insurance, without which nothing is paid out.
    pub fn token_accounts(&self) -> [Pubkey; 2] {
        [self.args.treasury_owner, self.args.insurance_owner].map(|owner| self.instructions.usdc_of(&owner))
    }

    /// Creates those token accounts, as far as they do not exist.
    pub fn create_token_accounts(&self, payer: &Pubkey) -> Vec<Instruction> {
        let owners = [self.args.treasury_owner, self.args.insurance_owner];
        let create = |owner| token::create_associated_token_account(payer, owner, &self.instructions.usdc_mint);
        owners.iter().map(create).collect()
    }

    /// Token accounts and configuration, for one transaction: all of them are there afterwards, or none.
    pub fn all(&self, authority: &Pubkey) -> Vec<Instruction> {
        let mut all = self.create_token_accounts(authority);
        all.push(self.instructions.initialize_config(authority, self.args.clone()));
        all
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use agent_marketplace::state::MarketParameters;
    use crtx_protocol::address::Addresses;

    use super::*;
    use crate::testing::FakeRpc;

    static ELF: &[u8] = COMMITTED_ELF;
    const PROGRAM: Pubkey = agent_marketplace::ID;
    const MINT: Pubkey = key(6);
    const AUTHORITY: Pubkey = key(9);

    const fn key(byte: u8) -> Pubkey {
        Pubkey::new_from_array([byte; 32])
    }

    fn wanted(program: Pubkey) -> Initialization {
        Initialization {
            instructions: Instructions::new(Addresses::new(program), MINT),
            args: InitializeConfigArgs {
                admin: key(1),
                resolver: key(2),
                gateway_authority: key(3),
                treasury_owner: key(4),
                insurance_owner: key(5),
                guardian: key(10),
                parameters: MarketParameters::DEFAULT,
            },
        }
    }

    fn account(owner: Pubkey, data: Vec<u8>) -> FetchedAccount {
        FetchedAccount { owner, lamports: 1, data }
    }

    fn program_data(authority: Option<Pubkey>, code: &[u8]) -> Vec<u8> {
        let mut data = [&PROGRAM_DATA_TAG[..], &[0; 8], &[u8::from(authority.is_some())]].concat();
        data.extend_from_slice(authority.unwrap_or_default().as_ref());
        data.extend_from_slice(code);
        data
    }

    fn mint(decimals: u8) -> Vec<u8> {
        let mut data = vec![0; token::MINT_LEN];
        (data[44], data[45]) = (decimals, 1);
        data
    }

    /// A node with the program at `program` and a mint of USDC.
    async fn node(program: Pubkey, authority: Option<Pubkey>, code: &[u8]) -> FakeRpc {
        let node = FakeRpc::start().await;
        let data = program_data_address(&program);
        let pointer = [&PROGRAM_TAG[..], data.as_ref()].concat();
        node.script().accounts.extend([
            (program, account(bpf_loader_upgradeable::ID, pointer)),
            (data, account(bpf_loader_upgradeable::ID, program_data(authority, code))),
            (MINT, account(TOKEN_PROGRAM_ID, mint(USDC_DECIMALS))),
        ]);
        node
    }

    async fn checked(node: &FakeRpc, program: Pubkey, code: &ExpectedCode) -> Result<DeployedProgram, DeploymentError> {
        let chain = ChainClient::new(node.url(), Duration::from_secs(5));
        wanted(program).check_chain(&chain, &AUTHORITY, code).await
    }

    #[tokio::test]
    async fn the_committed_program_passes_also_with_room_behind_it() {
        for room in [0, 1, 9_000] {
            let code = [ELF, &vec![0; room]].concat();
            let node = node(PROGRAM, Some(AUTHORITY), &code).await;
            let deployed = checked(&node, PROGRAM, &ExpectedCode::Committed).await.expect("passes");
            assert!(deployed.is_committed && deployed.sha256 == deployed.committed_sha256, "{room}");
        }
    }

    #[tokio::test]
    async fn code_that_is_not_the_committed_one_needs_a_permission() {
        let mut changed = ELF.to_vec();
        changed[1_000] ^= 1;
        let longer = [ELF, &[0, 0, 1]].concat();
        for code in [&changed[..], &longer, &ELF[..ELF.len() - 1], &[]] {
            let node = node(PROGRAM, Some(AUTHORITY), code).await;
            let error = checked(&node, PROGRAM, &ExpectedCode::Committed).await.expect_err("refused");
            assert!(matches!(error, DeploymentError::OtherCode { .. }), "{error}");
            assert!(!checked(&node, PROGRAM, &ExpectedCode::Any).await.expect("permitted").is_committed);
        }
    }

    #[tokio::test]
    async fn a_build_of_the_ecosystems_image_is_expected_by_its_hash_without_the_zeros_at_its_end() {
        let built = [&ELF[..1_000], &[1, 0]].concat();
        let hash: String = ResultHash::of(&built[..1_001]).0.iter().map(|byte| format!("{byte:02x}")).collect();
        for room in [0, 1, 9_000] {
            let node = node(PROGRAM, Some(AUTHORITY), &[&built[..], &vec![0; room]].concat()).await;
            let deployed = checked(&node, PROGRAM, &ExpectedCode::Hash(hash.clone())).await.expect("passes");
            assert_eq!((deployed.is_committed, &deployed.code_hash), (false, &hash), "{room}");
        }
        let other = node(PROGRAM, Some(AUTHORITY), &built[..1_000]).await;
        let error = checked(&other, PROGRAM, &ExpectedCode::Hash(hash)).await.expect_err("refused");
        assert!(matches!(error, DeploymentError::OtherHash { .. }), "{error}");
    }

    #[tokio::test]
    async fn the_committed_program_at_another_address_is_refused_even_with_the_permission() {
        let node = node(key(8), Some(AUTHORITY), ELF).await;
        for code in [ExpectedCode::Committed, ExpectedCode::Any] {
            let error = checked(&node, key(8), &code).await.expect_err("refused");
            assert!(matches!(error, DeploymentError::OtherAddress(_)), "{error}");
        }
    }

    #[tokio::test]
    async fn only_the_upgrade_authority_passes() {
        let other = node(PROGRAM, Some(key(7)), ELF).await;
        let error = checked(&other, PROGRAM, &ExpectedCode::Committed).await.expect_err("refused");
        assert!(error.to_string().contains(&key(7).to_string()), "{error}");
        for nobody in [None, Some(Pubkey::default())] {
            let none = node(PROGRAM, nobody, ELF).await;
            let error = checked(&none, PROGRAM, &ExpectedCode::Committed).await.expect_err("refused");
            assert!(matches!(error, DeploymentError::Immutable(_)), "{error}");
        }
    }

    #[tokio::test]
    async fn what_is_no_deployed_program_is_named() {
        let node = node(PROGRAM, Some(AUTHORITY), ELF).await;
        node.script().accounts.remove(&program_data_address(&PROGRAM));
        let error = checked(&node, PROGRAM, &ExpectedCode::Committed).await.expect_err("refused");
        assert!(matches!(error, DeploymentError::Closed(_)), "{error}");
        node.script().accounts.insert(PROGRAM, account(system_program::ID, vec![]));
        let error = checked(&node, PROGRAM, &ExpectedCode::Committed).await.expect_err("refused");
        assert!(matches!(error, DeploymentError::NotUpgradeable(_)), "{error}");
        node.script().accounts.remove(&PROGRAM);
        let error = checked(&node, PROGRAM, &ExpectedCode::Committed).await.expect_err("refused");
        assert!(matches!(error, DeploymentError::NoProgram(_)), "{error}");
    }

    #[tokio::test]
    async fn a_mint_that_is_not_like_usdc_is_refused_with_the_reason() {
        let node = node(PROGRAM, Some(AUTHORITY), ELF).await;
        let uninitialized = vec![0; token::MINT_LEN];
        for (account, says) in [
            (Some(account(TOKEN_PROGRAM_ID, mint(9))), "9 decimals"),
            (Some(account(TOKEN_2022_PROGRAM_ID, mint(USDC_DECIMALS))), "Token-2022"),
            (Some(account(TOKEN_PROGRAM_ID, uninitialized)), "not a mint"),
            (Some(account(TOKEN_PROGRAM_ID, vec![0; 165])), "not a mint"),
            (Some(account(system_program::ID, mint(USDC_DECIMALS))), "not a mint"),
            (None, "no mint"),
        ] {
            match account {
                Some(account) => drop(node.script().accounts.insert(MINT, account)),
                None => drop(node.script().accounts.remove(&MINT)),
            }
            let error = checked(&node, PROGRAM, &ExpectedCode::Committed).await.expect_err("refused").to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn one_key_has_one_role_and_only_a_guardian_may_be_missing() {
        let mut wanted = wanted(PROGRAM);
        wanted.check_roles().expect("all differ");
        wanted.args.guardian = Pubkey::default();
        wanted.check_roles().expect("without a guardian");
        wanted.args.guardian = wanted.args.admin;
        assert!(matches!(wanted.check_roles(), Err(DeploymentError::Shared { .. })));
        wanted.args.guardian = key(10);
        wanted.args.resolver = Pubkey::default();
        assert!(matches!(wanted.check_roles(), Err(DeploymentError::Missing(_))));
    }

    #[tokio::test]
    async fn lamports_at_the_address_of_the_configuration_are_no_configuration() {
        let node = node(PROGRAM, Some(AUTHORITY), ELF).await;
        let (wanted, chain) = (wanted(PROGRAM), ChainClient::new(node.url(), Duration::from_secs(5)));
        assert!(wanted.found(&chain).await.expect("reads").is_none());
        let address = wanted.instructions.addresses.config();
        node.script().accounts.insert(address, account(system_program::ID, vec![]));
        assert!(wanted.found(&chain).await.expect("reads").is_none());
        node.script().accounts.insert(address, account(PROGRAM, vec![7; 560]));
        assert!(wanted.found(&chain).await.is_err(), "another layout is not a missing one");
    }
}
