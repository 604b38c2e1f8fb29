//! Samples of interleaved rounds, and what is said of them.

use std::time::Instant;

use crate::Outcome;

/// One contender's figures, one per round.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    /// No figures yet.
    pub(crate) const fn none() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn push(&mut self, figure: f64) {
        self.0.push(figure);
    }

    pub(crate) fn extend(&mut self, other: impl IntoIterator<Item = f64>) {
        self.0.extend(other);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The middle figure.
    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The largest figure.
    pub(crate) fn worst(&self) -> f64 {
        self.quantile(1.0)
    }

    /// The smallest figure that at least `share` of the figures do not exceed; 0 of no figures.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
    }

    /// Adds the milliseconds that `step` takes.
    pub(crate) async fn time(&mut self, step: impl AsyncFnOnce() -> Outcome<()>) -> Outcome<()> {
        let started = Instant::now();
        step().await?;
        self.push(started.elapsed().as_secs_f64() * 1e3);
        Ok(())
    }

    /// This over `other`, round by round: what disturbs the machine in one round disturbs both sides of its ratio.
    pub(crate) fn over(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(ours, theirs)| ours / theirs).collect())
    }

    /// All figures, for the JSON.
    pub(crate) fn figures(&self) -> &[f64] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_figures_that_were_measured() {
        let samples = Samples((1..=100).rev().map(f64::from).collect());
        assert_eq!(samples.median().to_bits(), 50f64.to_bits());
        assert_eq!(samples.quantile(0.99).to_bits(), 99f64.to_bits());
        assert_eq!(samples.worst().to_bits(), 100f64.to_bits());
        assert_eq!(Samples::default().median().to_bits(), 0f64.to_bits());
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let ratio = Samples(vec![1.0, 20.0, 3.0]).over(&Samples(vec![2.0, 40.0, 3.0]));
        assert_eq!(ratio.figures(), [0.5, 0.5, 1.0]);
    }
}
