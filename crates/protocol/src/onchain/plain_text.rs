//! Characters that a name must not contain, because a reader does not see them or sees the text in another order.

/// Ranges of invisible and misleading characters: format characters (Cf), the bidirectional controls among them;
/// characters that Unicode calls default-ignorable, with the variation selectors; blank letters; line and
/// paragraph separators; private use; interlinear annotations and noncharacters.
const REFUSED: [(u32, u32); 30] = [
    (0x00ad, 0x00ad),
    (0x034f, 0x034f),
    (0x0600, 0x0605),
    (0x061c, 0x061c),
    (0x06dd, 0x06dd),
    (0x070f, 0x070f),
    (0x0890, 0x0891),
    (0x08e2, 0x08e2),
    (0x115f, 0x1160),
    (0x17b4, 0x17b5),
    (0x180b, 0x180f),
    (0x200b, 0x200f),
    (0x2028, 0x202e),
    (0x2060, 0x206f),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xe000, 0xf8ff),
    (0xfdd0, 0xfdef),
    (0xfe00, 0xfe0f),
    (0xfeff, 0xfeff),
    (0xffa0, 0xffa0),
    (0xfff0, 0xfffb),
    (0xfffe, 0xffff),
    (0x1_10bd, 0x1_10bd),
    (0x1_10cd, 0x1_10cd),
    (0x1_3430, 0x1_345f),
    (0x1_bca0, 0x1_bca3),
    (0x1_d159, 0x1_d15a),
    (0x1_d173, 0x1_d17a),
    // Tags, variation selectors, private use, and everything behind them.
    (0xe_0000, 0x10_ffff),
];

/// Whether `c` can stand in a name: it is visible, or the plain space.
pub fn is_plain(c: char) -> bool {
    let code = c as u32;
    let control = code < 0x20 || (0x7f..0xa0).contains(&code);
    // White space other than U+0020: the fixed-width and no-break spaces.
    let space = matches!(code, 0xa0 | 0x1680 | 0x2000..=0x200a | 0x202f | 0x205f | 0x3000);
    !control && !space && !REFUSED.iter().any(|(first, last)| (*first..=*last).contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_every_script_and_symbols_are_plain() {
        for c in "Ada Lovelace, Ää ß ñ Ж 字 か 한 ع ہ अ ก € ★ 🚀 -_.'’&/()".chars() {
            assert!(is_plain(c), "{c:?}");
        }
    }

    #[test]
    fn bidirectional_zero_width_and_other_format_characters_are_not() {
        for c in "\u{202e}\u{202a}\u{2066}\u{2069}\u{200e}\u{200f}\u{61c}\u{200b}\u{200c}\u{200d}\u{feff}\u{2060}\u{ad}"
            .chars()
            .chain("\u{fe0f}\u{e0041}\u{e0100}\u{180e}\u{3164}\u{115f}\u{2800}\u{2028}\u{e000}\u{fff9}\u{34f}".chars())
            .chain("\0\t\n\r\u{7f}\u{85}\u{a0}\u{2003}\u{3000}".chars())
        {
            assert!(!is_plain(c), "{:04x}", c as u32);
        }
    }

    #[test]
    fn the_ranges_rise() {
        assert!(REFUSED.is_sorted_by(|a, b| a.1 < b.0) && REFUSED.iter().all(|(first, last)| first <= last));
    }
}
