//! USDC amounts: base units inside, JSON numbers with at most six decimals and without exponents outside.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::Error as _};
use serde_json::value::RawValue;

/// Base units in one USDC.
pub const BASE_UNITS_PER_USDC: u64 = 1_000_000;
const DECIMALS: i64 = 6;

/// An amount of USDC in base units (10^-6 USDC).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UsdcBase(pub u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an amount in USDC is a number from 0 to 18446744073709.551615 with at most six decimals")]
pub struct UsdcError;

impl UsdcBase {
    /// Reads a decimal number of USDC, such as `0.05`.
    pub fn parse(text: &str) -> Result<Self, UsdcError> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || fraction.len() > 6 {
            return Err(UsdcError);
        }
        Self::parse_json(text)
    }
}

/// A decimal number of USDC without trailing zeros: `0.05`, `12`.
impl fmt::Display for UsdcBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0 / BASE_UNITS_PER_USDC, self.0 % BASE_UNITS_PER_USDC);
        if fraction == 0 {
            write!(f, "{whole}")
        } else {
            let digits = format!("{fraction:06}");
            write!(f, "{whole}.{}", digits.trim_end_matches('0'))
        }
    }
}

impl UsdcBase {
    /// Reads a JSON number in any spelling, such as `1e-6` or `0.050`, if it is exactly an amount.
    pub fn parse_json(text: &str) -> Result<Self, UsdcError> {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        if whole.is_empty() || digits.bytes().any(|byte| !byte.is_ascii_digit()) {
            return Err(UsdcError);
        }
        let significant = digits.trim_matches('0');
        if significant.is_empty() {
            return Ok(Self(0));
        }
        let exponent: i64 = exponent.parse().map_err(|_| UsdcError)?;
        let length = |text: &str| i64::try_from(text.len()).map_err(|_| UsdcError);
        let zeros = length(&digits)?.checked_sub(length(digits.trim_end_matches('0'))?).ok_or(UsdcError)?;
        // The amount is `significant`, with so many zeros behind it.
        let shift = exponent.checked_sub(length(fraction)?).and_then(|it| it.checked_add(zeros));
        let shift = shift.and_then(|it| it.checked_add(DECIMALS)).and_then(|it| u32::try_from(it).ok());
        let power = shift.and_then(|shift| 10_u64.checked_pow(shift)).ok_or(UsdcError)?;
        let number: u64 = significant.parse().map_err(|_| UsdcError)?;
        number.checked_mul(power).map(Self).ok_or(UsdcError)
    }
}

/// As the exact text of the number: the way through a double would write the smallest amounts with an exponent, and
/// round the largest.
impl Serialize for UsdcBase {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.to_string()).map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for UsdcBase {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = Box::<RawValue>::deserialize(deserializer)?;
        Self::parse_json(number.get()).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn amounts_read_as_people_write_them() {
        assert_eq!(UsdcBase(50_000).to_string(), "0.05");
        assert_eq!(serde_json::to_string(&UsdcBase(99_000)).expect("json"), "0.099");
        assert_eq!(serde_json::to_string(&UsdcBase(12_000_000)).expect("json"), "12");
        assert_eq!(UsdcBase::parse("0.000001"), Ok(UsdcBase(1)));
    }

    #[test]
    fn what_is_not_an_amount_is_refused() {
        for bad in ["", ".", "1.", ".5", "-1", "1e3", "0.0000001", "18446744073709.551616", "1,0", " 1"] {
            assert_eq!(UsdcBase::parse(bad), Err(UsdcError), "{bad}");
        }
    }

    #[test]
    fn every_amount_is_written_as_a_plain_decimal_and_read_back_exactly() {
        let extremes = [u64::MAX, u64::MAX - 1, 1 << 53, (1 << 53) + 1, 999_999, 1_000_000, 1_000_001, 10_u64.pow(19)];
        for base in (0..=20).chain(extremes) {
            let (amount, text) = (UsdcBase(base), serde_json::to_string(&UsdcBase(base)).expect("json"));
            assert_eq!(text, amount.to_string());
            let decimals = text.split_once('.').map_or("", |(_, decimals)| decimals);
            assert!(text.bytes().all(|b| b.is_ascii_digit() || b == b'.') && decimals.len() <= 6, "{text}");
            assert_eq!(serde_json::from_str::<UsdcBase>(&text).expect("own form"), amount);
            assert_eq!(UsdcBase::parse(&text), Ok(amount));
        }
        assert_eq!(serde_json::to_string(&UsdcBase(1)).expect("json"), "0.000001");
        assert_eq!(serde_json::to_string(&UsdcBase(u64::MAX)).expect("json"), "18446744073709.551615");
    }

    #[test]
    fn an_amount_of_a_json_value_is_the_amount() {
        for base in (0..=20).chain([999_999_999_999_999]) {
            let value = serde_json::json!({"amount": UsdcBase(base)});
            let read = serde_json::from_value::<UsdcBase>(value["amount"].clone());
            assert_eq!(read.expect("own form"), UsdcBase(base), "{value}");
        }
    }

    #[test]
    fn a_json_number_in_another_spelling_is_read_if_it_is_exactly_an_amount() {
        for (text, base) in [
            ("1e-6", 1),
            ("1E-06", 1),
            ("9e-6", 9),
            ("1.5e-5", 15),
            ("1e3", 1_000_000_000),
            ("1e+0", 1_000_000),
            ("0.0500000000", 50_000),
            ("5.0", 5_000_000),
            ("0e99999999999", 0),
            ("0.0", 0),
            ("10e-7", 1),
            ("120", 120_000_000),
        ] {
            assert_eq!(serde_json::from_str::<UsdcBase>(text).ok(), Some(UsdcBase(base)), "{text}");
        }
        for bad in [
            "1e-7",
            "1.5e-6",
            "-1",
            "-0",
            "1e14",
            "1e99999999999999999999",
            "0.0000001",
            "18446744073709.551616",
            "\"1\"",
            "null",
            "true",
            "[1]",
            "{}",
        ] {
            assert!(serde_json::from_str::<UsdcBase>(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn json_keeps_every_base_unit(base in any::<u64>()) {
            let text = serde_json::to_string(&UsdcBase(base)).expect("json");
            prop_assert_eq!(serde_json::from_str::<UsdcBase>(&text).expect("own form"), UsdcBase(base));
        }
    }
}
