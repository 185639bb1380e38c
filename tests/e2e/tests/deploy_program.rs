//! `crtx admin deploy` and `close-buffer` on Agave's validator, which starts without the program.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use crtx_chain::{
    deployment::{COMMITTED_ELF, code_hash, sha256},
    instructions::program_data_address,
    loader::buffer_address,
};
use crtx_e2e::{
    terminal::Terminal,
    validator::{self, Validator},
};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;

const LOADER: &str = "BPFLoaderUpgradeab1e11111111111111111111111";
const NOBODY: &str = "11111111111111111111111111111111";
const LIMIT: Duration = Duration::from_secs(60);
/// Bytes of a buffer in front of its code, and of a program's data.
const BUFFER_HEAD: usize = 37;
const DATA_HEAD: usize = 45;

/// A folder with wallets, files of code, and a chain.
struct Place {
    terminal: Terminal,
    validator: Validator,
    folder: PathBuf,
}

/// Makes key pairs; the addresses.
fn wallets<const N: usize>(folder: &Path, names: [&str; N]) -> [Pubkey; N] {
    let terminal = Terminal::new(folder, &folder.join("config"));
    names.map(|name| {
        let made = terminal.done(&["wallet", "new", "--out", &format!("{name}.json")]);
        made["address"].as_str().unwrap().parse().unwrap()
    })
}

impl Place {
    async fn start(program: &Path, folder: &Path, arguments: &[&str]) -> Self {
        let validator = Validator::start(program, folder, arguments).await.expect("starts");
        let terminal = Terminal::new(folder, &folder.join("config"));
        let terminal = terminal.with("CRTX_RPC_URL", &validator.rpc_url).with("CRTX_NETWORK", "local");
        Self { terminal, validator, folder: folder.to_owned() }
    }

    fn by(&self, name: &str) -> Terminal {
        self.terminal.as_wallet(&format!("{name}.json"))
    }

    fn file(&self, name: &str, code: &[u8]) -> String {
        let path = self.folder.join(name);
        fs::write(&path, code).unwrap();
        path.to_str().unwrap().to_owned()
    }

    async fn lamports(&self, address: &Pubkey) -> u64 {
        let config = json!([address.to_string(), {"commitment": "confirmed"}]);
        self.validator.ask("getBalance", config).await.unwrap()["value"].as_u64().unwrap()
    }

    async fn data(&self, address: &Pubkey) -> Option<Vec<u8>> {
        let config = json!([address.to_string(), {"commitment": "confirmed", "encoding": "base64"}]);
        let found = self.validator.ask("getAccountInfo", config).await.unwrap();
        found.pointer("/value/data/0").map(|data| BASE64.decode(data.as_str().unwrap()).unwrap())
    }

    /// What runs at the address of a program: who may upgrade it, and the code.
    async fn program(&self, program: &Pubkey) -> (Pubkey, Vec<u8>) {
        let data = self.data(&program_data_address(program)).await.expect("deployed");
        (data[13..DATA_HEAD].try_into().unwrap(), data[DATA_HEAD..].to_vec())
    }
}

/// An account of the loader as the validator loads it: a buffer of `authority`.
fn buffer_file(folder: &Path, address: &Pubkey, authority: &Pubkey, code: &[u8]) -> String {
    let data = [&[1, 0, 0, 0, 1], authority.as_ref(), code].concat();
    let account = json!({
        "pubkey": address.to_string(),
        "account": {
            "lamports": 5_000_000_000_u64, "data": [BASE64.encode(&data), "base64"], "owner": LOADER,
            "executable": false, "rentEpoch": u64::MAX, "space": data.len(),
        },
    });
    let path = folder.join(format!("{address}.json"));
    fs::write(&path, account.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The committed code and so many bytes that change nothing.
fn longer(by: usize) -> Vec<u8> {
    [COMMITTED_ELF, &vec![1; by]].concat()
}

fn with<'a>(line: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [line, more].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_for_a_deployment_that_is_wrong() {
    let Some(program) = validator::find("deploy_program") else { return };
    let folder = crtx_e2e::folder();
    let place = folder.path();
    let [owner, stranger, poor, other, new, genesis] =
        wallets(place, ["owner", "stranger", "poor", "other", "new", "genesis"]);
    let (taken, immutable) = (Pubkey::new_from_array([1; 32]), Pubkey::new_from_array([2; 32]));
    let elf = place.join("committed.so");
    fs::write(&elf, COMMITTED_ELF).unwrap();
    let elf = elf.to_str().unwrap();
    // Two buffers at addresses of the stranger: one of somebody else with other code, and one that is too short.
    let (one, two) = (longer(1), longer(2));
    let code_of_other = [COMMITTED_ELF, &[7]].concat();
    let buffers = [(&one, &other, &code_of_other[..]), (&two, &stranger, b"short")];
    let buffers = buffers.map(|(code, authority, content)| {
        let address = buffer_address(&stranger, code).unwrap();
        (address.to_string(), buffer_file(place, &address, authority, content))
    });
    let foreign = buffers[0].0.clone();
    let (taken_text, immutable_text, owner_text) = (taken.to_string(), immutable.to_string(), owner.to_string());
    let genesis_text = genesis.to_string();
    let mut arguments = vec!["--mint", &genesis_text, "--upgradeable-program", &taken_text, elf, &owner_text];
    arguments.extend(["--upgradeable-program", &immutable_text, elf, "none"]);
    buffers.iter().for_each(|(address, file)| arguments.extend(["--account", address, file]));
    let place = Place::start(&program, place, &arguments).await;
    place.validator.airdrop(&stranger.to_string(), 20).await.unwrap();
    place.validator.airdrop(&owner_text, 20).await.unwrap();
    // The loader never makes an account where lamports are already.
    place.validator.airdrop(&program_data_address(&other).to_string(), 1).await.unwrap();

    let (one, two) = (place.file("one.so", &one), place.file("two.so", &two));
    let text = place.file("text.so", b"no code");
    let (new_text, other_text) = (new.to_string(), other.to_string());
    let deploy = |program, elf| ["admin", "deploy", "--program-id", program, "--elf", elf, "--yes"];
    let at_new = ["--program-keypair", "new.json"];
    let id = agent_marketplace::ID.to_string();
    for (name, line, more, status, says) in [
        ("stranger", deploy(&new_text, elf), &[][..], 2, "--program-keypair"),
        ("stranger", deploy(&new_text, elf), &["--program-keypair", "other.json"], 2, "--program-keypair is that of"),
        ("stranger", deploy(&new_text, elf), &["--program-keypair", "nobody.json"], 1, "there is no key pair"),
        ("stranger", deploy(&new_text, elf), &with(&at_new, &["--authority", NOBODY]), 2, "Nobody signs as"),
        ("stranger", deploy(&new_text, elf), &with(&at_new, &["--authority", &new_text]), 2, "Nobody signs as"),
        ("stranger", deploy(&new_text, &text), &at_new, 2, "is no ELF file"),
        ("stranger", deploy(&new_text, "missing.so"), &at_new, 1, "cannot read"),
        ("stranger", deploy(&genesis_text, elf), &[], 2, "pass --program-keypair"),
        ("poor", deploy(&new_text, elf), &at_new, 1, "holds 0 SOL and needs 4.0104"),
        // The code is another one, so this would be an upgrade.
        ("stranger", deploy(&taken_text, &one), &[], 1, "only the upgrade authority"),
        ("stranger", deploy(&taken_text, &one), &["--authority", &other_text], 1, "only the upgrade authority"),
        ("stranger", deploy(&immutable_text, &one), &[], 1, "no upgrade authority any more"),
        // The code is this one, but not everybody may give the program away.
        ("stranger", deploy(&taken_text, elf), &["--authority", &other_text], 1, "only the upgrade authority"),
        ("stranger", deploy(&new_text, &one), &at_new, 1, "belongs to"),
        ("stranger", deploy(&other_text, elf), &["--program-keypair", "other.json"], 1, "somebody has sent SOL to"),
        ("stranger", deploy(&new_text, &two), &at_new, 1, "has another length"),
        ("stranger", deploy(&new_text, elf), &["--buffer-only"], 2, "--buffer-authority"),
        ("stranger", deploy(&new_text, elf), &["--buffer-only", "--buffer-authority", &other_text], 1, "no program"),
        (
            "stranger",
            deploy(&taken_text, &one),
            &["--buffer-only", "--buffer-authority", &other_text],
            1,
            "only the upgrade authority",
        ),
        ("stranger", deploy(&taken_text, &one), &["--buffer-only", "--buffer-authority", &owner_text], 1, "belongs to"),
        ("stranger", deploy(&new_text, elf), &with(&at_new, &["--network", "devnet"]), 1, "does not belong to devnet"),
    ] {
        let refused = place.by(name).refused(status, &with(&line, more));
        assert!(refused.contains(says), "{line:?} {more:?}: {refused}");
    }
    let stranger_by = place.by("stranger");
    let refused = stranger_by.refused(1, &["admin", "deploy", "--program-id", &new_text, "--yes"]);
    assert!(refused.contains("works only at the address") && refused.contains(&id), "{refused}");
    let refused = stranger_by.refused(2, &with(&deploy(&new_text, elf)[..6], &at_new));
    assert!(refused.contains("pass --yes"), "{refused}");
    for (buffer, says) in [(&foreign, "only "), (&genesis_text, "is no buffer"), (&taken_text, "is no buffer")] {
        let refused = stranger_by.refused(1, &["admin", "close-buffer", buffer, "--yes"]);
        assert!(refused.contains(says), "{refused}");
    }
    assert_eq!(place.lamports(&stranger).await, 20_000_000_000, "nothing was paid");
    assert_eq!(place.lamports(&poor).await, 0);
    assert_eq!(place.data(&new).await, None);
    assert_eq!(place.program(&taken).await, (owner, COMMITTED_ELF.to_vec()));

    // A program that has the code already is not changed, whoever asks.
    let there = stranger_by.done(&deploy(&taken_text, elf));
    assert_eq!((&there["transaction"], &there["upgrade_authority"]), (&Value::Null, &json!(owner_text)));
    assert_eq!(place.lamports(&stranger).await, 20_000_000_000);
}

/// Starts a command, and ends it as soon as a part of the code, but not all of it, is in the buffer.
async fn interrupted(place: &Place, line: &[&str], buffer: &Pubkey, code: &[u8]) {
    let mut command = place.by("owner").command(line);
    let mut process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    loop {
        let content = place.data(buffer).await.unwrap_or_default();
        if content.get(BUFFER_HEAD..).is_some_and(|content| content.iter().any(|byte| *byte != 0)) {
            break;
        }
        assert!(process.try_wait().unwrap().is_none() && started.elapsed() < LIMIT, "nothing arrives");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    process.kill().unwrap();
    process.wait().unwrap();
    // What was under way lands or does not.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let content = place.data(buffer).await.expect("the buffer stays");
    assert_ne!(&content[BUFFER_HEAD..], code, "killed too late");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_is_deployed_once_goes_on_after_an_interruption_and_is_upgraded_until_it_is_handed_over() {
    let Some(program) = validator::find("deploy_program") else { return };
    let folder = crtx_e2e::folder();
    let [owner, vault, new, genesis] = wallets(folder.path(), ["owner", "vault", "new", "genesis"]);
    let place = Place::start(&program, folder.path(), &["--mint", &genesis.to_string()]).await;
    place.validator.airdrop(&owner.to_string(), 20).await.unwrap();
    place.validator.airdrop(&vault.to_string(), 1).await.unwrap();
    let (elf, one) = (place.file("committed.so", COMMITTED_ELF), place.file("one.so", &longer(1)));
    let (new_text, vault_text, owner_by) = (new.to_string(), vault.to_string(), place.by("owner"));
    let deploy = |elf| ["admin", "deploy", "--program-id", &new_text, "--elf", elf, "--yes"];
    let first = with(&deploy(&elf), &["--program-keypair", "new.json"]);

    // Somebody sends lamports to both addresses that follow from what is public.
    let buffer = buffer_address(&owner, COMMITTED_ELF).unwrap();
    for address in [&buffer, &new] {
        place.validator.airdrop(&address.to_string(), 1).await.unwrap();
    }

    // The first run is killed, and the second one sends what is missing.
    interrupted(&place, &first, &buffer, COMMITTED_ELF).await;
    assert_eq!(place.data(&new).await.map(|data| data.len()), Some(0), "there is no program yet");
    let done = owner_by.done(&first);
    let (parts, sent) = (done["parts"].as_u64().unwrap(), done["parts_sent"].as_u64().unwrap());
    assert!(0 < sent && sent < parts, "{done}");
    let hash = code_hash(COMMITTED_ELF);
    assert_eq!((&done["sha256"], &done["code_hash"]), (&json!(sha256(COMMITTED_ELF)), &json!(hash)));
    assert_eq!(place.program(&new).await, (owner, COMMITTED_ELF.to_vec()));
    assert_eq!(place.data(&buffer).await, None, "its rent is that of the program now");
    let init = ["resolver", "gateway-authority", "treasury-owner", "insurance-owner"].into_iter().zip(1..);
    let init: Vec<String> = init
        .flat_map(|(role, byte)| [format!("--{role}"), Pubkey::new_from_array([byte; 32]).to_string()])
        .chain(["--usdc-mint", &vault_text, "--program-id", &new_text].map(str::to_owned))
        .collect();
    let init: Vec<&str> = ["admin", "init", "--yes"].into_iter().chain(init.iter().map(String::as_str)).collect();
    let refused = owner_by.refused(1, &init);
    assert!(refused.contains("works only at the address"), "the code is the committed one: {refused}");

    // Another run changes nothing.
    let before = place.lamports(&owner).await;
    let again = owner_by.done(&first);
    assert_eq!((&again["transaction"], &again["parts_sent"]), (&Value::Null, &json!(0)));
    assert_eq!(place.lamports(&owner).await, before);

    // An upgrade to longer code makes room for it, also after an interruption, and gives the rent of the buffer back.
    let longer_buffer = buffer_address(&owner, &longer(1)).unwrap();
    interrupted(&place, &deploy(&one), &longer_buffer, &longer(1)).await;
    let done = owner_by.done(&deploy(&one));
    assert!(done["parts_sent"].as_u64().unwrap() < parts, "{done}");
    let (authority, code) = place.program(&new).await;
    assert_eq!((authority, code.len()), (owner, COMMITTED_ELF.len() + 10_240));
    assert_eq!(code_hash(&code), code_hash(&longer(1)));
    assert_eq!(place.data(&longer_buffer).await, None);
    let paid = before - place.lamports(&owner).await;
    assert!((70_000_000..80_000_000).contains(&paid), "room for 10 240 bytes and fees: {paid}");

    // Back to the committed code, and away.
    let before = place.lamports(&owner).await;
    let done = owner_by.done(&with(&deploy(&elf), &["--authority", &vault_text, "--priority-fee", "1000"]));
    assert_eq!((&done["upgrade_authority"], &done["code_hash"]), (&json!(vault_text), &json!(hash)));
    let (authority, code) = place.program(&new).await;
    assert_eq!((authority, code_hash(&code)), (vault, hash.clone()));
    let paid = before - place.lamports(&owner).await;
    assert!(paid < 4_000_000, "fees alone: {paid}");
    let again = owner_by.done(&with(&deploy(&elf), &["--authority", &vault_text]));
    assert_eq!(again["transaction"], Value::Null);
    let refused = owner_by.refused(1, &deploy(&one));
    assert!(refused.contains(&format!("only the upgrade authority {vault_text}")), "{refused}");

    a_buffer_for_a_vault(&place, &new, &owner, &vault, &one).await;

    // Who has it now gives it away without new code.
    let owner_text = owner.to_string();
    let line = with(&deploy(&elf), &["--authority", &owner_text]);
    let given = place.by("vault").done(&line);
    assert!(given["transaction"].is_string() && given["parts_sent"] == 0, "{given}");
    assert_eq!(place.program(&new).await.0, owner);
}

/// The owner writes a buffer that only the vault can use.
async fn a_buffer_for_a_vault(place: &Place, program: &Pubkey, owner: &Pubkey, vault: &Pubkey, elf: &str) {
    let (owner_by, program, vault_text) = (place.by("owner"), program.to_string(), vault.to_string());
    let line = ["admin", "deploy", "--program-id", &program, "--elf", elf, "--yes", "--buffer-only"];
    let line = with(&line, &["--buffer-authority", &vault_text]);
    let written = owner_by.done(&line);
    let buffer = buffer_address(owner, &longer(1)).unwrap();
    assert_eq!(written["buffer"], buffer.to_string());
    assert_eq!(
        (&written["code_hash"], &written["upgrade_authority"]),
        (&json!(code_hash(&longer(1))), &json!(vault_text))
    );
    let data = place.data(&buffer).await.unwrap();
    assert_eq!((&data[5..BUFFER_HEAD], &data[BUFFER_HEAD..]), (vault.as_ref(), &longer(1)[..]));
    let again = owner_by.done(&line);
    assert_eq!((&again["transaction"], &again["buffer"]), (&Value::Null, &json!(buffer.to_string())));
    let close = ["admin", "close-buffer", &buffer.to_string(), "--yes"].map(str::to_owned);
    let close: Vec<&str> = close.iter().map(String::as_str).collect();
    let refused = owner_by.refused(1, &close);
    assert!(refused.contains(&format!("only {vault_text} may close")), "{refused}");
    let before = place.lamports(vault).await;
    place.by("vault").done(&close);
    assert!(place.lamports(vault).await > before + 4_000_000_000);
    assert_eq!(place.by("vault").done(&close)["transaction"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_the_chain_refuses_stays_in_its_buffer_and_its_rent_comes_back() {
    let Some(program) = validator::find("deploy_program") else { return };
    let folder = crtx_e2e::folder();
    let [owner, new, genesis] = wallets(folder.path(), ["owner", "new", "genesis"]);
    let code = [&b"\x7fELF"[..], &[5; 3_000]].concat();
    // A buffer of the owner for other code, in which one byte is wrong.
    let other = [code.clone(), vec![6]].concat();
    let mut wrong = other.clone();
    wrong[1_500] = 9;
    let (filled, genesis_text) = (buffer_address(&owner, &other).unwrap(), genesis.to_string());
    let file = buffer_file(folder.path(), &filled, &owner, &wrong);
    let filled_text = filled.to_string();
    let arguments = ["--mint", &genesis_text, "--account", &filled_text, &file];
    let place = Place::start(&program, folder.path(), &arguments).await;
    place.validator.airdrop(&owner.to_string(), 1).await.unwrap();
    let (elf, new_text, owner_by) = (place.file("broken.so", &code), new.to_string(), place.by("owner"));
    let line = ["admin", "deploy", "--elf", &elf, "--program-id", &new_text, "--program-keypair", "new.json", "--yes"];
    let buffer = buffer_address(&owner, &code).unwrap();
    for _ in 0..2 {
        let refused = owner_by.refused(1, &line);
        assert!(refused.contains("the chain would refuse this: Deploy the program"), "{refused}");
        assert!(
            refused.contains(&format!("the buffer {buffer} stays")) && refused.contains("close-buffer"),
            "{refused}"
        );
        assert_eq!(&place.data(&buffer).await.unwrap()[BUFFER_HEAD..], &code);
    }
    assert_eq!(place.data(&new).await, None);
    let closed = owner_by.done(&["admin", "close-buffer", "--elf", &elf, "--yes"]);
    assert_eq!(closed["buffer"], buffer.to_string());
    assert_eq!(place.data(&buffer).await, None);
    // A buffer, three writes and its end were paid for, and nothing else.
    assert_eq!(place.lamports(&owner).await, 1_000_000_000 - 5 * 5_000);
    assert_eq!(owner_by.done(&["admin", "close-buffer", "--elf", &elf, "--yes"])["transaction"], Value::Null);

    // Only what is wrong is written.
    let elf = place.file("other.so", &other);
    let line = ["admin", "deploy", "--elf", &elf, "--program-id", &new_text, "--program-keypair", "new.json", "--yes"];
    let before = place.lamports(&owner).await;
    let refused = owner_by.refused(1, &line);
    assert!(refused.contains("Writing 1 of 3 parts"), "{refused}");
    assert_eq!(&place.data(&filled).await.unwrap()[BUFFER_HEAD..], &other);
    assert_eq!(before - place.lamports(&owner).await, 5_000);
}
