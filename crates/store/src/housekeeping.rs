//! What the worker does for the market beside its own calls: where there is something to do, by the mirror, and what
//! was done. The chain decides: an address that is found here may be done already, or not be due by the chain's clock.

use chrono::{DateTime, Utc};
use serde::Serialize;
use solana_pubkey::Pubkey;
use sqlx::{PgExecutor, PgPool};
use utoipa::ToSchema;

use crate::{
    Result,
    columns::{Base58, Count},
    convert::saturating_to_db,
    database::run,
};

/// One kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum Chore {
    /// Refunds an execution that is past its deadline.
    Refund,
    /// Closes a record after its dispute window.
    Close,
    /// Ends a dispute that was not decided in time.
    ExpireDispute,
    /// Applies announced roles or parameters.
    ApplyAnnouncement,
}

impl Chore {
    pub const ALL: [Self; 4] = [Self::Refund, Self::Close, Self::ExpireDispute, Self::ApplyAnnouncement];
}

// What was done, with the fees of refused transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ChoreStatus)]
pub struct Done {
    pub actions: u64,
    /// Fees of the transactions.
    pub fees_lamports: u64,
    /// Rent that returned to those who paid it.
    #[serde(rename = "rent_returned_lamports")]
    pub rent_lamports: u64,
}

/// Adds to today's work.
pub async fn count(db: impl PgExecutor<'_>, chore: Chore, own: bool, done: &Done) -> Result<()> {
    let statement = sqlx::query!(
        "INSERT INTO housekeeping AS h (chore, own, actions, fees_lamports, rent_lamports) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (day, chore, own) DO UPDATE SET
             actions = h.actions + excluded.actions,
             fees_lamports = h.fees_lamports + excluded.fees_lamports,
             rent_lamports = h.rent_lamports + excluded.rent_lamports",
        chore.into_str(),
        own,
        saturating_to_db(done.actions),
        saturating_to_db(done.fees_lamports),
        saturating_to_db(done.rent_lamports),
    );
    run(db, statement).await
}

/// All work of one kind, on all days.
pub async fn total(db: impl PgExecutor<'_>, chore: Chore) -> Result<Done> {
    let done = sqlx::query_as!(
        Done,
        r#"SELECT COALESCE(sum(actions), 0)::bigint AS "actions!: Count",
                  COALESCE(sum(fees_lamports), 0)::bigint AS "fees_lamports!: Count",
                  COALESCE(sum(rent_lamports), 0)::bigint AS "rent_lamports!: Count"
           FROM housekeeping WHERE chore = $1"#,
        chore.into_str()
    );
    Ok(done.fetch_one(db).await?)
}

/// Fees that were paid today for work whose rent is not the operator's own.
pub async fn spent_for_others_today(pool: &PgPool) -> Result<u64> {
    let spent = sqlx::query_scalar!(
        r#"SELECT COALESCE(sum(fees_lamports), 0)::bigint AS "spent!: Count"
           FROM housekeeping WHERE day = current_date AND NOT own"#
    );
    Ok(spent.fetch_one(pool).await?.into())
}

/// Records that ended and whose dispute window is over at `now`, oldest first. `rent_payer`: only those whose rent this
/// address paid, or only those of all others.
pub async fn closable(
    pool: &PgPool,
    now: DateTime<Utc>,
    rent_payer: &Pubkey,
    own: bool,
    most: i64,
) -> Result<Vec<Pubkey>> {
    let found = sqlx::query_scalar!(
        r#"SELECT address AS "address: Base58" FROM mirror_executions
         WHERE closed_at_slot IS NULL AND finished_at IS NOT NULL AND status <> record_status('disputed')
           AND finished_at < $1 AND finished_at + make_interval(secs => dispute_window_s) < $1
           AND (rent_payer = $2) = $3
         ORDER BY finished_at, address LIMIT $4"#,
        now,
        rent_payer.to_string(),
        own,
        most,
    );
    Ok(found.fetch_all(pool).await?.into_iter().map(Pubkey::from).collect())
}

/// Open records that are past their deadline at `now` and whose rent another address than `rent_payer` paid, oldest
/// first.
pub async fn overdue_of_others(
    pool: &PgPool,
    now: DateTime<Utc>,
    rent_payer: &Pubkey,
    most: i64,
) -> Result<Vec<Pubkey>> {
    let found = sqlx::query_scalar!(
        r#"SELECT address AS "address: Base58" FROM mirror_executions
         WHERE closed_at_slot IS NULL AND status = record_status('open') AND deadline_at < $1 AND rent_payer <> $2
         ORDER BY deadline_at, address LIMIT $3"#,
        now,
        rent_payer.to_string(),
        most,
    );
    Ok(found.fetch_all(pool).await?.into_iter().map(Pubkey::from).collect())
}

/// Records whose dispute was raised before `raised_before` and is not decided, oldest first.
pub async fn undecided(pool: &PgPool, raised_before: DateTime<Utc>, most: i64) -> Result<Vec<Pubkey>> {
    let found = sqlx::query_scalar!(
        r#"SELECT execution AS "execution: Base58" FROM mirror_disputes
         WHERE closed_at_slot IS NULL AND resolved_at IS NULL AND raised_at < $1
         ORDER BY raised_at, address LIMIT $2"#,
        raised_before,
        most,
    );
    Ok(found.fetch_all(pool).await?.into_iter().map(Pubkey::from).collect())
}
