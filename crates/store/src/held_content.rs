//! Content that wallets handed in before anything refers to it: what they may hold, what something on chain refers to
//! by now, and what can be dropped. The bytes are in the content store.
//!
//! A piece is held and dropped under one lock, so the limits hold over all processes, and no piece is dropped while it
//! is handed in again.

use std::time::Duration;

use crtx_protocol::metadata;
use solana_pubkey::Pubkey;
use sqlx::{PgConnection, PgExecutor, PgPool, Postgres, Transaction};

use crate::{
    Result,
    columns::{Base58, Count},
    convert::amount_to_db,
    database::run,
    transaction,
};

/// Key of the advisory lock.
const LOCK: i64 = 1_668_445_306;

/// One piece of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub sha256: [u8; 32],
    pub size: u64,
}

/// How much is held at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldingLimits {
    pub pieces: u64,
    pub bytes: u64,
}

/// The limits of held content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldLimits {
    /// Pieces that nothing refers to. Their bytes count together with those that a listing refers to and that were
    /// handed in within [`Self::keep_for`], so that a creator who changes listings does not write without a limit.
    pub wallet: HoldingLimits,
    /// All wallets that have nothing on chain, together, without what listings refer to.
    pub unknown_wallets: HoldingLimits,
    /// All other wallets together, without what listings refer to.
    pub known_wallets: HoldingLimits,
    /// How long a piece is held that nothing refers to.
    pub keep_for: Duration,
}

/// What on chain refers to a piece of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// A record, a dispute, or an evidence document that a dispute refers to: for ever.
    Lasting,
    /// An open listing of this creator, until it names something else.
    Listing { creator: Pubkey },
}

/// What becomes of a held piece, as the SQL function `content_fate` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum Fate {
    /// It joins the content that stays for ever.
    Kept,
    /// It is held as long as a listing names it, or it is one of the listing's last documents.
    Listed,
    /// It is dropped after its time.
    Dropped,
}

/// Longest content of a listing that is held for it.
fn max_listed() -> i64 {
    i64::try_from(metadata::MAX_BYTES).unwrap_or(i64::MAX)
}

/// Outcome of handing in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The wallet did not hold one of the pieces before.
    New,
    /// The wallet holds all of them already; their time starts again.
    Again,
    /// Nothing was changed: the wallet holds too much.
    WalletFull {
        /// Until its oldest piece can be dropped.
        retry_after: Duration,
    },
    /// Nothing was changed: all wallets of this kind hold too much.
    Full,
}

/// What refers to the content. `None`: nothing that still does.
pub async fn reference(db: impl PgExecutor<'_>, sha256: &[u8; 32]) -> Result<Option<Reference>> {
    let row = sqlx::query!(
        r#"SELECT is_kept_for_ever($1) AS "lasting!",
                  (SELECT creator FROM mirror_agents WHERE metadata_hash = $1 AND closed_at_slot IS NULL
                   ORDER BY address LIMIT 1) AS "creator: Base58""#,
        sha256.as_slice()
    );
    let row = row.fetch_one(db).await?;
    if row.lasting {
        return Ok(Some(Reference::Lasting));
    }
    Ok(row.creator.map(|creator| Reference::Listing { creator: creator.into() }))
}

/// Notes that the wallet holds these pieces from now on, if the limits allow it: all of them or none. The bytes are
/// written afterwards. `whole`: the piece that names all others.
pub async fn hold(
    pool: &PgPool,
    wallet: &Pubkey,
    pieces: &[Piece],
    whole: Option<[u8; 32]>,
    limits: &HoldLimits,
) -> Result<Held> {
    let hashes: Vec<Vec<u8>> = pieces.iter().map(|piece| piece.sha256.to_vec()).collect();
    let sizes: Vec<i64> = pieces.iter().map(|piece| amount_to_db("size", piece.size)).collect::<Result<_, _>>()?;
    let mut transaction = locked(pool).await?;
    let others = other_pieces(&mut transaction, wallet, &hashes, limits.keep_for).await?;
    let adding = HoldingLimits {
        pieces: u64::try_from(pieces.len()).unwrap_or(u64::MAX),
        bytes: pieces.iter().fold(0, |sum, piece| sum.saturating_add(piece.size)),
    };
    if !limits.wallet.takes(others.of_wallet, adding) {
        return Ok(Held::WalletFull { retry_after: others.until_oldest_is_due });
    }
    let room = if others.is_known { limits.known_wallets } else { limits.unknown_wallets };
    if !room.takes(others.of_kind, adding) {
        return Ok(Held::Full);
    }
    let again = sqlx::query_scalar!(
        r#"WITH given AS (SELECT * FROM unnest($2::bytea[], $3::bigint[]) AS given (sha256, size)),
           before AS (SELECT count(*) AS pieces FROM held_content JOIN given USING (sha256) WHERE wallet = $1),
           written AS (
               INSERT INTO held_content (wallet, sha256, size, known) SELECT $1, sha256, size, $4 FROM given
               ON CONFLICT (wallet, sha256) DO UPDATE SET held_at = now(), known = excluded.known)
           SELECT (SELECT pieces FROM before) = (SELECT count(*) FROM given) AS "again!""#,
        wallet.to_string(),
        &hashes,
        &sizes,
        others.is_known,
    );
    let again = again.fetch_one(&mut *transaction).await?;
    if let Some(whole) = whole {
        let statement = sqlx::query!(
            "INSERT INTO content_parts (whole, part) SELECT $1, part FROM unnest($2::bytea[]) AS given (part)
             WHERE part <> $1 ON CONFLICT DO NOTHING",
            whole.as_slice(),
            &hashes,
        );
        statement.execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(if again { Held::Again } else { Held::New })
}

/// What one look at held pieces found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldSearch {
    pub found: Vec<[u8; 32]>,
    /// Where the next look begins, if there may be more.
    pub last: Option<[u8; 32]>,
}

/// Looks at up to `most` pieces that have been held for longer than `held_for`, in the order of their hashes behind
/// `after`, and finds those with that fate. Pieces that are noted as listed are not found as such again.
pub async fn search(
    pool: &PgPool,
    held_for: Duration,
    fate: Fate,
    after: Option<[u8; 32]>,
    most: u32,
) -> Result<HeldSearch> {
    let rows = sqlx::query!(
        r#"SELECT sha256 AS "sha256: [u8; 32]", content_fate(sha256, size, $5) = $2 AS "found!"
           FROM (SELECT DISTINCT sha256, size FROM held_content
                 WHERE sha256 > $3 AND held_at < now() - make_interval(secs => $1) AND NOT ($2 = 'listed' AND listed)
                 ORDER BY sha256 LIMIT $4) AS old
           ORDER BY sha256"#,
        held_for.as_secs_f64(),
        fate.into_str(),
        after.as_ref().map_or(&[][..], |after| &after[..]),
        i64::from(most),
        max_listed(),
    );
    let rows = rows.fetch_all(pool).await?;
    let is_full = u32::try_from(rows.len()).is_ok_and(|looked_at| looked_at >= most);
    let last = rows.last().filter(|_| is_full).map(|row| row.sha256);
    Ok(HeldSearch { found: rows.iter().filter(|row| row.found).map(|row| row.sha256).collect(), last })
}

/// Notes that listings refer to these pieces.
pub async fn note_listed(pool: &PgPool, pieces: &[[u8; 32]]) -> Result<()> {
    let hashes: Vec<Vec<u8>> = pieces.iter().map(|sha256| sha256.to_vec()).collect();
    let statement =
        sqlx::query!("UPDATE held_content SET listed = true WHERE sha256 = ANY ($1) AND NOT listed", &hashes);
    run(pool, statement).await
}

/// A piece that nobody holds any more. No wallet can hand it in again before [`Released::commit`] or a drop of this value:
/// the caller deletes its bytes in between.
pub struct Released(Transaction<'static, Postgres>);

impl Released {
    pub async fn commit(self) -> Result<()> {
        Ok(self.0.commit().await?)
    }
}

/// Deletes the rows of a piece that wallets have held for longer than `held_for`, if it still has that fate. `None`:
/// its fate has changed, or a wallet holds it for less time.
pub async fn release(pool: &PgPool, sha256: &[u8; 32], held_for: Duration, fate: Fate) -> Result<Option<Released>> {
    let mut transaction = locked(pool).await?;
    let gone = sqlx::query!(
        "DELETE FROM held_content
         WHERE sha256 = $1 AND held_at < now() - make_interval(secs => $2) AND content_fate($1, size, $4) = $3",
        sha256.as_slice(),
        held_for.as_secs_f64(),
        fate.into_str(),
        max_listed(),
    );
    let gone = gone.execute(&mut *transaction).await?.rows_affected();
    let held = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM held_content WHERE sha256 = $1) AS "held!""#,
        sha256.as_slice(),
    );
    let held = held.fetch_one(&mut *transaction).await?;
    if gone == 0 || held {
        transaction.commit().await?;
        return Ok(None);
    }
    if fate == Fate::Dropped {
        run(&mut *transaction, sqlx::query!("DELETE FROM content_parts WHERE whole = $1", sha256.as_slice())).await?;
    }
    Ok(Some(Released(transaction)))
}

/// What is held apart from the pieces that are handed in.
struct Others {
    is_known: bool,
    of_wallet: HoldingLimits,
    of_kind: HoldingLimits,
    until_oldest_is_due: Duration,
}

async fn other_pieces(
    connection: &mut PgConnection,
    wallet: &Pubkey,
    hashes: &[Vec<u8>],
    keep_for: Duration,
) -> Result<Others> {
    let row = sqlx::query!(
        r#"SELECT k.known AS "known!", w.pieces AS "pieces!: Count", w.bytes AS "bytes!: Count", w.seconds AS "seconds!",
                  t.pieces AS "kind_pieces!: Count", t.bytes AS "kind_bytes!: Count"
           FROM (SELECT is_known_wallet($1) AS known) AS k,
                LATERAL (
                    SELECT count(*) FILTER (WHERE alone) AS pieces, COALESCE(sum(size), 0)::bigint AS bytes,
                           COALESCE(extract(epoch FROM now() - min(held_at)), 0)::float8 AS seconds
                    FROM (SELECT size, held_at,
                                 NOT listed AND NOT is_kept_for_ever(sha256) AND NOT is_of_listing(sha256) AS alone
                          FROM held_content WHERE wallet = $1 AND sha256 <> ALL ($2)) AS own
                    WHERE alone OR held_at > now() - make_interval(secs => $3)) AS w,
                LATERAL (
                    SELECT count(*) AS pieces, COALESCE(sum(size), 0)::bigint AS bytes
                    FROM held_content
                    WHERE known = k.known AND NOT listed AND (wallet <> $1 OR sha256 <> ALL ($2))) AS t"#,
        wallet.to_string(),
        hashes,
        keep_for.as_secs_f64(),
    );
    let row = row.fetch_one(connection).await?;
    Ok(Others {
        is_known: row.known,
        of_wallet: HoldingLimits { pieces: row.pieces.into(), bytes: row.bytes.into() },
        of_kind: HoldingLimits { pieces: row.kind_pieces.into(), bytes: row.kind_bytes.into() },
        until_oldest_is_due: keep_for.saturating_sub(Duration::try_from_secs_f64(row.seconds).unwrap_or_default()),
    })
}

impl HoldingLimits {
    fn takes(self, held: Self, more: Self) -> bool {
        held.pieces.saturating_add(more.pieces) <= self.pieces && held.bytes.saturating_add(more.bytes) <= self.bytes
    }
}

async fn locked(pool: &PgPool) -> Result<Transaction<'static, Postgres>> {
    let mut transaction = transaction::begin(pool).await?;
    sqlx::query!("SELECT pg_advisory_xact_lock($1)", LOCK).execute(&mut *transaction).await?;
    Ok(transaction)
}
