//! Tests a ring with pairs of sockets.

use std::{
    io::{Read, Write},
    os::{fd::AsRawFd, unix::net::UnixStream},
};

use mio::Poll;

use super::*;

const TAG: Tag = Tag { lane: 3, number: 7 };

/// Creates a ring that receives from the first of a pair of sockets, or `None` on systems without io_uring.
fn bench() -> Option<(Uring, Poll, UnixStream, UnixStream)> {
    let poll = Poll::new().unwrap();
    let mut ring = Uring::new(poll.as_raw_fd())
        .inspect_err(|error| eprintln!("not tested, since the system refuses io_uring: {error}"))
        .ok()?;
    let (ours, server) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    ring.receive(TAG, ours.as_raw_fd()).unwrap();
    Some((ring, poll, ours, server))
}

/// Waits for the next arrival.
fn next(ring: &mut Uring, into: &mut [u8]) -> RingEvent {
    loop {
        if let Some(arrival) = ring.next(into) {
            return arrival;
        }
        ring.wait(Duration::from_secs(10)).unwrap();
    }
}

#[test]
fn more_bytes_than_the_buffers_hold_arrive_in_order() {
    let Some((mut ring, _poll, ours, mut server)) = bench() else { return };
    let length = 3 * usize::from(BUFFERS) * BUFFER;
    let writer = std::thread::spawn(move || {
        let sent: Vec<u8> = (0..length).map(|n| (n / 1000 % 251) as u8).collect();
        server.write_all(&sent).unwrap();
        sent
    });
    let (mut received, mut buffer) = (Vec::new(), vec![0; BUFFER]);
    loop {
        let arrival = next(&mut ring, &mut buffer);
        assert_eq!(arrival.tag, TAG);
        match arrival.came {
            RingEventKind::Bytes(0) => break assert!(arrival.has_ended),
            RingEventKind::Bytes(n) => received.extend_from_slice(&buffer[..n]),
            RingEventKind::Nothing => {}
            other => panic!("{other:?}"),
        }
        if arrival.has_ended {
            ring.receive(TAG, ours.as_raw_fd()).unwrap();
        }
    }
    assert!(received == writer.join().unwrap(), "{} bytes of {length}", received.len());
}

#[test]
fn bytes_that_a_socket_does_not_accept_are_returned() {
    let Some((mut ring, _poll, ours, mut server)) = bench() else { return };
    server.set_nonblocking(true).unwrap();
    let (mut sent, mut buffer) = (Vec::new(), vec![0; BUFFER]);
    let rest = loop {
        let batch = vec![(sent.len() / LONGEST) as u8; LONGEST];
        assert!(ring.send(TAG, ours.as_raw_fd(), &batch).unwrap());
        ring.flush().unwrap();
        sent.extend_from_slice(&batch);
        if let Some(RingEvent { tag: TAG, came: RingEventKind::Unsent(rest), has_ended: false }) =
            ring.next(&mut buffer)
        {
            break rest.unwrap();
        }
    };
    let mut arrived = Vec::new();
    assert_eq!(server.read_to_end(&mut arrived).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    assert!([arrived, rest].concat() == sent);
    assert!(
        !ring.send(TAG, ours.as_raw_fd(), &[0; LONGEST + 1]).unwrap(),
        "the ring does not send such a batch"
    );
}

#[test]
fn a_send_on_a_closed_connection_fails_alone() {
    let Some((mut ring, _poll, ours, server)) = bench() else { return };
    let (other, mut second) = UnixStream::pair().unwrap();
    drop(server);
    ring.send(TAG, ours.as_raw_fd(), b"lost").unwrap();
    ring.send(Tag { lane: 4, number: 8 }, other.as_raw_fd(), b"good").unwrap();
    let mut buffer = [0; BUFFER];
    let failed = loop {
        if let RingEventKind::Unsent(failed) = next(&mut ring, &mut buffer).came {
            break failed;
        }
    };
    assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    second.read_exact(&mut buffer[..4]).unwrap();
    assert_eq!(&buffer[..4], b"good");
}

#[test]
fn sends_keep_their_bytes_when_the_queue_is_full_of_receives() {
    let Some((mut ring, _poll, ours, _server)) = bench() else { return };
    let (other, mut second) = UnixStream::pair().unwrap();
    // The poll loop and the first receive already use two entries, so two entries then remain free.
    for _ in 0..ENTRIES - 4 {
        ring.receive(TAG, ours.as_raw_fd()).unwrap();
    }
    let sent: Vec<[u8; 3]> = (b'a'..b'k').map(|letter| [letter; 3]).collect();
    for bytes in &sent {
        assert!(ring.send(Tag { lane: 4, number: 8 }, other.as_raw_fd(), bytes).unwrap());
    }
    ring.flush().unwrap();
    let mut arrived = vec![0; 3 * sent.len()];
    second.read_exact(&mut arrived).unwrap();
    assert_eq!(arrived, sent.concat());
}
