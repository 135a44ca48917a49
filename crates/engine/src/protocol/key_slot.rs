//! The slot of a key. A cluster divides all keys among 16 384 slots, and divides the slots among its nodes.

/// The number of slots of a cluster.
pub const SLOTS: u16 = 16_384;

/// The table of the hash function. This variant of the table reads 16 bytes at a time.
static CRC: crc::Crc<u16, crc::Table<16>> = crc::Crc::<u16, crc::Table<16>>::new(&crc::CRC_16_XMODEM);

/// Returns the slot of a key. If the key has a hash tag (the text between the first `{` and the next `}`), only the tag
/// is hashed. The hash is CRC16-XMODEM, as in the cluster specification of Redis.
pub fn key_slot(key: &[u8]) -> u16 {
    let tag = || {
        let rest = &key[memchr::memchr(b'{', key)? + 1..];
        let end = memchr::memchr(b'}', rest)?;
        (end > 0).then(|| &rest[..end])
    };
    CRC.checksum(tag().unwrap_or(key)) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_follows_the_cluster_specification() {
        // A real server gave these values in replies to CLUSTER KEYSLOT.
        for (key, expected) in
            [("123456789", 12_739), ("foo", 12_182), ("a{foo}b", 12_182), ("{}foo", 9_500), ("{foo", 13_308)]
        {
            assert_eq!(key_slot(key.as_bytes()), expected, "{key}");
        }
    }
}
