//! Charts: time and bus bandwidth over the amount of data, in several lines.
//!
//! The picture follows the reader's choice of light or dark. Lines differ in colour and in the shape
//! of their points, so that they can be told apart without colours.

mod scale;

use std::fmt::Write as _;

use crate::units;

use scale::Scale;

/// Lines with a title.
pub(crate) struct Chart {
    title: String,
    series: Vec<Series>,
}

struct Series {
    name: String,
    points: Vec<Point>,
}

/// What was found of an amount of data.
pub(crate) struct Point {
    pub(crate) bytes: f64,
    pub(crate) time_us: f64,
    /// 10^9 bytes a second.
    pub(crate) bandwidth: f64,
}

const WIDTH: f64 = 1100.0;
const PLOT_HEIGHT: f64 = 300.0;
const PLOT_WIDTH: f64 = 440.0;
/// Left edges of the two plots.
const LEFT: [f64; 2] = [80.0, 630.0];
const TITLE_HEIGHT: f64 = 70.0;
const AXIS_HEIGHT: f64 = 50.0;
const LEGEND_LINE: f64 = 22.0;
/// Entries of a line of the legend.
const LEGEND_COLUMNS: usize = 3;
const COLOURS: usize = 8;

/// Colours of a picture: ground, text, grid, lines.
struct Theme {
    ground: &'static str,
    ink: &'static str,
    faint: &'static str,
    lines: [&'static str; COLOURS],
}

const LIGHT: Theme = Theme {
    ground: "#ffffff",
    ink: "#1f2328",
    faint: "#d0d7de",
    lines: ["#0072b2", "#d55e00", "#00805c", "#b0408a", "#9a6a00", "#2f6fde", "#6a3d9a", "#555555"],
};

const DARK: Theme = Theme {
    ground: "#0d1117",
    ink: "#e6edf3",
    faint: "#30363d",
    lines: ["#56b4e9", "#ff9b54", "#3ddc97", "#f0a6d2", "#f0c040", "#9ab8ff", "#c3a6f5", "#bbbbbb"],
};

impl Theme {
    /// Rules for the classes of the picture. Plain ones: many programs that show pictures know no
    /// variables of style sheets.
    fn rules(&self) -> String {
        let mut rules = format!(
            "text {{ fill: {} }} .ground {{ fill: {} }} .grid {{ stroke: {} }}\n",
            self.ink, self.ground, self.faint
        );
        for (index, colour) in self.lines.iter().enumerate() {
            let _ = writeln!(
                rules,
                ".line{index} {{ stroke: {colour} }} .mark{index} {{ fill: {colour} }}"
            );
        }
        rules
    }
}

fn style() -> String {
    format!(
        "text {{ font: 13px system-ui, sans-serif }} .title {{ font-size: 16px; font-weight: 600 \
         }} polyline {{ fill: none; stroke-width: 2 }}\n{}@media (prefers-color-scheme: dark) \
         {{\n{}}}\n",
        LIGHT.rules(),
        DARK.rules()
    )
}

impl Chart {
    /// A chart without lines.
    pub(crate) fn new(title: String) -> Self {
        Self { title, series: Vec::new() }
    }

    /// Adds a point to the line of a name. What takes no time, or has no data, has no place on these
    /// axes.
    pub(crate) fn add(&mut self, name: &str, point: Point) {
        let all = [point.bytes, point.time_us, point.bandwidth];
        if !all.iter().all(|value| value.is_finite() && *value > 0.0) {
            return;
        }
        match self.series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => self.series.push(Series { name: name.to_owned(), points: vec![point] }),
        }
    }

    fn height(&self) -> f64 {
        let lines = self.series.len().div_ceil(LEGEND_COLUMNS) as f64;
        TITLE_HEIGHT + PLOT_HEIGHT + AXIS_HEIGHT + lines * LEGEND_LINE + 20.0
    }

    fn draw(&self, out: &mut String, top: f64) {
        let title = escape(&self.title);
        let _ = writeln!(out, r#"<text class="title" x="20" y="{}">{title}</text>"#, top + 30.0);
        self.plot(out, top + TITLE_HEIGHT, LEFT[0], "time, us", |point| point.time_us);
        let bandwidth = "bus bandwidth, GB/s";
        self.plot(out, top + TITLE_HEIGHT, LEFT[1], bandwidth, |point| point.bandwidth);
        let legend = top + TITLE_HEIGHT + PLOT_HEIGHT + AXIS_HEIGHT + 15.0;
        for (index, series) in self.series.iter().enumerate() {
            let (line, column) = (index / LEGEND_COLUMNS, index % LEGEND_COLUMNS);
            let x = 20.0 + column as f64 * (WIDTH - 40.0) / LEGEND_COLUMNS as f64;
            let y = legend + line as f64 * LEGEND_LINE;
            stroke(out, index, &[(x, y), (x + 30.0, y)]);
            mark(out, index, (x + 15.0, y), "");
            let name = escape(&shortened(&series.name));
            let _ = writeln!(out, r#"<text x="{}" y="{}">{name}</text>"#, x + 38.0, y + 4.5);
        }
    }

    fn plot(
        &self,
        out: &mut String,
        top: f64,
        left: f64,
        label: &str,
        value: impl Fn(&Point) -> f64,
    ) {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let (right, bottom) = (left + PLOT_WIDTH, top + PLOT_HEIGHT);
        let across = Scale::new(points().map(|point| point.bytes), (left, right));
        let up = Scale::new(points().map(&value), (bottom, top)).rounded();
        let _ = writeln!(out, r#"<text x="{left}" y="{}">{label}</text>"#, top - 12.0);
        for tick in up.ticks() {
            let y = up.at(tick);
            let _ = writeln!(
                out,
                r#"<line class="grid" x1="{left}" y1="{y:.1}" x2="{right}" y2="{y:.1}"/><text x="{}" y="{:.1}" text-anchor="end">{}</text>"#,
                left - 8.0,
                y + 4.5,
                number(tick)
            );
        }
        for (tick, amount) in across.binary_ticks() {
            let x = across.at(tick);
            let _ = writeln!(
                out,
                r#"<line class="grid" x1="{x:.1}" y1="{top}" x2="{x:.1}" y2="{bottom}"/><text x="{x:.1}" y="{}" text-anchor="middle">{amount}</text>"#,
                bottom + 20.0
            );
        }
        let _ = writeln!(
            out,
            r#"<text x="{}" y="{}" text-anchor="middle">bytes</text>"#,
            (left + right) / 2.0,
            bottom + 40.0
        );
        for (index, series) in self.series.iter().enumerate() {
            let place = |point: &Point| (across.at(point.bytes), up.at(value(point)));
            let places: Vec<(f64, f64)> = series.points.iter().map(place).collect();
            stroke(out, index, &places);
            for (point, place) in series.points.iter().zip(places) {
                let hint = format!(
                    "{}, {}: {:.3} us, {:.3} GB/s",
                    series.name,
                    units::written(point.bytes as u64),
                    point.time_us,
                    point.bandwidth
                );
                mark(out, index, place, &hint);
            }
        }
    }
}

/// All charts, one below the other.
pub(crate) fn draw(charts: &[Chart]) -> String {
    let height: f64 = charts.iter().map(Chart::height).sum();
    let mut out = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">
<title>Time and bus bandwidth of collective operators</title>
<style>
{}</style>
<rect class="ground" width="100%" height="100%"/>
"#,
        style()
    );
    let mut top = 0.0;
    for chart in charts {
        chart.draw(&mut out, top);
        top += chart.height();
    }
    out.push_str("</svg>\n");
    out
}

/// The line of a series; lines of a colour that was there before are dashed.
fn stroke(out: &mut String, index: usize, places: &[(f64, f64)]) {
    let places: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let dash = match index / COLOURS {
        0 => "",
        1 => r#" stroke-dasharray="8 4""#,
        _ => r#" stroke-dasharray="2 3""#,
    };
    let _ = writeln!(
        out,
        r#"<polyline class="line{}"{dash} points="{}"/>"#,
        index % COLOURS,
        places.join(" ")
    );
}

/// A point of a series, with a text that shows when a reader points at it.
fn mark(out: &mut String, index: usize, (x, y): (f64, f64), hint: &str) {
    let shape = match index % 4 {
        0 => format!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="4""#),
        1 => format!(r#"<rect x="{:.1}" y="{:.1}" width="7" height="7""#, x - 3.5, y - 3.5),
        2 => format!(r#"<path d="M{x:.1} {:.1}l5 8.5h-10z""#, y - 5.5),
        _ => format!(r#"<path d="M{x:.1} {:.1}l5 5l-5 5l-5 -5z""#, y - 5.0),
    };
    let colour = index % COLOURS;
    let _ = match hint {
        "" => writeln!(out, r#"{shape} class="mark{colour}"/>"#),
        _ => {
            let name = shape[1..].split(' ').next().unwrap_or("circle");
            let hint = escape(hint);
            writeln!(out, r#"{shape} class="mark{colour}"><title>{hint}</title></{name}>"#)
        }
    };
}

/// A label without needless zeros.
fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // XML has no place for these.
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_plain_numbers() {
        assert_eq!(number(0.05), "0.05");
        assert_eq!(number(20.0), "20");
        assert_eq!(number(1e6), "1000000");
    }

    #[test]
    fn texts_cannot_break_the_picture() {
        assert_eq!(escape("a<b>&\"\u{7}"), "a&lt;b&gt;&amp;&quot; ");
        let series = |i: u32| Series {
            name: format!("<{i}>"),
            points: vec![Point { bytes: 8.0, time_us: f64::from(i) + 1.0, bandwidth: 0.5 }],
        };
        let chart = Chart { title: "a & b".into(), series: (0..20).map(series).collect() };
        let text = draw(&[chart]);
        assert_eq!(text.matches("<polyline").count(), 3 * 20);
        assert!(!text.contains("NaN") && !text.contains("inf") && !text.contains("<0>"));
        assert!(text.contains("a &amp; b") && text.ends_with("</svg>\n"));
    }
}
