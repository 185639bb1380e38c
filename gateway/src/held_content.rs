//! Content that clients hand in. What a record or a dispute refers to is kept. What a listing refers to is held for its
//! creator until the listing has had ten newer documents. What may be referred to soon is held for the wallet that signed
//! in, within its limits, and dropped after a day if nothing refers to it by then.
//!
//! Held content is apart from kept content, so a drop never takes away a result that this gateway has stored.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use crtx_content::ContentError;
use crtx_http::{
    ApiError, ErrorCode, QuotaUnit, RateLimit,
    allowance::{Allowances, Rate},
};
use crtx_protocol::result_hash::ResultHash;
use crtx_store::held_content::{self as store, Fate, Held, HoldingLimits, Piece};
use solana_pubkey::Pubkey;
use tokio::sync::Semaphore;

use crate::engine::{Engine, EngineError};

/// How often a wallet hands content in to this process.
const UPLOADS: Rate = Rate { policy: "content-per-wallet", burst: 100, quota: 600, window: Duration::from_secs(60) };

/// How long a client waits for the content store.
const PATIENCE: Duration = Duration::from_secs(5);
/// When it is worth to try again after all wallets together held too much.
const FULL_RETRY: Duration = Duration::from_secs(60);
/// A piece that something refers to is kept or listed after this time: by then its bytes have been written.
const WRITTEN_AFTER: Duration = Duration::from_secs(60);
/// Pieces that one statement looks at. Strangers decide how many there are, and each costs several look-ups.
const PER_SEARCH: u32 = 1_000;

/// Limits of handing content in.
pub(crate) struct Uploads {
    /// Pieces that each wallet hands in. How much it holds is limited in the database.
    pieces: Allowances<Pubkey>,
    /// One is handed in at a time. All of them wait for one lock, each with a connection that calls need.
    turn: Semaphore,
}

impl Uploads {
    pub fn new() -> Self {
        Self { pieces: Allowances::new(UPLOADS), turn: Semaphore::new(1) }
    }

    /// Counts that the wallet hands content in. 429 if it has done so too often.
    pub fn allow(&self, wallet: &Pubkey) -> Result<(), ApiError> {
        self.pieces.take(*wallet, "pieces of content")
    }

    /// Holds all pieces for a wallet or none. `whole` names the others. Returns whether one of them is new to the wallet.
    pub async fn hold(
        &self,
        engine: &Engine,
        wallet: &Pubkey,
        contents: &[Bytes],
        whole: Option<ResultHash>,
    ) -> Result<bool, ApiError> {
        let contents: BTreeMap<[u8; 32], &Bytes> =
            contents.iter().map(|content| (ResultHash::of(content).0, content)).collect();
        let piece = |(sha256, content): (&[u8; 32], &&Bytes)| Piece {
            sha256: *sha256,
            size: u64::try_from(content.len()).unwrap_or(u64::MAX),
        };
        let pieces: Vec<Piece> = contents.iter().map(piece).collect();
        let limits = &engine.config.limits.held_content;
        let whole = whole.map(|hash| hash.0);
        let turn = tokio::time::timeout(PATIENCE, self.turn.acquire()).await;
        let turn = turn.map_err(|_| ApiError::unavailable("too much content is handed in at once"))?;
        let held = store::hold(engine.executions.pool(), wallet, &pieces, whole, limits).await?;
        drop(turn);
        let new = match held {
            Held::New => true,
            Held::Again => false,
            Held::WalletFull { retry_after } => return Err(wallet_full(&limits.wallet, limits.keep_for, retry_after)),
            Held::Full => return Err(full()),
        };
        for (sha256, content) in contents {
            // What is there already is not written again, so that a repetition costs little.
            let is_there = !new && in_time(engine.content.get(&ResultHash(sha256))).await?.is_some();
            if !is_there {
                in_time(engine.content.hold(content.clone())).await?;
            }
        }
        Ok(new)
    }
}

/// Content that is kept or held here.
pub(crate) async fn stored(engine: &Engine, hash: &ResultHash) -> Result<Option<Bytes>, ApiError> {
    in_time(engine.content.get(hash)).await
}

/// Keeps content that something on chain refers to. Returns whether it was missing.
pub(crate) async fn keep(engine: &Engine, hash: &ResultHash, content: Bytes) -> Result<bool, ApiError> {
    in_time(async {
        if engine.content.is_kept(hash).await? {
            return Ok(false);
        }
        engine.content.put(content).await?;
        Ok(true)
    })
    .await
}

async fn in_time<T>(work: impl Future<Output = Result<T, ContentError>>) -> Result<T, ApiError> {
    let done = tokio::time::timeout(PATIENCE, work).await;
    done.map_err(|_| ApiError::unavailable("the content store does not answer"))?.map_err(ApiError::unavailable)
}

fn wallet_full(room: &HoldingLimits, window: Duration, retry_after: Duration) -> ApiError {
    let HoldingLimits { pieces, bytes } = room;
    let message = format!(
        "this wallet may have {pieces} pieces of content stored that nothing on chain refers to, and {bytes} bytes \
         together with what its listings named since yesterday"
    );
    let quota = u32::try_from(*pieces).unwrap_or(u32::MAX);
    let limit = RateLimit { policy: "held-content-per-wallet", quota, unit: QuotaUnit::Within(window) };
    ApiError::rate_limited(message, limit, retry_after.max(Duration::from_secs(1)))
}

fn full() -> ApiError {
    let message = "too much content is stored that nothing on chain refers to yet; nothing was stored, try again later";
    ApiError::new(ErrorCode::Unavailable, message).with_retry_after(FULL_RETRY)
}

/// Keeps what a record or a dispute refers to, notes what a listing refers to, and drops what nothing refers to in time.
pub(crate) async fn tidy(engine: &Engine) {
    let keep_for = engine.config.limits.held_content.keep_for;
    for (held_for, fate) in [(WRITTEN_AFTER, Fate::Kept), (WRITTEN_AFTER, Fate::Listed), (keep_for, Fate::Dropped)] {
        let mut after = None;
        loop {
            match tidy_some(engine, held_for, fate, after).await {
                Ok(Some(last)) => after = Some(last),
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(%error, "held content could not be looked through");
                    break;
                }
            }
        }
    }
}

/// Looks at the next pieces. Returns the last of them if there may be more.
async fn tidy_some(
    engine: &Engine,
    held_for: Duration,
    fate: Fate,
    after: Option<[u8; 32]>,
) -> Result<Option<[u8; 32]>, EngineError> {
    let pool = engine.executions.pool();
    let search = store::search(pool, held_for, fate, after, PER_SEARCH).await?;
    if fate == Fate::Listed {
        store::note_listed(pool, &search.found).await?;
        return Ok(search.last);
    }
    for sha256 in search.found {
        let hash = ResultHash(sha256);
        if fate == Fate::Kept && !engine.content.keep(&hash).await? {
            tracing::warn!(%hash, "content that something refers to was never written");
        }
        if let Some(released) = store::release(pool, &sha256, held_for, fate).await? {
            engine.content.release(&hash).await?;
            released.commit().await?;
        }
    }
    Ok(search.last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wallet_has_a_burst_of_its_own_and_then_waits() {
        let uploads = Uploads::new();
        let wallet = Pubkey::new_from_array([1; 32]);
        let taken = (0..200).filter(|_| uploads.allow(&wallet).is_ok()).count();
        assert!((100..200).contains(&taken), "{taken}");
        assert_eq!(uploads.allow(&Pubkey::new_from_array([2; 32])), Ok(()));
    }
}
