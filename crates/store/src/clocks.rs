//! The clock of this process beside the database's. How old something is, only the database's clock says.

use std::time::Duration;

use chrono::TimeDelta;

/// The code of the problem in `GET /v1/status`.
pub const CLOCK_SKEW: &str = "clock_skew";
/// Clocks that are set by the network differ by less.
const ALLOWED: Duration = Duration::from_secs(10);

/// What is wrong if this process's clock is so far ahead of the database's, or behind it.
pub fn clock_problem(ahead: TimeDelta) -> Option<String> {
    let seconds = ahead.num_seconds();
    let direction = if seconds < 0 { "behind" } else { "ahead of" };
    let far = Duration::from_secs(seconds.unsigned_abs());
    (far > ALLOWED).then(|| {
        format!(
            "the clock of this service is {} seconds {direction} that of the database: set both by the network. The age \
             of the mirror is counted by the database's clock alone, and is right",
            far.as_secs()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_differ_by_more_than_ten_seconds_are_a_problem_in_both_directions() {
        let problem = |seconds| clock_problem(TimeDelta::seconds(seconds));
        assert_eq!([-10, 0, 10].map(problem), [None, None, None]);
        assert!(problem(120).is_some_and(|text| text.contains("120 seconds ahead of that of the database")));
        assert!(problem(-120).is_some_and(|text| text.contains("120 seconds behind that of the database")));
    }
}
