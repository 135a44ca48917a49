//! Commands as redis-cli sends them, without its process: a test sends hundreds of them.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    path::Path,
};

/// What `redis-cli -s SOCKET` prints for these words, without the last line feed.
pub fn at_socket(socket: &Path, words: &[&str]) -> String {
    UnixStream::connect(socket).ok().and_then(|stream| printed(stream, words)).unwrap_or_default()
}

/// What `redis-cli -p PORT` prints for these words, without the last line feed.
/// As there, `-c` follows the node of a cluster to the one that has the key.
pub fn at_port(port: u16, words: &[&str]) -> String {
    let at = |port: u16, words: &[&str]| {
        TcpStream::connect(("127.0.0.1", port))
            .ok()
            .and_then(|stream| printed(stream, words))
            .unwrap_or_default()
    };
    let ["-c", words @ ..] = words else { return at(port, words) };
    let reply = at(port, words);
    let moved = reply.strip_prefix("MOVED ").and_then(|rest| rest.rsplit(':').next()?.parse().ok());
    moved.map_or(reply, |port| at(port, words))
}

/// As a pipe gets it: an error is its text, a list its parts in a line each, and nil an empty line. `None` if the
/// connection ends: redis-cli prints nothing then but on stderr.
fn printed(stream: impl Read + Write, words: &[&str]) -> Option<String> {
    let mut stream = BufReader::new(stream);
    let mut ask = |words: &[&str]| {
        send(stream.get_mut(), words)?;
        reply(&mut stream)
    };
    let mut words = words;
    while let [option, value, rest @ ..] = words
        && option.starts_with('-')
    {
        let command = match *option {
            "-a" => "AUTH",
            "-n" => "SELECT",
            _ => panic!("redis-cli's option {option} is not one that tests have"),
        };
        ask(&[command, value])?;
        words = rest;
    }
    ask(words).map(|text| text.trim_end().to_owned())
}

fn send(stream: &mut impl Write, words: &[&str]) -> Option<()> {
    let texts: String = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
    stream.write_all(format!("*{}\r\n{texts}", words.len()).as_bytes()).ok()
}

fn reply(stream: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    stream.read_until(b'\n', &mut line).ok().filter(|length| *length > 0)?;
    let line = String::from_utf8_lossy(&line).trim_end().to_owned();
    let (kind, rest) = line.split_at(1);
    let length = || rest.parse::<usize>().ok();
    Some(match (kind, rest) {
        ("$" | "*", "-1") => String::new(),
        ("$", _) => {
            let mut text = vec![0; length()? + 2];
            stream.read_exact(&mut text).ok()?;
            text.truncate(text.len() - 2);
            String::from_utf8_lossy(&text).into_owned()
        }
        ("*", _) => (0..length()?).map(|_| reply(stream)).collect::<Option<Vec<_>>>()?.join("\n"),
        _ => rest.to_owned(),
    })
}
