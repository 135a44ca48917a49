//! Bytes as a word of a workload's step.

/// Returns bytes as a text for a step, between double quotes: letters, digits, the usual signs and `plain` are
/// unchanged, all other bytes become `\x` escapes.
pub fn escaped(bytes: &[u8], plain: &[u8]) -> String {
    let is_plain = |byte: &u8| {
        byte.is_ascii_alphanumeric() || b" ;<=>?@[].,/+-*()'!#$%&".contains(byte) || plain.contains(byte)
    };
    let one =
        |byte: &u8| if is_plain(byte) { char::from(*byte).to_string() } else { format!("\\x{byte:02x}") };
    bytes.iter().map(one).collect()
}
