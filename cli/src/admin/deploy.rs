//! `crtx admin deploy` and `close-buffer`: code on its way to the chain.

use std::{borrow::Cow, path::PathBuf};

use agent_marketplace::state::Config;
use anyhow::{Context, bail};
use bytemuck::Zeroable;
use crtx_chain::{
    deployment::{COMMITTED_ELF, DeployedProgram, DeploymentError, code_hash, sha256},
    instructions::program_data_address,
    loader::{self, Buffer, LoaderState, MAX_ELF_BYTES, Upload},
};
use serde_json::{Value, json};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

use crate::{
    arguments::{RoleArgs, SendArgs, read_input},
    keypair_file,
    output::{note, sol},
    progress::during,
    settings::Settings,
    transaction::{Plan, Sender, TransactionCost},
    usage::UsageError,
};

/// The first bytes of every ELF.
const ELF_MAGIC: [u8; 4] = *b"\x7fELF";

#[derive(Clone, Debug, clap::Args)]
pub struct DeployArgs {
    #[command(flatten)]
    code: ElfArgs,
    /// Key pair of the program's address; only the first deployment needs it
    #[arg(long, value_name = "FILE")]
    program_keypair: Option<PathBuf>,
    /// Who may upgrade the program afterwards, such as the vault of a multisig; nobody asks it [default: who signs]
    #[arg(long, value_name = "ADDRESS")]
    authority: Option<Pubkey>,
    /// Only write the code to a buffer, for the upgrade that another address signs
    #[arg(long, requires = "buffer_authority", conflicts_with_all = ["program_keypair", "authority"])]
    buffer_only: bool,
    /// Who gets the buffer: the upgrade authority of the program, such as the vault of a multisig
    #[arg(long, value_name = "ADDRESS", requires = "buffer_only")]
    buffer_authority: Option<Pubkey>,
    #[command(flatten)]
    send: SendArgs,
}

#[derive(Clone, Debug, clap::Args)]
pub struct CloseBufferArgs {
    /// The buffer [default: the one of this wallet for the code]
    #[arg(value_name = "ADDRESS", conflicts_with = "elf")]
    buffer: Option<Pubkey>,
    #[command(flatten)]
    code: ElfArgs,
    #[command(flatten)]
    role: RoleArgs,
}

#[derive(Clone, Debug, Default, clap::Args)]
struct ElfArgs {
    /// File with the code [default: the committed program of this version]
    #[arg(long, value_name = "FILE")]
    elf: Option<PathBuf>,
}

impl ElfArgs {
    fn read(&self) -> anyhow::Result<Cow<'static, [u8]>> {
        let Some(path) = &self.elf else { return Ok(Cow::Borrowed(COMMITTED_ELF)) };
        let elf = read_input(path, u64::try_from(MAX_ELF_BYTES)?)?;
        if !elf.starts_with(&ELF_MAGIC) {
            return Err(UsageError::new(format!("{} is no ELF file.", path.display())).into());
        }
        Ok(Cow::Owned(elf))
    }
}

async fn open(settings: &Settings, send: &SendArgs, unsigned_for: Option<Pubkey>) -> anyhow::Result<Sender> {
    // No configuration takes part.
    Sender::open_before_setup(settings, send, unsigned_for, |_, _| Ok(Config::zeroed())).await
}

/// One run.
struct Run<'a> {
    sender: &'a Sender,
    arguments: &'a DeployArgs,
    program: Pubkey,
    elf: &'a [u8],
    upload: Upload<'a>,
}

/// A repeated run is safe: what to do follows from the chain alone, and the buffer's address from wallet and code.
pub async fn run(arguments: &DeployArgs, settings: &Settings) -> anyhow::Result<()> {
    let elf = arguments.code.read()?;
    let keypair = arguments.program_keypair.as_deref().map(keypair_file::read).transpose()?;
    let sender = open(settings, &arguments.send, None).await?;
    let program = sender.market.addresses().program_id();
    if let Some(other) = keypair.as_ref().map(Keypair::pubkey).filter(|address| *address != program) {
        return Err(UsageError::new(format!(
            "The key pair of --program-keypair is that of {other}, and the program is {program}; see --program-id."
        ))
        .into());
    }
    if arguments.authority.is_some_and(|authority| authority == Pubkey::default() || authority == program) {
        return Err(UsageError::new("Nobody signs as the address of --authority.").into());
    }
    if arguments.code.elf.is_none() && program != agent_marketplace::ID {
        return Err(with_advice(DeploymentError::OtherAddress(program)));
    }
    let found = match loader::lamports_at_vacant(&sender.market.chain, &program).await? {
        Some(_) => None,
        None => Some(DeployedProgram::read(&sender.market.chain, &program).await?),
    };
    let upload = Upload::new(sender.wallet(), &elf, sender.priority_fee())?;
    let run = Run { sender: &sender, arguments, program, elf: &elf, upload };
    match (found, arguments.buffer_authority) {
        (found, Some(authority)) => run.buffer_only(found, &authority).await,
        (Some(found), None) if found.code_hash == code_hash(&elf) => run.is_there(&found).await,
        (Some(found), None) => run.upgrade(&found).await,
        (None, None) => run.deploy(keypair.as_ref()).await,
    }
}

impl Run<'_> {
    /// What every answer says.
    fn state(&self, upgrade_authority: Option<&Pubkey>, buffer: Option<&Pubkey>, sent: usize) -> Value {
        json!({
            "buffer": buffer.map(Pubkey::to_string),
            "program": self.program.to_string(),
            "upgrade_authority": upgrade_authority.map(Pubkey::to_string),
            "sha256": sha256(self.elf),
            "code_hash": code_hash(self.elf),
            "parts": self.upload.parts(),
            "parts_sent": sent,
        })
    }

    fn code(&self) -> String {
        let what = if *self.elf == *COMMITTED_ELF { "the committed program" } else { "NOT the committed program" };
        format!("The code is {what}: {} bytes, SHA-256 {}.", self.elf.len(), sha256(self.elf))
    }

    fn check_authority(&self, found: &DeployedProgram) -> anyhow::Result<()> {
        found.check_authority(&self.sender.wallet()).map_err(with_advice)
    }

    /// The code is as wanted, so at most the authority changes.
    async fn is_there(&self, found: &DeployedProgram) -> anyhow::Result<()> {
        let (wallet, program) = (self.sender.wallet(), self.program);
        let wanted = self.arguments.authority.filter(|wanted| Some(*wanted) != found.upgrade_authority);
        let Some(wanted) = wanted else {
            let more = self.state(found.upgrade_authority.as_ref(), None, 0);
            return self.sender.nothing_to_do(&format!("the program {program} has this code already"), more);
        };
        self.check_authority(found)?;
        let plan = Plan::new(
            format!("Hand the program {program} over to {wanted}"),
            vec![loader::hand_over(&program, &wallet, &wanted)],
        );
        let plan = plan.effect(handed_over(&wanted));
        self.sender
            .finish(
                plan,
                &format!("{wanted} is the upgrade authority of {program}"),
                self.state(Some(&wanted), None, 0),
            )
            .await
    }

    async fn deploy(&self, keypair: Option<&Keypair>) -> anyhow::Result<()> {
        let (chain, program) = (&self.sender.market.chain, self.program);
        let keypair = keypair.ok_or_else(|| {
            UsageError::new(format!(
                "There is no program {program} on this chain. The first deployment needs the key pair of this address: \
                 pass --program-keypair."
            ))
        })?;
        let data = program_data_address(&program);
        if self.sender.market.exists(&data).await? {
            bail!(
                "somebody has sent SOL to {data}, where the loader makes the account with the code of {program}; it \
                 refuses that for ever, so deploy at another address"
            );
        }
        let held = loader::lamports_at_vacant(chain, &program).await?;
        let held = held.with_context(|| format!("the program {program} is deployed meanwhile; run it again"))?;
        let rent = chain.rent_exemption(LoaderState::size_of_program()).await?;
        let code_rent = chain.rent_exemption(LoaderState::size_of_programdata(self.elf.len())).await?;
        let plan = Plan::new(format!("Deploy the program {program}"), vec![])
            .creates("the program", LoaderState::size_of_program())
            .creates("its code", LoaderState::size_of_programdata(self.elf.len()));
        let owned = rent.saturating_sub(held).saturating_add(code_rent);
        let costs = Costs { stays: owned, steps: 1, signatures: 2, joins_code: true };
        let last = self.upload.deploy(&program, rent, held)?;
        let sent = self.fill(plan, costs, None).await?;
        self.finish("Deploy", last, &[keypair], sent).await
    }

    async fn upgrade(&self, found: &DeployedProgram) -> anyhow::Result<()> {
        self.check_authority(found)?;
        let program = self.program;
        let plan = Plan::new(format!("Upgrade the program {program}"), vec![])
            .effect(format!("The code on chain has the hash {} now.", found.code_hash));
        let costs = Costs { stays: 0, steps: 1, signatures: 1, joins_code: false };
        let sent = self.fill(plan, costs, Some(found)).await?;
        // An extension counts as a change, and each slot has room for one.
        let now = DeployedProgram::read(&self.sender.market.chain, &program).await?;
        loader::wait_until_after(&self.sender.market.chain, now.slot).await?;
        self.finish("Upgrade", vec![self.upload.upgrade(&program)], &[], sent).await
    }

    /// Turns the buffer into the program's code, and looks at the chain afterwards.
    async fn finish(
        &self,
        verb: &str,
        mut last: Vec<solana_instruction::Instruction>,
        signers: &[&Keypair],
        parts_sent: usize,
    ) -> anyhow::Result<()> {
        let (sender, program, wallet) = (self.sender, self.program, self.sender.wallet());
        let authority = self.arguments.authority.unwrap_or(wallet);
        if authority != wallet {
            last.push(loader::hand_over(&program, &wallet, &authority));
        }
        let sent = sender.step(format!("{verb} the program {program}"), &last, signers).await;
        let sent = sent.with_context(|| self.buffer_stays())?;
        let unread = || format!("transaction {} is confirmed, but the program cannot be read", sent.signature);
        loader::wait_until_after(&sender.market.chain, sent.slot).await.with_context(unread)?;
        let now = DeployedProgram::read(&sender.market.chain, &program).await.with_context(unread)?;
        if now.code_hash != code_hash(self.elf) || now.upgrade_authority != Some(authority) {
            bail!("the program {program} has been changed by somebody else meanwhile; look at it before you go on");
        }
        let text = format!("the program {program} has this code, and {authority} is its upgrade authority");
        sender.say(Some(sent), &text, self.state(Some(&authority), None, parts_sent))
    }

    async fn buffer_only(&self, found: Option<DeployedProgram>, authority: &Pubkey) -> anyhow::Result<()> {
        let (sender, program, buffer) = (self.sender, self.program, self.upload.buffer);
        let found = found.ok_or_else(|| with_advice(DeploymentError::NoProgram(program)))?;
        // The loader takes a buffer only from the program's own authority.
        found.check_authority(authority)?;
        let state = |sent| self.state(Some(authority), Some(&buffer), sent);
        let text =
            format!("the buffer {buffer} has this code (hash {}) and belongs to {authority}", code_hash(self.elf));
        let (there, _) = self.upload.found(&sender.market.chain).await?;
        if there.as_ref().is_some_and(|there| there.authority == Some(*authority) && there.content == self.elf) {
            return sender.nothing_to_do(&text, state(0));
        }
        let plan = Plan::new(format!("Write code for an upgrade of {program} to the buffer {buffer}"), vec![])
            .effect(format!("{authority} gets the buffer, and nobody else can change or close it any more."));
        let costs = Costs { stays: 0, steps: 1, signatures: 1, joins_code: false };
        let parts_sent = self.fill(plan, costs, Some(&found)).await?;
        let give = [self.upload.give_to(authority)];
        let sent = sender.step(format!("Give the buffer {buffer} to {authority}"), &give, &[]).await;
        let sent = sent.with_context(|| self.buffer_stays())?;
        // What nobody but its authority can change any more is compared once more.
        let (now, _) = self.upload.found(&sender.market.chain).await?;
        if now.is_none_or(|now| now.authority != Some(*authority) || now.content != self.elf) {
            bail!("the buffer {buffer} has been changed meanwhile; do not use it");
        }
        sender.say(Some(sent), &text, state(parts_sent))
    }

    /// Shows the costs, asks, and writes the buffer until it has the whole code: how many parts were sent.
    async fn fill(&self, plan: Plan, costs: Costs, found: Option<&DeployedProgram>) -> anyhow::Result<usize> {
        let (sender, upload, wallet) = (self.sender, &self.upload, self.sender.wallet());
        let chain = &sender.market.chain;
        let (there, held) = upload.found(chain).await?;
        if let Some(other) = there.as_ref().map(|there| there.authority).filter(|other| *other != Some(wallet)) {
            let owner = other.map_or_else(|| "nobody".to_owned(), |other| other.to_string());
            bail!("the buffer {} belongs to {owner}, and not to {wallet}", upload.buffer);
        }
        let growth = found.map_or(Some(0), |found| loader::growth(found.room, self.elf.len()));
        let growth = growth.context("the code is longer than a program can be")?;
        let growth_rent = self.growth_rent(found, growth).await?;
        let rent = chain.rent_exemption(LoaderState::size_of_buffer(self.elf.len())).await?;
        let (lent, missing) = match &there {
            Some(there) => (there.lamports, upload.missing(&there.content).len()),
            None => (rent, upload.parts()),
        };
        let (makes, grows) = (u64::from(there.is_none()), u64::from(growth > 0));
        let before = makes.saturating_add(grows);
        let (steps, signatures) = (costs.steps.saturating_add(before), costs.signatures.saturating_add(before));
        let fee = sender.fees(steps, signatures, u64::try_from(missing)?);
        let pays = if there.is_none() { rent.saturating_sub(held) } else { 0 };
        let stays = costs.stays.saturating_add(growth_rent);
        // The loader gives the buffer's rent to the wallet before it takes that of the code.
        let returned = if costs.joins_code { lent } else { 0 };
        let needed = pays.saturating_add(stays.saturating_sub(returned)).saturating_add(fee);
        let mut plan = plan.effect(self.code()).effect(format!(
            "{missing} of {} parts go to the buffer {}, one transaction each.",
            upload.parts(),
            upload.buffer
        ));
        let returns = match self.arguments.buffer_authority {
            _ if costs.joins_code => "the program's code takes it over",
            Some(_) => "the upgrade gives it to the address that it names",
            None => "it comes back to the wallet with the upgrade",
        };
        plan = plan.effect(format!("The rent of the buffer is {} SOL; {returns}.", sol(lent)));
        if growth > 0 {
            plan = plan.creates("room for longer code", usize::try_from(growth)?);
        }
        if let Some(authority) = self.arguments.authority.filter(|authority| *authority != wallet) {
            plan = plan.effect(handed_over(&authority));
        }
        sender.agree(&plan, &TransactionCost { fee: Some(fee), rent: stays }, needed).await?;
        if there.is_none() {
            sender.step(format!("Make the buffer {}", upload.buffer), &upload.create(rent, held)?, &[]).await?;
        }
        if growth > 0 {
            let extend = loader::extend(&self.program, &wallet, growth);
            sender.step(format!("Make room in the program {}", self.program), &[extend], &[]).await?;
        }
        let left = |parts| note!("Writing {parts} of {} parts of the code.", upload.parts());
        let sent = during("writing the code", upload.fill(chain, sender.keypair()?, left)).await;
        sent.with_context(|| self.buffer_stays())
    }

    async fn growth_rent(&self, found: Option<&DeployedProgram>, growth: u32) -> anyhow::Result<u64> {
        let Some(found) = found.filter(|_| growth > 0) else { return Ok(0) };
        let chain = &self.sender.market.chain;
        let before = LoaderState::size_of_programdata(found.room);
        let after = before.saturating_add(usize::try_from(growth)?);
        Ok(chain.rent_exemption(after).await?.saturating_sub(chain.rent_exemption(before).await?))
    }

    fn buffer_stays(&self) -> String {
        format!(
            "the buffer {} stays: the same command goes on with it, and crtx admin close-buffer gets its rent back",
            self.upload.buffer
        )
    }
}

/// Rent and transactions of a deployment, without the writes to its buffer.
struct Costs {
    /// Rent that stays on chain, without that of a buffer.
    stays: u64,
    steps: u64,
    signatures: u64,
    /// Whether the rent of the buffer becomes that of the code, which is part of `stays`.
    joins_code: bool,
}

fn handed_over(authority: &Pubkey) -> String {
    format!("{authority} alone can upgrade the program from then on. It is not asked: a wrong address is for ever.")
}

fn with_advice(error: DeploymentError) -> anyhow::Error {
    let advice = match &error {
        DeploymentError::NotAuthority { .. } => {
            "name its key pair with --keypair, or write a buffer for it with --buffer-only"
        }
        DeploymentError::OtherAddress(_) => {
            "see docs/deploy.md for a deployment at an address of your own, or name the code with --elf"
        }
        DeploymentError::NoProgram(_) => "see --program-id and --network",
        _ => return error.into(),
    };
    anyhow::anyhow!("{error}; {advice}")
}

pub async fn close_buffer(arguments: &CloseBufferArgs, settings: &Settings) -> anyhow::Result<()> {
    let elf = arguments.code.read()?;
    let sender = open(settings, &arguments.role.send, arguments.role.unsigned_for).await?;
    let wallet = sender.wallet();
    let buffer = match arguments.buffer {
        Some(buffer) => buffer,
        None => loader::buffer_address(&wallet, &elf)?,
    };
    let more = json!({"buffer": buffer.to_string()});
    let Some(account) = sender.market.chain.account(&buffer).await?.value else {
        return sender.nothing_to_do(&format!("there is no buffer {buffer}"), more);
    };
    let found = Buffer::decode(&account).with_context(|| format!("{buffer} is no buffer of the upgradeable loader"))?;
    if found.authority != Some(wallet) {
        let owner = found.authority.map_or_else(|| "nobody".to_owned(), |owner| owner.to_string());
        bail!("only {owner} may close the buffer {buffer}, and not {wallet}");
    }
    let plan = Plan::new(format!("Close the buffer {buffer}"), vec![loader::close_buffer(&buffer, &wallet)])
        .effect(format!("Its {} SOL go to {wallet}. The code in it is gone.", sol(found.lamports)));
    sender.finish(plan, &format!("the buffer {buffer} is closed"), more).await
}
