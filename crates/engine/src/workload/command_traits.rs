//! The table of Redis commands, `commands.txt`: where the keys of each command are, and its other properties.

use std::{collections::HashMap, sync::LazyLock};

/// Declares the traits of a command. A word in the table sets the field with the same name.
macro_rules! traits {
    ($($(#[$doc:meta])* $name:ident)*) => {
        /// The known properties of a command. A command that is not in the table has no traits.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct CommandTraits {
            /// The places of the keys in the command, in the words of the table. `1` means word 1, and `none` means no
            /// keys.
            pub keys: &'static str,
            /// The places of the values in the command, in the words of the table.
            pub values: &'static str,
            $($(#[$doc])* pub $name: bool,)*
        }

        impl CommandTraits {
            const UNKNOWN: Self = Self { keys: "1", values: "needed", $($name: false,)* };

            /// Reads the words of a row after its name.
            fn read(mut row: impl Iterator<Item = &'static str>) -> Self {
                let mut traits = Self { keys: row.next().unwrap_or("1"), ..Self::UNKNOWN };
                row.for_each(|word| match word {
                    $(stringify!($name) => traits.$name = true,)*
                    word if word.starts_with("values:") => traits.values = &word["values:".len()..],
                    unknown => unreachable!("'{unknown}' is no trait of a command"),
                });
                traits
            }
        }
    };
}

traits! {
    /// The command changes no data. A command without this trait is assumed to write.
    reads
    /// The command replies with null or an empty list only if the key or the element does not exist.
    finds
    /// The command reads a range of a value, and replies with an empty list if the key does not exist.
    finds_range
    /// The command can read keys which SET has created.
    strings
    /// The command changes or removes existing keys, but never creates a key.
    keeps
    /// The command may write all its keys. A command without this trait writes at most the key in word 1.
    writes_all
    /// memcached's reply to the command shows whether the key was found. The replies EN, NF, NOT_FOUND, and END without
    /// a value mean that the key is missing.
    memcached
    /// The command works on vector sets, which are a module of Redis 8. Other module commands have a dot in their
    /// names, but these commands have no dot.
    vectors
    /// The command depends on keys that its arguments do not name.
    unnamed
    /// The second word of the command is a subcommand. The server counts each subcommand separately.
    group
    /// The command changes the connection itself, such as its database, its user, its name, or the number of replies to
    /// a request. After such a command, redyno would leave keys behind, or assign replies to the wrong requests.
    connection
    /// redyno sends the command when it replays a trace. The command changes only its own keys and does not block.
    sent
    /// In a sample of MONITOR's output, redyno shows no argument of this command as a key. Some of these
    /// commands have a password as an argument.
    no_sample
}

/// The rows of the table by name. A row such as `CLIENT|*` is for a group of subcommands, and is stored as
/// `CLIENT|` without the `*`.
static TABLE: LazyLock<HashMap<&str, CommandTraits>> = LazyLock::new(|| {
    let rows = include_str!("commands.txt").lines().filter(|row| !row.starts_with('#'));
    let row = |row: &'static str| {
        let mut words = row.split_whitespace();
        Some((words.next()?.trim_end_matches('*'), CommandTraits::read(words)))
    };
    rows.filter_map(row).collect()
});

/// Returns the properties of a command. The name is in upper case, as in the server's statistics: `GET`,
/// `OBJECT|ENCODING`.
pub fn command_traits(command: &str) -> CommandTraits {
    let of_group = || TABLE.get(&command[..=command.find(['|', '.'])?]);
    *TABLE.get(command).or_else(of_group).unwrap_or(&CommandTraits::UNKNOWN)
}

/// Commands in the table that write or only read, depending on a script or on an option. Without the option STORE or
/// STOREDIST, the last three only read.
const DECLARED: [&str; 6] = ["EVAL", "EVALSHA", "FCALL", "GEORADIUS", "GEORADIUSBYMEMBER", "SORT"];

/// Returns whether the table does not contain whether the command writes. Then the flag `writes` of an operation may
/// declare that the command only reads.
pub(super) fn can_be_declared(command: &str) -> bool {
    !TABLE.contains_key(command) || DECLARED.contains(&command)
}

/// Returns the names of all commands in the table, with `*` for groups, in alphabetic order.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.keys().copied().collect::<std::collections::BTreeSet<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_one_row() {
        let rows =
            include_str!("commands.txt").lines().filter(|row| !row.starts_with('#') && !row.is_empty());
        assert_eq!(rows.count(), TABLE.len());
    }

    #[test]
    fn commands_that_the_server_flags_as_readonly_only_read() {
        let names = "BF.CARD BF.EXISTS BF.INFO BF.MEXISTS HEXPIRETIME HPEXPIRETIME JSON.ARRINDEX JSON.ARRLEN JSON.OBJKEYS \
                     JSON.OBJLEN JSON.STRLEN JSON.TYPE LOLWUT TS.GET TS.INFO TS.RANGE TS.REVRANGE ZREVRANGEBYLEX \
                     ZREVRANGEBYSCORE ZSCAN";
        let others: Vec<_> = names.split(' ').filter(|name| !command_traits(name).reads).collect();
        assert_eq!(others, [""; 0]);
    }

    #[test]
    fn a_subcommand_without_a_row_has_the_traits_of_its_group() {
        let keys = |command| command_traits(command).keys;
        assert_eq!(
            [keys("OBJECT|HELP"), keys("OBJECT"), keys("FT.NEW"), keys("NEW")],
            ["2", "1", "none", "1"]
        );
        assert_eq!((command_traits("SCRIPT|NEW").sent, command_traits("NEW").reads), (false, false));
    }
}
