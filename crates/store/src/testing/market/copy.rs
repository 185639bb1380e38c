//! Rows for PostgreSQL's `COPY`, in its text format.

use std::fmt::Write;

use chrono::{DateTime, Utc};
use sqlx::PgPool;

/// Rows of one table that are written together.
pub struct Copy {
    statement: String,
    text: String,
}

impl Copy {
    pub fn into(table: &str, columns: &[&str]) -> Self {
        Self { statement: format!("COPY {table} ({}) FROM STDIN", columns.join(", ")), text: String::new() }
    }

    /// The next row. Its values follow in the order of the columns; then [`Row::end`].
    pub const fn row(&mut self) -> Row<'_> {
        Row { text: &mut self.text, first: true }
    }

    /// Writes the rows.
    ///
    /// # Panics
    /// When the database refuses.
    pub async fn write(&mut self, pool: &PgPool) {
        if self.text.is_empty() {
            return;
        }
        let mut connection = pool.acquire().await.expect("a connection");
        let mut copy = connection.copy_in_raw(&self.statement).await.expect("COPY begins");
        copy.send(self.text.as_bytes()).await.expect("rows are sent");
        copy.finish().await.expect("rows are written");
        self.text.clear();
    }
}

pub struct Row<'a> {
    text: &'a mut String,
    first: bool,
}

impl Row<'_> {
    fn next(&mut self) -> &mut String {
        if !std::mem::take(&mut self.first) {
            self.text.push('\t');
        }
        self.text
    }

    #[must_use]
    pub fn text(mut self, value: &str) -> Self {
        let text = self.next();
        for char in value.chars() {
            match char {
                '\\' => text.push_str("\\\\"),
                '\t' => text.push_str("\\t"),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                char => text.push(char),
            }
        }
        self
    }

    /// A number, an address, a UUID, a truth value: what needs no escape.
    #[must_use]
    pub fn plain(mut self, value: impl std::fmt::Display) -> Self {
        let _ = write!(self.next(), "{value}");
        self
    }

    #[must_use]
    pub fn plain_or_null(self, value: Option<impl std::fmt::Display>) -> Self {
        match value {
            Some(value) => self.plain(value),
            None => self.plain("\\N"),
        }
    }

    #[must_use]
    pub fn bytes(mut self, value: Option<&[u8]>) -> Self {
        let text = self.next();
        match value {
            Some(bytes) => {
                text.push_str("\\\\x");
                for byte in bytes {
                    let _ = write!(text, "{byte:02x}");
                }
            }
            None => text.push_str("\\N"),
        }
        self
    }

    #[must_use]
    pub fn time(self, value: Option<DateTime<Utc>>) -> Self {
        self.plain_or_null(value.map(|time| time.to_rfc3339()))
    }

    pub fn end(self) {
        self.text.push('\n');
    }
}
