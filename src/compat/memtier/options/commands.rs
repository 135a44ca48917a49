//! Commands of one's own.

use super::{Row, positive, told};
use crate::compat::{
    Refusal,
    memtier::asked::{Asked, Command, Pattern},
    value,
};

pub(super) const OPTIONS: &[Row] = &[
    value(
        &["--command"],
        (),
        (
            "COMMAND",
            "A command to send, in quotes; may be given again. __key__ is a key of the Key Options, with what stands around \
             it, and __data__ a word of the Object Options: --command=\"hset __key__ f __data__\"",
        ),
        command,
    ),
    value(
        &["--command-ratio"],
        (),
        ("NUM", "The number of times the command before it is sent in sequence (default: 1)"),
        |asked, text| {
            let name = last(asked)?;
            last_of(asked)?.ratio = positive(text, &format!("ratio for command {name}"))?;
            Ok(())
        },
    ),
    value(
        &["--command-key-pattern"],
        (),
        ("PATTERN", "Key pattern for the command before it (default: R), as of --key-pattern"),
        |asked, text| {
            let name = last(asked)?;
            match Pattern::read(text) {
                Some(pattern) => last_of(asked)?.pattern = pattern,
                None => {
                    return told(&format!(
                        "key-pattern for command {name} must be in the format of [S/R/Z/G/P]."
                    ));
                }
            }
            Ok(())
        },
    ),
];

fn last_of(asked: &mut Asked) -> Result<&mut Command, Refusal> {
    asked.commands.last_mut().map_or_else(|| told("no arbitrary command found."), Ok)
}

/// What the last command is called.
fn last(asked: &mut Asked) -> Result<String, Refusal> {
    last_of(asked).map(|command| command.name())
}

fn command(asked: &mut Asked, text: &str) -> Result<(), Refusal> {
    match Command::read(text) {
        Some(command) => asked.commands.push(command),
        None => return told("failed to parse arbitrary command."),
    }
    Ok(())
}
