//! The readers of MONITOR's text: `--trace`, and `--monitor-input` of memtier. Whatever stands in the file, what is sent is
//! whole commands that do no harm, each with its keys below the prefix, and an error is one line.

use std::fs;

use redyno::{
    protocol::Dialect,
    workload::{
        Draws, KeyNames, MonitorCommands, OutgoingRequests, Program, TraceOrder, Values, Workload,
        command_of, moved_keys, quoted,
    },
};

use super::{Dice, cases, heap};

/// Names of commands, the last ones those that are never sent.
const NAMES: &str = "GET|set|MSET|Del|LPUSH|HSET|ZADD|XADD|EVAL|SINTERSTORE|FLUSHALL|flushdb|CONFIG|SHUTDOWN|DEBUG|\
    KEYS|MULTI|EXEC|AUTH|HELLO|SELECT|SCRIPT|FUNCTION|REPLICAOF|SLAVEOF|ACL|CLUSTER|MONITOR|SUBSCRIBE|CLIENT|BLPOP|SYNC";
const HARMFUL: usize = 10;

/// Words that mean something to a command or to the reader.
const WORDS: &str = "k|*|0|1|-1|99999999999999999999|STREAMS|BLOCK|GET|SET|resetstat|(64 bytes)|(99999999999 bytes)|{a}|k:1|\r\n|";

fn word(dice: &mut Dice) -> Vec<u8> {
    let words: Vec<_> = WORDS.split('|').collect();
    if dice.once_in(4) { dice.bytes(20) } else { dice.pick(&words).as_bytes().to_vec() }
}

/// A file of MONITOR's text, mostly damaged, and the commands that it had before.
fn file(dice: &mut Dice) -> (Vec<u8>, Vec<Vec<Vec<u8>>>) {
    let names: Vec<_> = NAMES.split('|').collect();
    let (mut text, mut commands, mut at_us) = (Vec::new(), Vec::new(), 1_700_000_000_000_000_u64);
    if dice.once_in(4) {
        text.extend_from_slice(
            dice.pick(&["OK\n", "# lengths\n", "\n", "# redyno: lengths in place of values\n"]).as_bytes(),
        );
    }
    for _ in 0..dice.below(8) {
        at_us += dice.pick(&[0, 1, 1_000, 60_000_000, u64::from(u32::MAX) * 1_000]);
        let head =
            format!("{}.{:06} [{} 127.0.0.1:5000] ", at_us / 1_000_000, at_us % 1_000_000, dice.below(16));
        text.extend_from_slice(head.as_bytes());
        let mut command = vec![dice.pick(&names).as_bytes().to_vec()];
        (0..dice.below(6)).for_each(|_| command.push(word(dice)));
        for (place, word) in command.iter().enumerate() {
            text.extend_from_slice(if place > 0 { b" " } else { b"" });
            quoted(word, &mut text);
        }
        text.extend_from_slice(dice.pick(&["\n", "\r\n"]).as_bytes());
        commands.push(command);
    }
    (text, commands)
}

/// The words of all commands in these bytes, which are nothing else.
fn commands_in(mut bytes: &[u8]) -> Vec<Vec<Vec<u8>>> {
    fn number(bytes: &mut &[u8], kind: u8) -> usize {
        assert_eq!(bytes.first(), Some(&kind));
        let end = bytes.windows(2).position(|pair| pair == b"\r\n").expect("the end of a line");
        let digits = std::str::from_utf8(&bytes[1..end]).unwrap().parse().unwrap();
        *bytes = &bytes[end + 2..];
        digits
    }
    let mut commands = Vec::new();
    while !bytes.is_empty() {
        let words = number(&mut bytes, b'*');
        let mut word = || {
            let length = number(&mut bytes, b'$');
            let (word, rest) = bytes.split_at(length);
            bytes = rest.strip_prefix(b"\r\n").expect("the end of a word");
            word.to_vec()
        };
        commands.push((0..words).map(|_| word()).collect());
    }
    commands
}

/// Returns the commands of one pass, as they are sent below the prefix `p:`.
fn sent(workload: &Workload) -> Vec<Vec<Vec<u8>>> {
    let values = Values::new(workload, 1, 1);
    let program = Program::new(workload, Dialect::Resp2, 1, values, &KeyNames::given("p:"));
    let (mut draws, mut out) = (Draws::new(1), OutgoingRequests::default());
    let count = workload.trace.as_ref().expect("a trace").count();
    (0..count).for_each(|_| _ = program.append(&mut draws, &mut out));
    commands_in(&out.wire(program.values()))
}

#[test]
fn a_trace_sends_whole_harmless_commands_below_its_prefix_or_is_refused_in_a_line() {
    let harmful: Vec<_> = NAMES.split('|').skip(HARMFUL).map(str::to_ascii_uppercase).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let (mut passed, mut refused) = (0, 0);
    for case in cases("traces", 8) {
        let dice = &mut Dice::new(case);
        let (mut text, whole) = file(dice);
        let is_damaged = dice.once_in(2);
        if is_damaged {
            dice.damage(&mut text);
        }
        fs::write(&path, &text).unwrap();
        let order = dice.pick(&[TraceOrder::OfFile, TraceOrder::Random]);
        let (read, most) = heap::measured(|| Workload::of_trace(&path, 1.0, order));
        assert!(most < 2 << 20, "case {case}: {most} bytes for {}", text.len());
        match read {
            Ok(workload) => {
                for words in sent(&workload) {
                    passed += 1;
                    let name = String::from_utf8_lossy(&words[0]).to_ascii_uppercase();
                    assert!(!harmful.contains(&name), "case {case}: {name} is sent");
                    let keys = moved_keys(&words).unwrap_or_else(|| panic!("case {case}: {words:?}"));
                    let is_moved = |key: &usize| words[*key].starts_with(b"p:");
                    assert!(keys.iter().all(is_moved), "case {case}: {words:?}");
                }
            }
            Err(error) => {
                refused += 1;
                let line = error.to_string();
                assert!(line.len() < 2000 && !line.contains(char::is_control), "case {case}: {line:?}");
            }
        }
        let MonitorCommands { commands, lines } = MonitorCommands::read(&path).unwrap();
        assert!(commands.len() as u64 <= lines, "case {case}");
        commands.iter().flatten().for_each(|words| drop((command_of(words), moved_keys(words))));
        if !is_damaged {
            let read: Vec<_> = commands.into_iter().map(|words| words.expect("a command")).collect();
            assert_eq!(read, whole, "case {case}");
        }
    }
    assert!(passed > 100 && refused > 100, "{passed} commands, {refused} files refused");
}
