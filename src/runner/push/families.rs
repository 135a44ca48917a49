//! The metrics for `--push`, parsed from the OpenMetrics text that `--metrics` serves. Scrapers and the receivers of
//! `--push` therefore get the same metrics.

use std::collections::BTreeMap;

/// A metric with its samples.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Family<'a> {
    pub(super) name: &'a str,
    /// `counter`, `gauge`, `histogram` or `info`.
    pub(super) kind: &'a str,
    pub(super) help: &'a str,
    pub(super) unit: &'a str,
    pub(super) samples: Vec<MetricSample<'a>>,
}

/// A sample is a line of the text: a name, labels and a value.
#[derive(Debug, PartialEq)]
pub(super) struct MetricSample<'a> {
    pub(super) name: &'a str,
    pub(super) labels: Labels,
    pub(super) value: f64,
}

/// The labels of a sample: names and values, in the order of the names.
pub(super) type Labels = BTreeMap<String, String>;

/// Parses OpenMetrics text that redyno has written. Lines of another form are left out.
pub(super) fn families(text: &str) -> Vec<Family<'_>> {
    let mut families: Vec<Family> = Vec::new();
    for line in text.lines() {
        let mut words = line.splitn(4, ' ');
        if let ("#", Some(what), Some(name)) = (words.next().unwrap_or_default(), words.next(), words.next())
        {
            if families.last().is_none_or(|family| family.name != name) {
                families.push(Family { name, ..Family::default() });
            }
            let Some(family) = families.last_mut() else { continue };
            let rest = words.next().unwrap_or_default();
            match what {
                "HELP" => family.help = rest,
                "TYPE" => family.kind = rest,
                "UNIT" => family.unit = rest,
                _ => {}
            }
        } else if let Some((family, sample)) = families.last_mut().zip(sample(line)) {
            family.samples.push(sample);
        }
    }
    families
}

fn sample(line: &str) -> Option<MetricSample<'_>> {
    let end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at(end);
    let (labels, value) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Labels::new(), rest),
    };
    Some(MetricSample { name, labels, value: value.trim().parse().ok()? })
}

/// Parses labels up to the closing brace, and returns the labels with the rest of the line.
fn labels(text: &str) -> Option<(Labels, &str)> {
    let (mut labels, mut rest) = (Labels::new(), text);
    while !rest.starts_with('}') {
        let (name, quoted) = rest.split_once("=\"")?;
        let (mut value, mut chars) = (String::new(), quoted.char_indices());
        let end = loop {
            match chars.next()? {
                (at, '"') => break at,
                (_, '\\') => value.push(match chars.next()?.1 {
                    'n' => '\n',
                    other => other,
                }),
                (_, other) => value.push(other),
            }
        };
        labels.insert(name.to_owned(), value);
        rest = quoted[end + 1..].trim_start_matches(',');
    }
    Some((labels, &rest[1..]))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) const TEXT: &str = "# HELP redyno_ops Good replies, by operation.\n# TYPE redyno_ops counter\n\
        redyno_ops_total{operation=\"a\\\"}, \\n\"} 7\n\
        # HELP redyno_service_seconds From write to reply.\n# TYPE redyno_service_seconds histogram\n\
        # UNIT redyno_service_seconds seconds\n\
        redyno_service_seconds_sum{operation=\"GET\"} 0.5\nredyno_service_seconds_count{operation=\"GET\"} 5\n\
        redyno_service_seconds_bucket{le=\"0.001\",operation=\"GET\"} 3\n\
        redyno_service_seconds_bucket{le=\"0.01\",operation=\"GET\"} 3\n\
        redyno_service_seconds_bucket{le=\"+Inf\",operation=\"GET\"} 5\n\
        # HELP redyno_session What is measured.\n# TYPE redyno_session info\n\
        redyno_session_info{address=\"h:1\",tool=\"redyno 0.1.0\"} 1\n\
        # HELP redyno_server_hits_ratio Hits.\n# TYPE redyno_server_hits_ratio gauge\n# UNIT redyno_server_hits_ratio ratio\n\
        redyno_server_hits_ratio 0.25\n# EOF\n";

    #[test]
    fn the_text_is_read_with_every_sample() {
        let families = families(TEXT);
        let of = |family: &Family| (family.name.to_owned(), family.kind.to_owned(), family.samples.len());
        let expected = [
            ("redyno_ops", "counter", 1),
            ("redyno_service_seconds", "histogram", 5),
            ("redyno_session", "info", 1),
            ("redyno_server_hits_ratio", "gauge", 1),
        ];
        let expected = expected.map(|(name, kind, n)| (name.to_owned(), kind.to_owned(), n));
        assert_eq!(families.iter().map(of).collect::<Vec<_>>(), expected);
        assert_eq!(families[0].samples[0].labels["operation"], "a\"}, \n");
        assert_eq!((families[1].unit, families[1].samples[4].value), ("seconds", 5.0));
        assert_eq!(families[1].samples[4].labels["le"], "+Inf");
    }
}
