//! How much may disappear at once.

/// So many accounts can close between two snapshots without a second look, or one in a hundred.
const FEW: u64 = 10;
/// More than so many, and more than one in five, are hidden only if the operator allows it.
const MANY: u64 = 50;

/// Whether so many missing accounts, of so many that are open, need a second look.
pub const fn needs_second_look(missing: u64, open: u64) -> bool {
    missing > FEW && missing > open.div_euclid(100)
}

/// Whether so many missing accounts stay shown until the operator allows to hide them.
pub const fn is_held(missing: u64, open: u64) -> bool {
    missing > MANY && missing > open.div_euclid(5)
}

/// What the operator can do.
pub fn held_message(node: &str, missing: u64, open: u64, what: &str) -> String {
    format!(
        "the node at {node} does not have {missing} of {open} open accounts of {what}: they stay shown. If they are \
         closed indeed, set `indexer.accept_mass_closing = true` until the next snapshot was applied; otherwise use \
         another node"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_need_no_second_look_and_a_mass_is_held() {
        for (missing, open, look, held) in [
            (10, 10, false, false),
            (11, 20, true, false),
            (50, 50, true, false),
            (51, 51, true, true),
            (51, 254, true, true),
            (51, 255, true, false),
            (51, 1_000, true, false),
            (100, 10_000, false, false),
            (101, 10_000, true, false),
        ] {
            assert_eq!((needs_second_look(missing, open), is_held(missing, open)), (look, held), "{missing} of {open}");
        }
    }
}
