//! Shows a transaction, asks, signs, writes it down, sends it, and says what became of it.

use std::{io::IsTerminal, time::Duration};

use agent_marketplace::state::Config;
use anyhow::{Context, anyhow, bail};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use crtx_chain::{
    AtSlot, Budget, Outcome, SignedTransaction, Simulation,
    instructions::{compute_unit_limit, compute_unit_price},
    loader,
    token::{TOKEN_ACCOUNT_LEN, create_associated_token_account},
    urls,
};
use serde_json::{Value, json};
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_signer::Signer;
use strum::VariantArray;

use super::{
    journal::{Entry, Journal},
    plan::{Plan, TransactionCost},
    refusal,
};
use crate::{
    arguments::{OutputArgs, RoleArgs, SendArgs},
    keypair_file,
    market::Market,
    output::{self, note, printable, say, sol},
    progress::during,
    settings::{Network, Settings, SignerRole},
    usage::UsageError,
};

/// Enough for every instruction of the program together with the creation of a token account.
const COMPUTE_UNITS: u32 = 300_000;
/// What the network takes for a signature, in lamports.
const SIGNATURE_FEE: u64 = 5_000;
/// Longer than the life of a blockhash, so that the outcome is known in the end if the node answers.
const PATIENCE: Duration = Duration::from_secs(120);

/// A wallet on its chain.
pub struct Sender {
    wallet: Pubkey,
    /// `None`: the wallet is a multisig's or another one that signs elsewhere.
    keypair: Option<Keypair>,
    pub market: Market,
    /// With the host of the node, for the summary.
    network: String,
    /// Whether a person confirms each transaction.
    asks: bool,
    priority_fee: u64,
    output: OutputArgs,
    journal: Journal,
    patience: Duration,
}

/// A transaction that is confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub signature: Signature,
    pub slot: u64,
}

impl Sender {
    /// Reads the key pair, connects, and finds out what became of transactions of earlier runs, which could still
    /// change what the chain shows. Fails at once if there is no terminal to ask on and `--yes` is missing.
    pub async fn open(settings: &Settings, arguments: &SendArgs, role: SignerRole) -> anyhow::Result<Self> {
        let connect = async |_: &Pubkey| Market::connect(settings, &arguments.chain).await;
        Self::over(settings, arguments, role, None, connect).await
    }

    /// The same for who has a role, which can be a multisig.
    pub async fn open_role(settings: &Settings, arguments: &RoleArgs) -> anyhow::Result<Self> {
        let connect = async |_: &Pubkey| Market::connect(settings, &arguments.send.chain).await;
        Self::over(settings, &arguments.send, SignerRole::Admin, arguments.unsigned_for, connect).await
    }

    /// The same where the program may have no configuration yet. `expected` gets the wallet and the program, and
    /// returns the configuration to assume; the commands that use this read the real one themselves.
    pub async fn open_before_setup(
        settings: &Settings,
        arguments: &SendArgs,
        unsigned_for: Option<Pubkey>,
        expected: impl FnOnce(&Pubkey, Pubkey) -> anyhow::Result<Config>,
    ) -> anyhow::Result<Self> {
        let connect = async |wallet: &Pubkey| {
            let config = expected(wallet, settings.program_id(arguments.chain.program_id)?.value)?;
            let market = Market::with_config(settings, &arguments.chain, config).await?;
            // A local network has no genesis hash of its own, so a node of a public one would pass for it.
            let real = Network::VARIANTS.iter().find(|network| network.genesis_hash() == Some(&market.genesis_hash));
            if let Some(real) = real.filter(|real| **real != settings.network) {
                bail!("the RPC node {} belongs to {real}; say so with --network {real}", market.rpc_url);
            }
            Ok(market)
        };
        Self::over(settings, arguments, SignerRole::Admin, unsigned_for, connect).await
    }

    async fn over(
        settings: &Settings,
        arguments: &SendArgs,
        role: SignerRole,
        unsigned_for: Option<Pubkey>,
        connect: impl AsyncFnOnce(&Pubkey) -> anyhow::Result<Market>,
    ) -> anyhow::Result<Self> {
        let asks = unsigned_for.is_none() && asks(arguments.yes)?;
        let file = || settings.keypair(arguments.keypair.keypair.as_deref(), role);
        let (wallet, keypair) = match unsigned_for {
            Some(wallet) => (wallet, None),
            None => {
                let keypair = keypair_file::read(&file()?.value)?;
                (keypair.pubkey(), Some(keypair))
            }
        };
        let market = connect(&wallet).await?;
        let journal = Journal::of(&settings.folder, &market.genesis_hash, &wallet);
        // Without path and query, in which the keys of providers stand.
        let host = urls::host(&market.rpc_url);
        let network = format!("{} ({host})", settings.network);
        let &SendArgs { priority_fee, output, .. } = arguments;
        let sender = Self { wallet, keypair, market, network, asks, priority_fee, output, journal, patience: PATIENCE };
        sender.resolve_earlier().await?;
        Ok(sender)
    }

    pub const fn wallet(&self) -> Pubkey {
        self.wallet
    }

    pub fn keypair(&self) -> anyhow::Result<&Keypair> {
        self.keypair.as_ref().with_context(|| format!("there is no key pair of {} here", self.wallet))
    }

    /// Transactions of a run that was interrupted.
    async fn resolve_earlier(&self) -> anyhow::Result<()> {
        for Entry { title, transaction } in self.journal.entries()? {
            let (title, signature) = (printable(&title), transaction.signature);
            let text = format!("finding out what became of an earlier transaction ({title})");
            let outcome = during(text, self.market.chain.confirm(&transaction, self.patience)).await;
            match &outcome {
                Outcome::Confirmed { .. } => note!("crtx: of an earlier run: done: {title} ({signature})"),
                Outcome::Rejected { error, .. } => {
                    let why = printable(&refusal::explain(error));
                    note!("crtx: of an earlier run: refused by the chain: {title}: {why} ({signature})");
                }
                Outcome::Expired => {
                    note!("crtx: of an earlier run: never happened, and cannot happen any more: {title}");
                }
                Outcome::Unknown => bail!(unknown(&title, &signature)),
            }
            self.journal.remove(&signature)?;
        }
        Ok(())
    }

    /// Who is paid needs a USDC account; anybody may make it. `what`: whose it is, in words.
    pub async fn with_usdc_account(&self, mut plan: Plan, owner: &Pubkey, what: &'static str) -> anyhow::Result<Plan> {
        let instructions = &self.market.instructions;
        if self.market.exists(&instructions.usdc_of(owner)).await? {
            return Ok(plan);
        }
        // Before what pays into it.
        let create = create_associated_token_account(&self.wallet(), owner, &instructions.usdc_mint);
        plan.instructions.insert(0, create);
        Ok(plan.creates(what, TOKEN_ACCOUNT_LEN))
    }

    /// Everything from the summary to the outcome. Returns only when the transaction is confirmed.
    pub async fn send(&self, plan: Plan) -> anyhow::Result<Sent> {
        let instructions = self.with_budget(&plan.instructions);
        self.show(&plan, &instructions).await?;
        if self.asks {
            confirm()?;
        }
        self.submit(plan.title, &instructions, &[]).await
    }

    /// Shows and asks once for what takes several transactions. `needed`: lamports that the wallet needs on the way.
    pub async fn agree(&self, plan: &Plan, cost: &TransactionCost, needed: u64) -> anyhow::Result<()> {
        output::notes(&plan.summary(cost, &format!("{} on {}", self.wallet, self.network)));
        let held = self.market.lamports_of(&self.wallet).await?;
        if held < needed {
            return Err(self.short_of_sol(held, needed));
        }
        if self.asks { confirm() } else { Ok(()) }
    }

    /// One of the transactions that [`Self::agree`] is about. `signers`: who else signs.
    pub async fn step(
        &self,
        title: impl Into<String>,
        instructions: &[Instruction],
        signers: &[&Keypair],
    ) -> anyhow::Result<Sent> {
        let (title, instructions) = (title.into(), self.with_budget(instructions));
        let chain = &self.market.chain;
        let draft = SignedTransaction::draft(&instructions, &self.wallet, chain.recent_blockhash().await?)?;
        if let Simulation::Refused(refused) = during("simulating", chain.simulate(&draft)).await {
            let why = refusal::explain(&refused.error().to_string());
            bail!("the chain would refuse this: {}: {why}", printable(&title));
        }
        self.submit(title, &instructions, signers).await
    }

    fn with_budget(&self, instructions: &[Instruction]) -> Vec<Instruction> {
        let mut all = vec![compute_unit_limit(COMPUTE_UNITS)];
        all.extend((self.priority_fee > 0).then(|| compute_unit_price(self.priority_fee)));
        all.extend(instructions.iter().cloned());
        all
    }

    /// What transactions of this wallet pay: `steps` with so many `signatures` altogether, and `writes` to a buffer.
    pub fn fees(&self, steps: u64, signatures: u64, writes: u64) -> u64 {
        let priority = |units| Budget { units, unit_price: self.priority_fee }.priority_fee_lamports();
        let write = SIGNATURE_FEE.saturating_add(priority(loader::WRITE_UNITS));
        let steps = steps.saturating_mul(priority(COMPUTE_UNITS));
        signatures.saturating_mul(SIGNATURE_FEE).saturating_add(steps).saturating_add(writes.saturating_mul(write))
    }

    pub const fn priority_fee(&self) -> u64 {
        self.priority_fee
    }

    /// Signs, writes down, sends, and finds out the outcome.
    async fn submit(&self, title: String, instructions: &[Instruction], signers: &[&Keypair]) -> anyhow::Result<Sent> {
        let chain = &self.market.chain;
        let blockhash = chain.recent_blockhash().await?;
        let signers: Vec<&Keypair> = std::iter::once(self.keypair()?).chain(signers.iter().copied()).collect();
        let transaction = SignedTransaction::sign(instructions, &signers, blockhash)?;
        let signature = transaction.signature;
        let entry = Entry { title, transaction };
        self.journal.write(&entry)?;
        let sending = chain.send_and_confirm(&entry.transaction, self.patience);
        let outcome = during(format!("sending {signature}"), sending).await;
        if outcome != Outcome::Unknown {
            self.journal.remove(&signature)?;
        }
        match outcome {
            Outcome::Confirmed { slot } => Ok(Sent { signature, slot }),
            Outcome::Rejected { error, .. } => Err(anyhow!(
                "the chain refused it, and only the fee was taken: {} ({signature})",
                refusal::explain(&error)
            )),
            Outcome::Expired => {
                Err(anyhow!("the transaction did not reach the chain in time and never will; run it again"))
            }
            Outcome::Unknown => Err(anyhow!(unknown(&entry.title, &signature))),
        }
    }

    /// The summary on the page, and whether the chain would take it. Returns the transaction without signatures.
    async fn show(&self, plan: &Plan, instructions: &[Instruction]) -> anyhow::Result<SignedTransaction> {
        let chain = &self.market.chain;
        let draft = SignedTransaction::draft(instructions, &self.wallet, chain.recent_blockhash().await?)?;
        let cost = self.cost(plan, &draft).await?;
        output::notes(&plan.summary(&cost, &format!("{} on {}", self.wallet, self.network)));
        match during("simulating", chain.simulate(&draft)).await {
            Simulation::Passes => {}
            Simulation::Refused(refused) => return Err(self.refused(&refused, &cost).await),
            Simulation::Unknown => note!("  note         the node did not say whether it would succeed"),
        }
        Ok(draft)
    }

    /// Sends the plan and prints the new state: `text`, or with `--json` the members of `more`. Without a key pair it
    /// prints the transaction in base58, as multisigs import it.
    pub async fn finish(&self, plan: Plan, text: &str, more: Value) -> anyhow::Result<()> {
        if self.keypair.is_some() {
            return self.say(Some(self.send(plan).await?), text, more);
        }
        // Who executes it sets the compute budget, for the transaction around it.
        let unsigned = bs58::encode(self.show(&plan, &plan.instructions).await?.bytes).into_string();
        match self.output.json {
            true => output::json(&json!({"transaction": null, "unsigned_transaction": unsigned})),
            false => {
                say!("{unsigned}");
                Ok(())
            }
        }
    }

    /// Prints the state, which needs no transaction.
    pub fn nothing_to_do(&self, text: &str, more: Value) -> anyhow::Result<()> {
        self.say(None, text, more)
    }

    /// `sent`: the transaction that changed the state.
    pub fn say(&self, sent: Option<Sent>, text: &str, more: Value) -> anyhow::Result<()> {
        let mut all = match sent {
            Some(Sent { signature, slot }) => json!({"transaction": signature.to_string(), "slot": slot}),
            None => json!({"transaction": null}),
        };
        if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
            all.extend(more);
        }
        match sent {
            _ if self.output.json => output::json(&all)?,
            Some(Sent { signature, .. }) => say!("{text} (transaction {signature})"),
            None => say!("{text}"),
        }
        Ok(())
    }

    async fn cost(&self, plan: &Plan, draft: &SignedTransaction) -> anyhow::Result<TransactionCost> {
        let mut rent = 0_u64;
        for (_, bytes) in &plan.new_accounts {
            let lamports = self.market.chain.rent_exemption(*bytes).await;
            rent = rent.saturating_add(lamports.context("the Solana RPC node does not say what rent costs")?);
        }
        let params = json!([BASE64.encode(draft.message()), {"commitment": "confirmed"}]);
        let fee: Result<AtSlot<Option<u64>>, _> = self.market.chain.request("getFeeForMessage", &params).await;
        Ok(TransactionCost { fee: fee.ok().and_then(|fee| fee.value), rent })
    }

    fn short_of_sol(&self, held: u64, needed: u64) -> anyhow::Error {
        anyhow!(
            "the wallet {} holds {} SOL and needs {}; send it SOL (on a local network: crtx wallet fund)",
            self.wallet,
            sol(held),
            sol(needed)
        )
    }

    /// Nothing was signed. The cause that people meet most often is an empty wallet.
    async fn refused(&self, refused: &crtx_chain::simulate::Refused, cost: &TransactionCost) -> anyhow::Error {
        let needed = cost.fee.unwrap_or(0).saturating_add(cost.rent);
        let wallet = self.wallet();
        match self.market.lamports_of(&wallet).await {
            Ok(held) if held < needed || matches!(refused, crtx_chain::simulate::Refused::Payer(_)) => {
                self.short_of_sol(held, needed)
            }
            _ if refused.is_short_of_funds() => {
                let held = self.market.usdc_of(&wallet).await.map(|usdc| usdc.amount.to_string());
                let held = held.unwrap_or_else(|_| "an unknown amount".to_owned());
                anyhow!("an account that pays has too little USDC (the wallet {wallet} holds {held}); nothing was sent")
            }
            _ => anyhow!(
                "the chain would refuse it: {}; nothing was sent",
                refusal::explain(&refused.error().to_string())
            ),
        }
    }
}

/// Whether a person has to confirm; fails where neither `--yes` nor a terminal is there.
fn asks(yes: bool) -> Result<bool, UsageError> {
    let is_interactive = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if !yes && !is_interactive {
        return Err(UsageError::new("There is no terminal to confirm the transaction on; pass --yes to send it."));
    }
    Ok(!yes)
}

/// Fails if the person says no.
fn confirm() -> anyhow::Result<()> {
    output::question("Continue? [y/N] ")?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => bail!("not confirmed; nothing was signed and nothing was sent"),
    }
}

fn unknown(title: &str, signature: &Signature) -> String {
    format!(
        "it is not known whether this happened: {title} (transaction {signature}); run the command again when the \
         Solana RPC node answers: it finds out first, and does nothing twice"
    )
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use agent_marketplace::error::MarketplaceError;
    use bytemuck::Zeroable;
    use crtx_chain::{
        ChainClient, Instructions,
        testing::{FakeRpc, OnSend},
    };
    use crtx_protocol::address::Addresses;

    use super::*;

    struct World {
        node: FakeRpc,
        sender: Sender,
        folder: tempfile::TempDir,
    }

    impl World {
        async fn start(patience: Duration) -> Self {
            let node = FakeRpc::start().await;
            let folder = tempfile::tempdir().expect("folder");
            let keypair = Keypair::new_from_array([1; 32]);
            let market = Market {
                chain: ChainClient::new(node.url(), Duration::from_secs(5)),
                rpc_url: node.url().to_owned(),
                genesis_hash: "chain".to_owned(),
                instructions: Instructions::new(Addresses::new(agent_marketplace::ID), Pubkey::default()),
                config: Config::zeroed(),
            };
            let journal = Journal::of(folder.path(), "chain", &keypair.pubkey());
            let (network, asks, output) = ("local".to_owned(), false, OutputArgs::default());
            let (wallet, keypair) = (keypair.pubkey(), Some(keypair));
            let sender = Sender { wallet, keypair, market, network, asks, priority_fee: 0, output, journal, patience };
            Self { node, sender, folder }
        }

        async fn send(&self) -> anyhow::Result<Sent> {
            let instruction = self.sender.market.instructions.apply_roles();
            self.sender.send(Plan::new("Pause", vec![instruction])).await
        }

        fn pending(&self) -> usize {
            self.sender.journal.entries().expect("reads").len()
        }
    }

    #[tokio::test]
    async fn a_transaction_is_on_the_disk_before_it_is_sent_and_forgotten_when_its_outcome_is_known() {
        let world = World::start(Duration::from_secs(10)).await;
        let seen = Arc::new(Mutex::new(0));
        let journal = Journal::of(world.folder.path(), "chain", &world.sender.wallet());
        let count = Arc::clone(&seen);
        world.node.script().effect =
            Box::new(move |_, _| *count.lock().expect("lock") = journal.entries().expect("reads").len());
        world.send().await.expect("confirmed");
        assert_eq!((*seen.lock().expect("lock"), world.pending()), (1, 0));
    }

    #[tokio::test]
    async fn what_the_chain_would_refuse_is_not_signed_and_not_sent() {
        let world = World::start(Duration::from_secs(10)).await;
        let code = u32::from(MarketplaceError::NotAdmin);
        world.node.script().simulation = Some(json!({"InstructionError": [1, {"Custom": code}]}));
        let error = world.send().await.expect_err("refused").to_string();
        assert!(error.contains(&MarketplaceError::NotAdmin.to_string()), "{error}");
        assert!(world.node.script().sent.is_empty() && world.pending() == 0);
    }

    #[tokio::test]
    async fn what_a_multisig_signs_is_printed_and_not_sent() {
        let World { node, sender, folder: _folder } = World::start(Duration::from_secs(10)).await;
        let sender = Sender { keypair: None, ..sender };
        let plan = || Plan::new("Pause", vec![sender.market.instructions.apply_roles()]);
        sender.finish(plan(), "", json!({})).await.expect("printed");
        let unsigned = sender.show(&plan(), &plan().instructions).await.expect("shown");
        assert_eq!(unsigned.bytes, unsigned.without_signatures());
        assert!(sender.send(plan()).await.is_err() && node.script().sent.is_empty());
    }

    #[tokio::test]
    async fn a_transaction_that_fails_on_chain_is_an_error_and_known() {
        let world = World::start(Duration::from_secs(10)).await;
        world.node.script().on_send = OnSend::LandAndFail;
        let error = world.send().await.expect_err("refused").to_string();
        assert!(error.contains("the chain refused it"), "{error}");
        assert_eq!(world.pending(), 0);
    }

    #[tokio::test]
    async fn an_unknown_outcome_is_said_as_unknown_and_found_out_by_the_next_command() {
        let world = World::start(Duration::from_millis(300)).await;
        world.node.script().on_send = OnSend::Drop;
        let error = world.send().await.expect_err("unknown").to_string();
        assert!(error.contains("it is not known whether this happened: Pause"), "{error}");
        assert_eq!(world.pending(), 1);
        let error = world.sender.resolve_earlier().await.expect_err("still unknown").to_string();
        assert!(error.contains("does nothing twice") && world.pending() == 1, "{error}");

        let sender = Sender { patience: Duration::from_secs(10), ..world.sender };
        world.node.script().on_send = OnSend::Land;
        sender.resolve_earlier().await.expect("found out");
        assert!(sender.journal.entries().expect("reads").is_empty());
        let signatures = world.node.script().landed.len();
        assert_eq!(signatures, 1, "the same transaction was sent again, and no other one");
    }

    #[tokio::test]
    async fn a_transaction_that_can_land_no_more_never_happened() {
        let world = World::start(Duration::from_secs(20)).await;
        let end = {
            let mut script = world.node.script();
            script.on_send = OnSend::Drop;
            script.finalized_height = script.last_valid_block_height.saturating_add(1);
            script.finalized_height
        };
        assert!(end > 1);
        let error = world.send().await.expect_err("expired").to_string();
        assert!(error.contains("never will"), "{error}");
        assert_eq!(world.pending(), 0);
    }
}
