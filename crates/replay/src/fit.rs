/// The exponent α of Zipf's law that explains counts by rank best, by maximum likelihood: the α at which the mean of
/// ln rank over the law is that over the requests. `counts` in descending order.
///
/// Bounds: α from 0 to 4; `None` for fewer than two keys, or if all requests have one. Cost: 40 powers for each key.
pub(crate) fn zipf(counts: &[u64]) -> Option<f64> {
    let requests: u64 = counts.iter().sum();
    if counts.len() < 2 || counts.get(1) == Some(&0) {
        return None;
    }
    let logs: Vec<f64> = (1..=counts.len()).map(|rank| (rank as f64).ln()).collect();
    let found =
        counts.iter().zip(&logs).map(|(count, log)| *count as f64 * log).sum::<f64>() / requests as f64;
    let of_law = |alpha: f64| {
        let (mut weights, mut weighted) = (0.0, 0.0);
        for log in &logs {
            let weight = (-alpha * log).exp();
            weights += weight;
            weighted += weight * log;
        }
        weighted / weights
    };
    let (mut low, mut high) = (0.0, 4.0);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if of_law(middle) > found { low = middle } else { high = middle }
    }
    Some((low + high) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_exponent_of_its_law() {
        for alpha in [0.0, 0.6, 0.99, 1.4] {
            let counts: Vec<u64> =
                (1..=5_000).map(|rank| (1e9 * f64::from(rank).powf(-alpha)).round() as u64).collect();
            let found = zipf(&counts).unwrap();
            assert!((found - alpha).abs() < 0.001, "{alpha}: {found}");
        }
        assert_eq!((zipf(&[]), zipf(&[7]), zipf(&[7, 0])), (None, None, None));
    }
}
