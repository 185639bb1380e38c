//! A creator's service that behaves as each call asks, honestly or not, and remembers what it did.

use std::{
    collections::HashMap,
    net::IpAddr,
    str::FromStr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use axum::{
    Json, Router,
    body::Body,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use crtx_chain::{ChainClient, Execution, Instructions, Outcome, SignedTransaction, instructions::Settlement};
use crtx_protocol::{
    call_text::OpeningId,
    result_hash::{CallProof, ResultHash, format_signature, sign_failure},
};
use ed25519_dalek::SigningKey;
use serde::Deserialize;
use serde_json::{Value, json};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer as _;
use tokio::{net::TcpListener, task::JoinHandle};
use uuid::Uuid;

/// Longest silence of a creator that never answers.
const FOR_EVER: Duration = Duration::from_secs(600);
const SETTLE_PATIENCE: Duration = Duration::from_secs(10);

/// How the creator answers a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Behaviour {
    /// Delivers; asked again about the same execution it delivers the same.
    Honest,
    /// Delivers; asked again it delivers another result, signed as well.
    AnotherEachTime,
    /// Reports that it failed.
    Fails,
    /// Delivers a second after the time-out.
    TooLate,
    /// Never answers.
    Silent,
    BadSignature,
    WrongHash,
    WrongExecution,
    /// Breaks the connection off in the middle of the answer.
    BreaksOff,
    NotJson,
    /// Answers with status 500 and no body.
    ServerError,
    /// Settles on the chain by itself, then delivers.
    SettlesItself,
    /// Settles on the chain by itself and never answers.
    SettlesSilently,
    /// Delivers, behind a network of its own that breaks. No campaign draws it.
    CutOff,
}

impl Behaviour {
    pub const ALL: [Self; 13] = [
        Self::Honest,
        Self::AnotherEachTime,
        Self::Fails,
        Self::TooLate,
        Self::Silent,
        Self::BadSignature,
        Self::WrongHash,
        Self::WrongExecution,
        Self::BreaksOff,
        Self::NotJson,
        Self::ServerError,
        Self::SettlesItself,
        Self::SettlesSilently,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Honest => "honest",
            Self::AnotherEachTime => "another_each_time",
            Self::Fails => "fails",
            Self::TooLate => "too_late",
            Self::Silent => "silent",
            Self::BadSignature => "bad_signature",
            Self::WrongHash => "wrong_hash",
            Self::WrongExecution => "wrong_execution",
            Self::BreaksOff => "breaks_off",
            Self::NotJson => "not_json",
            Self::ServerError => "server_error",
            Self::SettlesItself => "settles_itself",
            Self::SettlesSilently => "settles_silently",
            Self::CutOff => "cut_off",
        }
    }

    /// Whether the creator earns its pay, if everything else goes well.
    pub const fn delivers(self) -> bool {
        matches!(self, Self::Honest | Self::AnotherEachTime | Self::SettlesItself | Self::CutOff)
    }

    /// Whether the creator is to blame for a time-out.
    pub const fn times_out(self) -> bool {
        matches!(self, Self::TooLate | Self::Silent | Self::SettlesSilently)
    }
}

impl FromStr for Behaviour {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match Self::ALL.into_iter().find(|behaviour| behaviour.name() == text) {
            Some(behaviour) => Ok(behaviour),
            None => bail!("there is no behaviour {text}"),
        }
    }
}

/// What the creator did about one execution.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// When it was asked, each time.
    pub asked: Vec<Instant>,
    /// Good answers that it sent: the result, and how long after being asked.
    pub delivered: Vec<(String, Duration)>,
    /// The result that it sent to the chain by itself. What came of it is the chain's to say.
    pub settled: Option<String>,
}

/// What a creator needs to settle without the gateway.
pub struct Settler {
    pub chain: ChainClient,
    pub build: Instructions,
    pub wallet: Keypair,
    pub treasury_owner: Pubkey,
}

/// The service. It ends when this is dropped.
pub struct Creator {
    base_url: String,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    key: SigningKey,
    notes: Mutex<HashMap<Uuid, Notes>>,
    settler: Mutex<Option<Arc<Settler>>>,
}

#[derive(Deserialize)]
struct Request {
    execution_id: Uuid,
    task: String,
    parameters: Value,
    user_pubkey: String,
    timeout_seconds: u64,
    execution_record: String,
    opened_at_unix_s: i64,
}

impl Creator {
    /// Starts on a port of its own; results are signed with `key`.
    pub async fn start(key: SigningKey, address: IpAddr) -> Result<Self> {
        let listener = TcpListener::bind((address, 0)).await?;
        let base_url = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared { key, notes: Mutex::default(), settler: Mutex::default() });
        let router = Router::new().route("/{agent}/execute", post(execute)).with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move {
            // Ends with the test.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { base_url, shared, task })
    }

    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Where an agent of this creator answers.
    pub fn endpoint(&self, agent: &str) -> String {
        format!("{}/{agent}/execute", self.base_url)
    }

    /// The key that signs results.
    pub fn result_key(&self) -> Pubkey {
        Pubkey::new_from_array(self.shared.key.verifying_key().to_bytes())
    }

    /// Lets the creator settle by itself from now on.
    pub fn set_settler(&self, settler: Settler) {
        *lock(&self.shared.settler) = Some(Arc::new(settler));
    }

    /// What was done about an execution; nothing if it was never asked.
    pub fn notes(&self, execution: Uuid) -> Notes {
        lock(&self.shared.notes).get(&execution).cloned().unwrap_or_default()
    }
}

impl Drop for Creator {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn opening_of(request: &Request) -> OpeningId {
    let record: Pubkey = request.execution_record.parse().unwrap_or_default();
    OpeningId { record: record.to_bytes(), opened_at_unix_s: request.opened_at_unix_s }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn execute(State(shared): State<Arc<Shared>>, Json(request): Json<Request>) -> Response {
    let asked = Instant::now();
    let times = shared.note(request.execution_id, |notes| {
        notes.asked.push(asked);
        notes.asked.len()
    });
    let parameters = &request.parameters;
    let behaviour = parameters["behaviour"].as_str().unwrap_or("honest").parse().unwrap_or(Behaviour::Honest);
    tokio::time::sleep(Duration::from_millis(parameters["delay_ms"].as_u64().unwrap_or(0))).await;
    let result = match behaviour {
        Behaviour::AnotherEachTime => format!("{}: done, answer {times}", request.task),
        _ => format!("{}: done", request.task),
    };
    behave(&shared, behaviour, &request, result, asked).await
}

async fn behave(
    shared: &Arc<Shared>,
    behaviour: Behaviour,
    request: &Request,
    result: String,
    asked: Instant,
) -> Response {
    let mut answer = shared.signed(request, &result);
    match behaviour {
        Behaviour::Honest | Behaviour::AnotherEachTime | Behaviour::CutOff => {
            shared.delivered(request.execution_id, result, asked);
        }
        Behaviour::Fails => {
            answer = json!({"execution_id": request.execution_id, "status": "failed", "error": "as it was asked to"});
            answer["failure_signature"] = json!(format_signature(&sign_failure(&shared.key, &opening_of(request))));
        }
        Behaviour::TooLate => {
            tokio::time::sleep(Duration::from_secs(request.timeout_seconds.saturating_add(1))).await;
            shared.delivered(request.execution_id, result, asked);
        }
        Behaviour::Silent => tokio::time::sleep(FOR_EVER).await,
        Behaviour::BadSignature => answer["signature"] = json!(format_signature(&[1; 64])),
        Behaviour::WrongHash => answer["result_hash"] = json!(ResultHash::of(b"something else").to_string()),
        Behaviour::WrongExecution => answer["execution_id"] = json!(Uuid::from_u128(1)),
        Behaviour::BreaksOff => return broken_off(),
        Behaviour::NotJson => return "this is not JSON".into_response(),
        Behaviour::ServerError => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Behaviour::SettlesItself => {
            shared.settle(request, &result).await;
            shared.delivered(request.execution_id, result, asked);
        }
        Behaviour::SettlesSilently => {
            shared.settle(request, &result).await;
            tokio::time::sleep(FOR_EVER).await;
        }
    }
    Json(answer).into_response()
}

fn broken_off() -> Response {
    let broken = futures::stream::iter([Err::<Vec<u8>, _>(std::io::Error::other("broken off"))]);
    Body::from_stream(broken).into_response()
}

impl Shared {
    fn note<T>(&self, execution: Uuid, change: impl FnOnce(&mut Notes) -> T) -> T {
        change(lock(&self.notes).entry(execution).or_default())
    }

    fn delivered(&self, execution: Uuid, result: String, asked: Instant) {
        self.note(execution, |notes| notes.delivered.push((result, asked.elapsed())));
    }

    fn signed(&self, request: &Request, result: &str) -> Value {
        let hash = ResultHash::of(result.as_bytes());
        let proof = CallProof::sign(&self.key, &opening_of(request), &hash);
        json!({
            "execution_id": request.execution_id, "status": "completed", "result": result, "tokens_used": 7,
            "result_hash": hash.to_string(), "signature": format_signature(&proof.signature),
            "call_signature": proof.call_signature.as_ref().map(format_signature),
        })
    }

    /// Sends the settlement in the creator's own name, in a task of its own: it goes on when the gateway hangs up.
    async fn settle(self: &Arc<Self>, request: &Request, result: &str) {
        let settler = lock(&self.settler).clone();
        let (Some(settler), Ok(caller)) = (settler, request.user_pubkey.parse::<Pubkey>()) else { return };
        let (shared, execution, result) = (Arc::clone(self), request.execution_id, result.to_owned());
        shared.note(execution, |notes| notes.settled = Some(result.clone()));
        let task = async move { settler.settle(&shared.key, &caller, execution, &result).await };
        // An error leaves the outcome to the chain; so does a panic, which cannot be.
        let _ = tokio::spawn(task).await;
    }
}

impl Settler {
    async fn settle(&self, key: &SigningKey, caller: &Pubkey, execution: Uuid, result: &str) -> Result<Outcome> {
        let record = self.build.addresses.execution(caller, execution.as_bytes());
        let account = self.chain.account(&record).await?.value;
        let account = account.context("no record to settle")?;
        let opened: Execution = crtx_chain::Layout::decode(&account.data)?;
        let hash = ResultHash::of(result.as_bytes());
        let opening = OpeningId { record: record.to_bytes(), opened_at_unix_s: opened.opened_at_unix_s };
        let proof = CallProof::sign(key, &opening, &hash);
        let binding = opened.binding == 1;
        let signature = if binding { proof.call_signature } else { Some(proof.signature) };
        let settlement = Settlement {
            agent: opened.agent,
            opening,
            rent_payer: opened.rent_payer,
            creator_token: self.build.usdc_of(&self.wallet.pubkey()),
            treasury_token: self.build.usdc_of(&self.treasury_owner),
            result_key: Pubkey::new_from_array(key.verifying_key().to_bytes()),
            result_hash: hash,
            binding,
            signature: signature.context("a signature for the call")?,
            execution_time_ms: 1,
            tokens_used: None,
        };
        let instructions = self.build.complete_execution(&self.wallet.pubkey(), &settlement);
        let blockhash = self.chain.recent_blockhash().await?;
        let transaction = SignedTransaction::sign(&instructions, &[&self.wallet], blockhash)?;
        Ok(self.chain.send_and_confirm(&transaction, SETTLE_PATIENCE).await)
    }
}
