//! What the audit reads of the database, and totals that it counts again.

mod closed_rows;
mod documents;
mod results;
mod totals;

pub use closed_rows::{ClosedRow, Search, closed_rows, closings_without_row};
pub use documents::{ListedParts, StoredDocument, documents};
pub use results::{ResultPage, results};
pub use totals::{Found, Wrong, kept_totals, listing_totals, recount};
