//! Listings with their documents, and profiles of creators.

use chrono::TimeDelta;
use crtx_protocol::result_hash::ResultHash;
use serde_json::json;
use sqlx::PgPool;

use super::{
    copy::Copy,
    random::Random,
    size::{COMMON_TAG, RARE_TAG, RARE_WORD, Size},
};

/// Rows in one `COPY`.
const BATCH: u32 = 10_000;
/// Tags, without the common and the rare one. The first are the most frequent (Zipf).
const TAGS: u32 = 200;
/// The rare tag and the rare word are of every agent whose number this divides, and at least of the first.
const RARE: u32 = 7_919;

const ADJECTIVES: [&str; 16] = [
    "Swift", "Careful", "Open", "Nordic", "Solar", "Quiet", "Exact", "Bright", "Urban", "Global", "Deep", "Rapid",
    "Honest", "Green", "Prime", "Lunar",
];
const NOUNS: [&str; 16] = [
    "Analyst",
    "Writer",
    "Auditor",
    "Scout",
    "Coder",
    "Planner",
    "Translator",
    "Monitor",
    "Tutor",
    "Broker",
    "Reviewer",
    "Designer",
    "Lawyer",
    "Chemist",
    "Curator",
    "Forecaster",
];
const SYLLABLES: [&str; 16] =
    ["ba", "ce", "di", "fo", "gu", "ha", "ki", "lo", "me", "nu", "pa", "re", "si", "to", "vi", "za"];

const CREATOR_COLUMNS: [&str; 19] = [
    "address",
    "slot",
    "revision",
    "wallet",
    "display_name",
    "verified",
    "verified_at",
    "created_at",
    "updated_at",
    "next_agent_index",
    "closed_agents",
    "closed_completed_executions",
    "closed_successful_executions",
    "closed_failed_executions",
    "closed_expired_executions",
    "closed_disputed_executions",
    "closed_slashed_total",
    "closed_platform_fees_total",
    "closed_at_slot",
];

const AGENT_COLUMNS: [&str; 33] = [
    "address",
    "slot",
    "revision",
    "creator",
    "agent_index",
    "result_key",
    "metadata_hash",
    "metadata_uri",
    "binding",
    "price",
    "collateral",
    "slashed_total",
    "open_amount",
    "disputed_amount",
    "total_executions",
    "successful_executions",
    "failed_executions",
    "expired_executions",
    "disputed_executions",
    "completed_executions",
    "timed_executions",
    "execution_time_ms_total",
    "platform_fees_total",
    "timeout_seconds",
    "open_executions",
    "open_disputes",
    "status",
    "created_at",
    "updated_at",
    "closed_at_slot",
    "name",
    "tagline",
    "tags",
];

/// Writes all creators, one in ten verified.
pub async fn write_creators(pool: &PgPool, size: &Size) {
    let mut rows = Copy::into("mirror_creators", &CREATOR_COLUMNS);
    let mut random = Random::new(11);
    for number in 0..size.creators() {
        let verified = number % 10 == 1;
        let created = size.time(random.share() * 0.1);
        let mut row = rows
            .row()
            .plain(random.address())
            .plain(10)
            .plain(1)
            .plain(size.creator(number))
            .text(&format!("Creator {number}"))
            .plain(verified)
            .time(verified.then_some(created))
            .time(Some(created))
            .time(Some(created))
            .plain(size.agents / size.creators() + 1);
        for _ in 0..8 {
            row = row.plain(0);
        }
        row.plain_or_null(None::<u8>).end();
    }
    rows.write(pool).await;
}

/// The text of a listing.
struct Text {
    name: String,
    tagline: String,
    description: String,
    tags: Vec<String>,
}

impl Text {
    fn new(number: u32, random: &mut Random) -> Self {
        let rare = number.is_multiple_of(RARE);
        let (adjective, noun) = (random.pick(&ADJECTIVES), random.pick(&NOUNS));
        let special = if rare { format!(" {RARE_WORD}") } else { String::new() };
        let mut tags: Vec<String> = (0..1 + random.below(4)).map(|_| tag(random)).collect();
        if rare {
            tags.push(RARE_TAG.to_owned());
        }
        tags.sort();
        tags.dedup();
        let words: Vec<String> = (0..20 + random.below(60)).map(|_| word(random)).collect();
        Self {
            name: format!("{adjective} {noun}{special} {number}"),
            tagline: format!(
                "A {} {} for {} and {}.",
                adjective.to_lowercase(),
                noun.to_lowercase(),
                word(random),
                word(random)
            ),
            description: words.join(" "),
            tags,
        }
    }

    fn document(&self) -> String {
        json!({
            "name": self.name, "tagline": self.tagline, "description": self.description, "tags": self.tags,
            "endpoint": "https://creator.example/execute",
            "input_schema": {"type": "object", "properties": {"depth": {"type": "integer", "minimum": 1}}},
            "output_schema": {"type": "string"},
        })
        .to_string()
    }
}

fn tag(random: &mut Random) -> String {
    // The reciprocal of a share is distributed like the ranks of Zipf's law.
    let rank = ((1.0 / (1.0 - random.share() * 0.995)) as u32).min(TAGS);
    if rank == 1 { COMMON_TAG.to_owned() } else { format!("tag-{rank}") }
}

/// One of some thousand words of two to four syllables; short ones are more frequent.
fn word(random: &mut Random) -> String {
    (0..2 + random.skewed(3)).map(|_| *random.pick(&SYLLABLES)).collect()
}

/// Writes all agents with their documents: 97 of 100 active, the others paused or delisted, one of 100 without a
/// document.
pub async fn write_agents(pool: &PgPool, size: &Size) {
    let mut listings = Copy::into("mirror_agents", &AGENT_COLUMNS);
    let document_columns = ["agent", "sha256", "uri", "document", "name", "tagline", "tags", "endpoint", "fetched_at"];
    let mut documents = Copy::into("agent_metadata", &document_columns);
    let mut random = Random::new(12);
    for number in 0..size.agents {
        let text = Text::new(number, &mut random);
        let document = text.document();
        let hash = ResultHash::of(document.as_bytes()).0;
        let shown = number < 3 || !random.percent(1);
        write_listing(&mut listings, size, number, &text, &hash, shown, &mut random);
        if shown {
            let tags = format!("{{{}}}", text.tags.join(","));
            let row = documents.row().plain(size.agent(number)).bytes(Some(&hash)).text("ipfs://x").text(&document);
            let row = row.text(&text.name).text(&text.tagline).text(&tags).text("https://creator.example/execute");
            row.time(Some(size.now)).end();
        }
        if number % BATCH == BATCH - 1 {
            listings.write(pool).await;
            documents.write(pool).await;
        }
    }
    listings.write(pool).await;
    documents.write(pool).await;
}

fn write_listing(
    rows: &mut Copy,
    size: &Size,
    number: u32,
    text: &Text,
    hash: &[u8; 32],
    shown: bool,
    random: &mut Random,
) {
    // 0.001 to 50 USDC; cheap ones are more frequent.
    let price = 1_000 + u64::from(random.skewed(50_000)) * 1_000;
    let completed = u64::from(random.skewed(20_000));
    let failed = completed * u64::from(random.skewed(60)) / 100;
    let disputed = completed / 500;
    let successful = completed - disputed / 2;
    let created = size.time(random.share());
    let status = match random.below(100) {
        0 | 1 if number >= 3 => 2,
        2 if number >= 3 => 3,
        _ => 1,
    };
    let mut row = rows
        .row()
        .plain(size.agent(number))
        .plain(10)
        .plain(completed + failed + 1)
        .plain(size.creator_of(number))
        .plain(number / size.creators())
        .plain(random.address())
        .bytes(Some(hash))
        .text("ipfs://x")
        .plain(random.percent(50))
        .plain(price)
        .plain(10_000_000);
    for count in [0, 0, 0, completed + failed, successful, failed, failed / 10, disputed, completed, completed] {
        row = row.plain(count);
    }
    row = row.plain(completed * (200 + u64::from(random.below(5_000)))).plain(completed * price / 100).plain(60);
    row = row.plain(0).plain(0).plain(status).time(Some(created)).time(Some(created + TimeDelta::hours(1)));
    row = row.plain_or_null(None::<u8>);
    if shown {
        row.text(&text.name).text(&text.tagline).text(&format!("{{{}}}", text.tags.join(","))).end();
    } else {
        let null = None::<u8>;
        row.plain_or_null(null).plain_or_null(null).plain_or_null(null).end();
    }
}
