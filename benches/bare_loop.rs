//! The smallest possible load generator, as a reference for `benches/versus`. This load generator is an epoll loop in
//! which each connection writes a fixed batch of GETs, reads until all replies have arrived, and writes again. The
//! loop measures nothing, uses no random numbers, and runs until a signal ends the process.
//!
//! ```text
//! cargo bench --bench bare_loop -- -p 6379 -c 50 -P 16
//! ```

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{Ipv4Addr, TcpStream},
    os::fd::AsRawFd,
};

use mio::{Events, Interest, Poll, Token, unix::SourceFd};

/// A request for a key that does not exist, so that each reply is one line.
const GET: &[u8] = b"*2\r\n$3\r\nGET\r\n$24\r\nbare-loop:key:0000000001\r\n";

struct Connection {
    stream: TcpStream,
    /// How many replies have not arrived yet.
    missing: usize,
}

fn main() -> io::Result<()> {
    let [port, clients, pipeline] = ["-p", "-c", "-P"].map(number_after);
    let batch = GET.repeat(pipeline);
    let (mut poll, mut events) = (Poll::new()?, Events::with_capacity(1024));
    let mut connections = (0..clients)
        .map(|i| {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port as u16))?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            poll.registry().register(&mut SourceFd(&stream.as_raw_fd()), Token(i), Interest::READABLE)?;
            Ok(Connection { stream, missing: pipeline })
        })
        .collect::<io::Result<Vec<_>>>()?;
    for connection in &mut connections {
        connection.stream.write_all(&batch)?;
    }
    let mut buffer = vec![0; 64 * 1024];
    loop {
        poll.poll(&mut events, None)?;
        for event in &events {
            let Connection { stream, missing } = &mut connections[event.token().0];
            let n = match stream.read(&mut buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error),
            };
            *missing -= memchr::memchr_iter(b'\n', &buffer[..n]).count();
            if *missing == 0 {
                // The server has read the last batch, so its socket has room for this batch.
                stream.write_all(&batch)?;
                *missing = pipeline;
            }
        }
    }
}

/// Returns the number after an option on the command line, or 1.
fn number_after(option: &str) -> usize {
    let mut words = std::env::args().skip_while(|word| word != option).skip(1);
    words.next().map_or(1, |word| word.parse().expect("a number after the option"))
}
