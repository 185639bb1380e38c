//! The key that makes a retry of a call safe.

use uuid::Uuid;

/// Longest key that the API takes.
const MAX_CHARS: usize = 255;

/// Reads a key that somebody chose.
pub fn parse(text: &str) -> Result<String, String> {
    let good = (1..=MAX_CHARS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    if good { Ok(text.to_owned()) } else { Err(format!("1 to {MAX_CHARS} visible ASCII characters are accepted")) }
}

pub fn random() -> String {
    Uuid::new_v4().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_short_visible_ascii() {
        assert_eq!(parse("order-7"), Ok("order-7".to_owned()));
        assert!(parse(&random()).is_ok() && parse(&"x".repeat(255)).is_ok());
        for bad in ["", "a b", "é", &"x".repeat(256)] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
