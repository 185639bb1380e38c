//! Counts rows, columns and empty cells of a CSV text (without quotation marks).
use crtx_sdk::{Seller, Task, key};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let seller = Seller::new(key::from_file("result-key.json")?, async |task: Task| profile(&task.text));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3402").await?;
    axum::serve(listener, axum::Router::new().fallback_service(seller)).await
}

fn profile(text: &str) -> Result<String, &'static str> {
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let columns = rows.first().ok_or("there is no row")?.len();
    let empty = rows.iter().flatten().filter(|cell| cell.trim().is_empty()).count();
    Ok(format!("{{\"rows\":{},\"columns\":{columns},\"empty_cells\":{empty}}}", rows.len()))
}
