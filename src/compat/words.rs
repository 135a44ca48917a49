//! Bytes as a word of a step.

/// What means nothing but itself in a step, between double quotes, where these bytes do not either.
pub fn escaped(bytes: &[u8], plain: &[u8]) -> String {
    let is_plain = |byte: &u8| {
        byte.is_ascii_alphanumeric() || b" ;<=>?@[].,/+-*()'!#$%&".contains(byte) || plain.contains(byte)
    };
    let one =
        |byte: &u8| if is_plain(byte) { char::from(*byte).to_string() } else { format!("\\x{byte:02x}") };
    bytes.iter().map(one).collect()
}
