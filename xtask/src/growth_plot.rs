//! Lines over sizes as an SVG: both axes are logarithmic, because sizes and figures grow by factors.
#![allow(clippy::arithmetic_side_effects, reason = "numbers of a drawing, all of them f64 or a few items")]

use std::fmt::Write;

/// One diagram.
pub struct Panel {
    pub title: &'static str,
    /// Name and a value for each size. Values that are not positive are left out.
    pub lines: Vec<(String, Vec<f64>)>,
}

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 60.0;
const TOP: f64 = 40.0;
/// Room for the names of the lines.
const NAMES: f64 = 170.0;
const COLOURS: [&str; 5] = ["#1b6ca8", "#c0392b", "#27865a", "#8e44ad", "#b9770e"];

pub fn svg(sizes: &[String], panels: &[Panel]) -> String {
    let panel_width = LEFT + WIDTH + NAMES;
    let (width, height) = (panel_width * panels.len() as f64, TOP + HEIGHT + 50.0);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (number, panel) in panels.iter().enumerate() {
        let _ = writeln!(text, "<g transform=\"translate({} 0)\">", panel_width * number as f64 + LEFT);
        draw(&mut text, sizes, panel);
        text += "</g>\n";
    }
    text + "</svg>\n"
}

fn draw(text: &mut String, sizes: &[String], panel: &Panel) {
    let values = || panel.lines.iter().flat_map(|(_, values)| values).copied().filter(|value| *value > 0.0);
    // Whole powers of ten, at least one apart.
    let low = values().fold(f64::INFINITY, f64::min).min(1e9).log10().floor();
    let high = values().fold(0.0, f64::max).max(1e-9).log10().ceil().max(low + 1.0);
    let x = |index: usize| WIDTH * index as f64 / (sizes.len().max(2) - 1) as f64;
    let y = |value: f64| TOP + HEIGHT * (high - value.log10()) / (high - low);
    let _ = writeln!(text, "<text x=\"0\" y=\"20\" font-weight=\"bold\">{}</text>", panel.title);
    for power in low as i32..=high as i32 {
        let (value, at) = (10f64.powi(power), y(10f64.powi(power)));
        let _ = writeln!(text, "<path d=\"M0 {at:.1}H{WIDTH}\" stroke=\"#ccc\"/>");
        let _ = writeln!(text, "<text x=\"-6\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>", at + 4.0);
    }
    for (index, size) in sizes.iter().enumerate() {
        let (at, below) = (x(index), TOP + HEIGHT + 20.0);
        let _ = writeln!(text, "<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{size}</text>");
    }
    let mut last_label = f64::NEG_INFINITY;
    let mut lines: Vec<_> = panel.lines.iter().zip(COLOURS.iter().cycle()).collect();
    let end = |values: &[f64]| values.iter().rfind(|value| **value > 0.0).copied().unwrap_or(1.0);
    lines.sort_by(|((_, a), _), ((_, b), _)| end(b).total_cmp(&end(a)));
    for ((name, values), colour) in lines {
        let points = values.iter().enumerate().filter(|(_, value)| **value > 0.0);
        let points: Vec<String> = points.map(|(index, value)| format!("{:.1},{:.1}", x(index), y(*value))).collect();
        let points = points.join(" ");
        let _ = writeln!(text, "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>");
        // Names never cover each other.
        last_label = (y(end(values)) + 4.0).max(last_label + 14.0);
        let at = WIDTH + 8.0;
        let _ = writeln!(text, "<text x=\"{at}\" y=\"{last_label:.1}\" fill=\"{colour}\">{name}</text>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_a_point_for_each_measured_size() {
        let lines = vec![("fast".to_owned(), vec![10.0, 100.0, 1_000.0]), ("slow".to_owned(), vec![10.0, 0.0, 20.0])];
        let sizes = ["1", "10", "100"].map(str::to_owned);
        let drawn = svg(&sizes, &[Panel { title: "t", lines }]);
        let points: Vec<usize> = drawn
            .lines()
            .filter_map(|line| line.strip_prefix("<polyline points=\"")?.split_once('"'))
            .map(|(points, _)| points.split(' ').count())
            .collect();
        assert_eq!(points, [3, 2]);
        assert!(drawn.contains(">fast</text>") && drawn.contains(">1000</text>"), "{drawn}");
    }
}
