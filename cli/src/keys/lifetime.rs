//! How long a key lives: `30d`, `12h`, `45m`.

/// Longest life: ten years.
const MAX_S: i64 = 10 * 365 * 86_400;

/// Reads a number of days, hours or minutes, in seconds.
pub fn parse(text: &str) -> Result<i64, String> {
    let wrong = || "write a number and d, h or m, such as 30d, of at most ten years".to_owned();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let seconds = match unit {
        "d" => 86_400,
        "h" => 3_600,
        "m" => 60,
        _ => return Err(wrong()),
    };
    let number: i64 = number.parse().map_err(|_| wrong())?;
    let total = number.checked_mul(seconds).filter(|total| (1..=MAX_S).contains(total));
    total.ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_is_a_number_of_days_hours_or_minutes() {
        assert_eq!((parse("30d"), parse("12h"), parse("1m")), (Ok(2_592_000), Ok(43_200), Ok(60)));
        for bad in ["", "d", "0d", "-1d", "30", "30s", "1.5d", "99999d", "9223372036854775807d", "é", "3é"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
