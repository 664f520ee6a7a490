//! Logarithmic axes: where a value stands, and which values get a label.

use crate::units;

/// Most labels of an axis.
const TICKS: usize = 8;

/// An axis from one value to another, over some pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    least: f64,
    most: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// For values above 0; a single value stands in the middle.
    pub(super) fn new(values: impl Iterator<Item = f64>, (from, to): (f64, f64)) -> Self {
        let (mut least, mut most) = (f64::INFINITY, 0.0f64);
        for value in values {
            least = least.min(value);
            most = most.max(value);
        }
        if least > most {
            (least, most) = (1.0, 1.0);
        }
        if least == most {
            (least, most) = (least / 2.0, most * 2.0);
        }
        Self { least, most, from, to }
    }

    /// The same, from and to numbers that begin with 1, 2 or 5.
    pub(super) fn rounded(self) -> Self {
        let below = |value: f64| {
            let decade = 10f64.powf(value.log10().floor());
            [5.0, 2.0].into_iter().find(|step| step * decade <= value).unwrap_or(1.0) * decade
        };
        let least = below(self.least);
        // The next one above is found through the mirror image.
        let most = 1.0 / below(1.0 / self.most);
        Self { least, most, ..self }
    }

    pub(super) fn at(self, value: f64) -> f64 {
        let part = (value / self.least).ln() / (self.most / self.least).ln();
        self.from + part * (self.to - self.from)
    }

    /// Values with a label: 1, 10, 100 ..., with some between them, or without some of them, so
    /// that there are neither few nor many.
    pub(super) fn ticks(self) -> Vec<f64> {
        let decades = (self.most / self.least).log10();
        let first = self.least.log10().floor() as i32;
        let last = self.most.log10().ceil() as i32;
        let ticks = |steps: &[f64], stride: usize| -> Vec<f64> {
            (first..=last)
                .step_by(stride)
                .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
                .filter(|value| (self.least * 0.999..=self.most * 1.001).contains(value))
                .collect()
        };
        let finer = [&[1.0, 2.0, 5.0][..], &[1.0, 3.0][..]];
        let fine = finer.into_iter().map(|steps| ticks(steps, 1)).find(|all| all.len() <= TICKS);
        fine.unwrap_or_else(|| ticks(&[1.0], (decades / TICKS as f64).ceil() as usize))
    }

    /// Powers of two with a label, as amounts of data are written.
    pub(super) fn binary_ticks(self) -> Vec<(f64, String)> {
        let (first, last) = (self.least.log2().ceil() as u32, self.most.log2().floor() as u32);
        let stride = (last.saturating_sub(first) / TICKS as u32 + 1) as usize;
        let tick = |power: u32| {
            let value = 1u64 << power.min(62);
            (value as f64, units::written(value))
        };
        (first..=last).step_by(stride).map(tick).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_their_values() {
        let scale = Scale::new([3.0, 70.0].into_iter(), (0.0, 100.0)).rounded();
        assert!((scale.at(2.0)).abs() < 1e-9 && (scale.at(100.0) - 100.0).abs() < 1e-9);
        let ticks = scale.ticks();
        assert_eq!(ticks.len(), 6);
        for (found, expected) in ticks.iter().zip([2.0, 5.0, 10.0, 20.0, 50.0, 100.0]) {
            assert!((found / expected - 1.0).abs() < 1e-9);
        }
        let wide = Scale::new([0.5, 2e5].into_iter(), (0.0, 1.0)).rounded();
        assert_eq!(wide.ticks().len(), 6);
        let huge = Scale::new([1e-9, 1e30].into_iter(), (0.0, 1.0)).rounded();
        assert!((4..=TICKS + 1).contains(&huge.ticks().len()));
    }

    #[test]
    fn a_single_value_has_room() {
        let scale = Scale::new([8.0].into_iter(), (0.0, 10.0));
        assert!((scale.at(8.0) - 5.0).abs() < 1e-9);
        let labels: Vec<String> = scale.binary_ticks().into_iter().map(|tick| tick.1).collect();
        assert_eq!(labels, ["4", "8", "16"]);
        let none = Scale::new(std::iter::empty(), (0.0, 10.0)).rounded();
        assert!(none.ticks().iter().all(|tick| none.at(*tick).is_finite()));
    }

    #[test]
    fn labels_of_amounts_stay_few() {
        let scale = Scale::new([8.0, 1e12].into_iter(), (0.0, 10.0));
        assert!(scale.binary_ticks().len() <= 8);
        assert_eq!(scale.binary_ticks()[0].1, "8");
    }
}
