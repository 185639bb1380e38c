//! Which executions a command shows.

use chrono::{DateTime, Utc};

/// Which executions.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct FilterArgs {
    /// Only this status: completed, failed, disputed, running or pending
    #[arg(long, value_name = "STATUS", value_parser = ["completed", "failed", "disputed", "running", "pending"])]
    pub status: Option<String>,
    /// Only executions of this agent
    #[arg(long, value_name = "AGENT_ID")]
    pub agent: Option<solana_pubkey::Pubkey>,
    /// Only executions after this time, ISO 8601
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub from: Option<DateTime<Utc>>,
    /// Only executions before this time, ISO 8601
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub to: Option<DateTime<Utc>>,
}

impl FilterArgs {
    /// The query string of a page. `place`: the offset of the page, or the cursor that the page before it names.
    pub fn query(&self, limit: u64, place: (&str, &str)) -> String {
        let text = |time: &DateTime<Utc>| time.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
        let filters = [
            ("status", self.status.clone()),
            ("agent_id", self.agent.map(|agent| agent.to_string())),
            ("from", self.from.as_ref().map(text)),
            ("to", self.to.as_ref().map(text)),
        ];
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("limit", &limit.to_string()).append_pair(place.0, place.1);
        query.extend_pairs(filters.into_iter().filter_map(|(name, value)| Some((name, value?))));
        query.finish()
    }
}

/// A time with an offset, a time in UTC, or a date, which stands for its midnight in UTC.
fn time(text: &str) -> Result<DateTime<Utc>, String> {
    let with_offset = DateTime::parse_from_rfc3339(text).map(|time| time.with_timezone(&Utc));
    let utc = || DateTime::parse_from_rfc3339(&format!("{text}Z")).map(|time| time.with_timezone(&Utc));
    let date = || DateTime::parse_from_rfc3339(&format!("{text}T00:00:00Z")).map(|time| time.with_timezone(&Utc));
    with_offset
        .or_else(|_| utc())
        .or_else(|_| date())
        .map_err(|_| "write it as 2026-11-22 or 2026-11-22T16:00:00Z".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_as_the_api_reads_it() {
        let noon = time("2026-11-22T12:00:00Z");
        assert_eq!(time("2026-11-22T13:00:00+01:00"), noon);
        assert_eq!(time("2026-11-22T12:00:00"), noon);
        assert_eq!(time("2026-11-22").map(|time| time.to_rfc3339()), Ok("2026-11-22T00:00:00+00:00".to_owned()));
        for bad in ["", "yesterday", "2026-13-01", "12:00"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_query_names_only_what_is_asked_for() {
        assert_eq!(FilterArgs::default().query(20, ("offset", "0")), "limit=20&offset=0");
        let filter =
            FilterArgs { status: Some("failed".to_owned()), to: time("2026-11-22").ok(), ..FilterArgs::default() };
        assert_eq!(
            filter.query(5, ("cursor", "a b&c")),
            "limit=5&cursor=a+b%26c&status=failed&to=2026-11-22T00%3A00%3A00.000000Z"
        );
        assert_eq!(
            filter.query(5, ("offset", "10")),
            "limit=5&offset=10&status=failed&to=2026-11-22T00%3A00%3A00.000000Z"
        );
    }
}
