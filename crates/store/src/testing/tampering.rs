//! What somebody with access to the database could do to it, for tests that must notice.

use sqlx::{AssertSqlSafe, PgPool};

/// Runs a statement.
///
/// # Panics
/// When the database refuses.
pub async fn tamper(pool: &PgPool, statement: &str) {
    sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(pool).await.expect("the statement is run");
}

/// The single text that a query returns.
///
/// # Panics
/// When the database refuses.
pub async fn text_of(pool: &PgPool, query: &str) -> String {
    sqlx::query_scalar(AssertSqlSafe(query.to_owned())).fetch_one(pool).await.expect("one text")
}

/// Hexadecimal digits, as statements write bytes.
pub fn hex(bytes: &[u8]) -> String {
    format!("'\\x{}'", hex::encode(bytes))
}
