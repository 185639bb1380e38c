//! USDC amounts: base units inside, JSON numbers with at most six decimals outside.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Base units in one USDC.
pub const BASE_UNITS_PER_USDC: u64 = 1_000_000;

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
        let whole: u64 = whole.parse().map_err(|_| UsdcError)?;
        let fraction: u64 = format!("{fraction:0<6}").parse().map_err(|_| UsdcError)?;
        whole.checked_mul(BASE_UNITS_PER_USDC).and_then(|base| base.checked_add(fraction)).map(Self).ok_or(UsdcError)
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

impl Serialize for UsdcBase {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_multiple_of(BASE_UNITS_PER_USDC) {
            serializer.serialize_u64(self.0 / BASE_UNITS_PER_USDC)
        } else {
            // The decimal text goes through the nearest double and comes out the same: a double keeps
            // 15 digits, enough for every amount below a billion USDC.
            let nearest: f64 = self.to_string().parse().map_err(serde::ser::Error::custom)?;
            serializer.serialize_f64(nearest)
        }
    }
}

impl<'de> Deserialize<'de> for UsdcBase {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        Self::parse(&number.to_string()).map_err(serde::de::Error::custom)
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

    proptest! {
        #[test]
        fn json_keeps_every_base_unit(base in 0u64..1_000_000_000_000_000) {
            let text = serde_json::to_string(&UsdcBase(base)).expect("json");
            prop_assert_eq!(serde_json::from_str::<UsdcBase>(&text).expect("own form"), UsdcBase(base));
        }
    }
}
