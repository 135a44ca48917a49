//! The built-in server: any request gets a reply or the end of its connection.

use std::{
    io::{ErrorKind, Read, Write},
    net::{Shutdown, TcpStream},
    time::Duration,
};

use redyno::demo::{self, Handle, Options};

use super::{Dice, cases};

/// Longer than any request takes; nothing is judged by it but that a reply comes at all.
const LIMIT: Duration = Duration::from_secs(30);
/// A server is put through so many rounds before another takes its place: some settings bring it to a stand.
const ROUNDS_A_SERVER: u64 = 500;
/// What marks the end of the replies to a request.
const MARK: &[u8] = b"$8\r\nthe mark\r\n";

const COMMANDS: &str = "CLIENT ID|CLIENT LIST|CLIENT SETNAME|CLIENT GETNAME|CLIENT SETINFO|CONFIG GET|CONFIG SET|\
    CONFIG RESETSTAT|PING|ECHO|SELECT|AUTH|HELLO|QUIT|EXPIRE|PEXPIRE|TTL|PTTL|PERSIST|HSET|HGET|HMGET|HDEL|HLEN|HGETALL|INFO|\
    DEL|UNLINK|EXISTS|TYPE|DBSIZE|FLUSHDB|FLUSHALL|LATENCY LATEST|LATENCY RESET|LATENCY HISTOGRAM|LPUSH|RPUSH|LPOP|RPOP|LLEN|\
    LRANGE|SCAN|SADD|SREM|SPOP|SCARD|SISMEMBER|SMEMBERS|SLOWLOG GET|SLOWLOG LEN|SLOWLOG RESET|ZADD|ZINCRBY|ZPOPMIN|ZCARD|\
    ZSCORE|ZRANGE|XADD|XLEN|GET|SET|SETEX|SETNX|MSET|MGET|STRLEN|APPEND|INCR|DECR|INCRBY|DECRBY|MULTI|EXEC|DISCARD|CLIENT|\
    CONFIG|DEBUG|LATENCY|SLOWLOG|nosuch";
const WORDS: &str = "a|b|list|set|hash|zset|stream|0|1|-1|2|10|-9223372036854775808|9223372036854775807|\
    9223372036854775808|18446744073709551615|4611686018427387904|1e308|-1e308|inf|-inf|nan|1e-320|0.1|1e19|*|?|[a-|[^|\\|\
    EX|PX|EXAT|PXAT|KEEPTTL|NX|XX|GT|LT|CH|INCR|GET|COUNT|MATCH|TYPE|WITHSCORES|REV|BYSCORE|BYLEX|LIMIT|MAXLEN|MINID|~|=|\
    NOMKSTREAM|1-1|0-0|18446744073709551615-18446744073709551615|ID|ADDR|LADDR|SKIPME|yes|no|hz|slowlog-log-slower-than|\
    slowlog-max-len|latency-monitor-threshold|maxmemory|maxmemory-policy|timeout|save|command|event|commandstats|all|\
    everything|3|SETNAME|AUTH|(1|(inf|[a|-|+";

fn server(round: u64) -> Handle {
    demo::start(Options { seed: round, ..Options::default() }).unwrap()
}

fn connect(server: &Handle) -> TcpStream {
    let stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

fn encode(words: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n", word.len()).bytes());
        bytes.extend(word);
        bytes.extend(b"\r\n");
    }
    bytes
}

fn request(dice: &mut Dice) -> Vec<u8> {
    let (commands, words): (Vec<_>, Vec<_>) = (COMMANDS.split('|').collect(), WORDS.split('|').collect());
    let mut request: Vec<_> = dice.pick(&commands).split(' ').map(|word| word.as_bytes().to_vec()).collect();
    for _ in 0..dice.below(6) {
        request.push(if dice.once_in(8) { dice.bytes(30) } else { dice.pick(&words).into() });
    }
    encode(&request)
}

/// Reads until the mark or the end; false at the end.
fn read_to_mark(stream: &mut TcpStream, context: &dyn Fn() -> String) -> bool {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 16 * 1024]);
    while !bytes.ends_with(MARK) {
        match stream.read(&mut buffer) {
            Ok(0) => return false,
            Ok(n) => bytes.extend_from_slice(&buffer[..n]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("no reply; {}", context())
            }
            Err(_) => return false,
        }
    }
    true
}

#[test]
fn every_request_gets_a_reply_or_the_end() {
    let mut running: Option<(Handle, Option<TcpStream>)> = None;
    for round in cases("requests to the built-in server", 1) {
        if round % ROUNDS_A_SERVER == 0 {
            if let Some((server, _)) = running.take() {
                server.stop().unwrap_or_else(|error| panic!("before round {round}: {error}"));
            }
            running = Some((server(round), None));
        }
        let (server, held) = running.as_mut().unwrap();
        let dice = &mut Dice::new(round);
        let requests = if dice.once_in(10) { 1 + dice.below(4) } else { 1 };
        let mut bytes: Vec<u8> = (0..requests).flat_map(|_| request(dice)).collect();
        if requests > 1 {
            bytes.splice(0..0, encode(&[b"MULTI".to_vec()]));
        }
        let damaged = dice.once_in(5);
        if damaged {
            dice.damage(&mut bytes);
        }
        let context = || format!("round {round}: {}", bytes.escape_ascii());
        let mut stream = held.take().unwrap_or_else(|| connect(server));
        // A server that has had enough closes, and the rest of what is written is lost.
        let _ = stream.write_all(&bytes);
        if damaged {
            // Half a request would take the mark for its other half.
            let _ = stream.shutdown(Shutdown::Write);
            read_to_mark(&mut stream, &context);
        } else {
            // Without EXEC the mark would be queued behind a MULTI.
            let _ = stream.write_all(&encode(&[b"EXEC".to_vec()]));
            let _ = stream.write_all(&encode(&[b"ECHO".to_vec(), b"the mark".to_vec()]));
            if read_to_mark(&mut stream, &context) {
                *held = Some(stream);
            }
        }
        assert!(server.is_running(), "the server fell; {}", context());
    }
}
