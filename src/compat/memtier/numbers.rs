//! Numbers as memtier_benchmark writes them.

use std::str::FromStr;

/// `a:b`, so many of one and then so many of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ratio {
    pub(super) a: u32,
    pub(super) b: u32,
}

impl Ratio {
    /// Reads `1:10`; 0:0 is none.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (a, b) = pair(text, ':')?;
        (a + b > 0).then_some(Self { a, b })
    }
}

/// From the lower to the higher, in whichever order they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) min: u32,
    pub(super) max: u32,
}

impl Span {
    /// Reads `1-10`; 0-0 is none.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (a, b) = pair(text, '-')?;
        (a.max(b) > 0).then_some(Self { min: a.min(b), max: a.max(b) })
    }
}

fn pair(text: &str, between: char) -> Option<(u32, u32)> {
    let (a, b) = text.split_once(between)?;
    Some((number(a)?, number(b)?))
}

/// Reads `32:9,4096:1`: sizes, each with its weight.
pub(super) fn weights(text: &str) -> Option<Vec<(u32, u32)>> {
    text.split(',').map(|one| pair(one, ':')).collect()
}

/// Reads `50,99,99.9`: percentiles.
pub(super) fn percentiles(text: &str) -> Option<Vec<f64>> {
    let percentile = |text: &str| text.parse().ok().filter(|percentile| (0.0..=100.0).contains(percentile));
    text.split(',').map(percentile).collect()
}

/// A whole number and nothing else.
pub(super) fn number<N: FromStr>(text: &str) -> Option<N> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_spans_and_lists_are_read_whole_or_not_at_all() {
        assert_eq!(Ratio::read("1:10"), Some(Ratio { a: 1, b: 10 }));
        assert_eq!(Span::read("9-3"), Some(Span { min: 3, max: 9 }));
        assert_eq!(weights("32:9,4096:1"), Some(vec![(32, 9), (4096, 1)]));
        assert_eq!(percentiles("50,99.9"), Some(vec![50.0, 99.9]));
        for bad in ["", "1", "1:", ":1", "1:x", "0:0", "1:-1", "1:5000000000"] {
            assert_eq!(Ratio::read(bad), None, "{bad}");
        }
        assert_eq!((Span::read("0-0"), Span::read("-5")), (None, None));
        assert_eq!(
            (weights("32"), weights("32:1,"), percentiles("50,x"), percentiles("101")),
            (None, None, None, None)
        );
    }
}
