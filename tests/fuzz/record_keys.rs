//! Records of a file as keys and values of memcached, by the whole program: no byte of a record ends a command or begins one.

use std::{
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use super::{Dice, cases};
use crate::support::program::run;

/// Records of a file.
const RECORDS: usize = 300;
/// What an id may be, or hold.
const IDS: [&str; 16] = [
    "c,flush_all",
    "a b",
    "x\r\nflush_all",
    "x\r\nflush_all\r\n",
    "\n",
    "\r",
    "\u{0}",
    "",
    " ",
    "x noreply",
    "\t",
    "\u{7f}",
    "x 0 0 1\r\ny\r\nflush_all",
    "é\u{202e}",
    "__field:id__",
    "{key}",
];

fn id(dice: &mut Dice) -> String {
    match dice.below(6) {
        0 => dice.pick(&IDS).to_owned(),
        1 => format!("{}{}", "k".repeat(dice.below(10)), dice.pick(&IDS)),
        2 => "k".repeat(200 + dice.below(120)),
        3 => String::from_utf8_lossy(&dice.bytes(30)).into_owned(),
        _ => format!("good{}", dice.below(1000)),
    }
}

/// A memcached that takes everything, and the commands that no run of these sends.
#[derive(Clone, Default)]
struct Witness(Arc<Mutex<(u64, Vec<String>)>>);

impl Witness {
    fn start(&self) -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let witness = self.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let witness = witness.clone();
                thread::spawn(move || drop(witness.serve(stream)));
            }
        });
        port
    }

    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        loop {
            let mut line = Vec::new();
            if reader.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            let answer = self.answer(&line, &mut reader)?;
            stream.write_all(answer.as_bytes())?;
        }
    }

    fn answer(&self, line: &[u8], reader: &mut impl Read) -> std::io::Result<String> {
        let text = String::from_utf8_lossy(line);
        let words: Vec<_> = text.strip_suffix("\r\n").unwrap_or("no line").split(' ').collect();
        let is_ours = |key: &str| key.starts_with("redyno");
        let answer = match &words[..] {
            ["version"] => "VERSION 1.6.18\r\n",
            ["mn"] => "MN\r\n",
            ["stats", ..] => "STAT pid 1\r\nSTAT curr_items 0\r\nEND\r\n",
            ["get" | "gets", _] => "END\r\n",
            ["mg", ..] => "EN\r\n",
            ["delete", ..] => "NOT_FOUND\r\n",
            ["md", ..] => "NF\r\n",
            ["quit"] => "",
            [verb @ ("set" | "add" | "cas" | "replace" | "append" | "touch" | "ms"), key, ..]
                if is_ours(key) || (*verb == "set" && key.starts_with("doc:")) =>
            {
                let at = if *verb == "ms" { 2 } else { 4 };
                return self.store(key, words.get(at), reader, *verb == "ms");
            }
            _ => {
                self.0.lock().unwrap().1.push(text.clone().into_owned());
                "ERROR\r\n"
            }
        };
        Ok(answer.to_owned())
    }

    /// Takes the value of a command that stores one.
    fn store(
        &self,
        key: &str,
        length: Option<&&str>,
        reader: &mut impl Read,
        is_meta: bool,
    ) -> std::io::Result<String> {
        let length = length.and_then(|length| length.parse::<usize>().ok());
        let is_key = key.len() <= 250 && !key.bytes().any(|byte| byte <= b' ' || byte == 0x7f);
        let Some(length) = length.filter(|length| *length < 1 << 20) else {
            self.0.lock().unwrap().1.push(format!("{key}: no length"));
            return Ok("ERROR\r\n".to_owned());
        };
        let mut value = vec![0; length + 2];
        reader.read_exact(&mut value)?;
        let mut seen = self.0.lock().unwrap();
        if !is_key || !value.ends_with(b"\r\n") {
            seen.1.push(format!("{key}: {}", value.escape_ascii()));
        }
        seen.0 += u64::from(key.starts_with("doc:"));
        Ok(if is_meta { "HD\r\n" } else { "STORED\r\n" }.to_owned())
    }
}

#[test]
fn no_byte_of_a_record_ends_a_command_of_memcached_or_begins_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("docs.jsonl");
    let mut cases = cases("records as keys of memcached", 5000);
    let mut good = 0;
    while let Some(case) = cases.next() {
        let dice = &mut Dice::new(case);
        let mut text = String::new();
        for n in 0..RECORDS {
            let id = if n == 0 { "good".to_owned() } else { id(dice) };
            let title = if dice.once_in(3) { dice.pick(&IDS).to_owned() } else { "title".to_owned() };
            writeln!(text, "{}", serde_json::json!({ "id": id, "title": title })).unwrap();
        }
        fs::write(&file, text).unwrap();
        cases.held(RECORDS as u64);
        let witness = Witness::default();
        let uri = format!("memcached://127.0.0.1:{}", witness.start());
        let dataset =
            ["--headless", "--yes", "-c", "3", "--timeout", "3", "--dataset", file.to_str().unwrap()];
        let command = ["--", "set", "doc:__field:id__", "__field:title__"];
        let outcome = run(&[&["-u", &uri], &dataset[..], &command].concat());
        let (stored, strange) = &*witness.0.lock().unwrap();
        assert!(strange.is_empty(), "case {case}: {strange:#?}\n{outcome:?}");
        good += stored;
    }
    // Else nothing was sent at all.
    assert!(good > 0);
}
