//! Everything that a database holds, as someone who stole it would read it.

use solana_pubkey::Pubkey;
use sqlx::{AssertSqlSafe, PgPool, Row};

/// All rows of all tables, one in a line.
///
/// # Panics
/// When the database refuses.
pub async fn dump(pool: &PgPool) -> String {
    let tables = "SELECT quote_ident(table_name::text) FROM information_schema.tables
                  WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY 1";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(pool).await.expect("the tables are listed");
    assert!(tables.iter().any(|table| table == "sessions"), "{tables:?}");
    let mut text = String::new();
    for table in tables {
        let rows = sqlx::query(AssertSqlSafe(format!("SELECT t::text FROM {table} t"))).fetch_all(pool).await;
        for row in rows.expect("the rows are read") {
            text += &row.get::<String, _>(0);
            text.push('\n');
        }
    }
    text
}

/// Every run of 32 bytes that stands in the text, as hex or Base58.
pub fn runs_of_32_bytes(text: &str) -> Vec<[u8; 32]> {
    let mut found = Vec::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() >= 32) {
        for (start, _) in word.char_indices() {
            let hex = word.get(start..start + 64).map(|digits| {
                (0..32).map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16)).collect::<Result<Vec<_>, _>>()
            });
            found.extend(hex.and_then(Result::ok).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok()));
        }
        found.extend(word.parse::<Pubkey>().map(|address| address.to_bytes()));
    }
    found
}
