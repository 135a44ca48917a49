use super::{
    testing::{LIMIT, Reader},
    *,
};

fn offer(outlet: &Outlet, piece: &str) {
    outlet.offer(piece.into(), |n| format!("{n} lost\n").into_bytes()).unwrap();
}

/// Returns an outlet and its reader. The reader has stopped while it reads `first`.
fn stalled(limits: Limits, first: &str) -> (Outlet, Reader) {
    let reader = Reader::default();
    reader.stall();
    let outlet = Outlet::start("out", reader.clone(), limits);
    offer(&outlet, first);
    reader.wait_until_it_stalls();
    (outlet, reader)
}

#[test]
fn lost_pieces_are_counted_and_reported_when_the_queue_is_half_empty() {
    let (outlet, reader) = stalled(Limits { pieces: 100, bytes: 10 }, "aaaaa\n");
    ["bbbbb\n", "c\n", "d\nd\n"].into_iter().for_each(|piece| offer(&outlet, piece));
    assert!(!outlet.has_room_within(Duration::ZERO).unwrap());
    reader.go_on();
    assert!(outlet.is_written_within(LIMIT).unwrap());
    offer(&outlet, "e\n");
    assert!(outlet.is_written_within(LIMIT).unwrap());
    assert_eq!(reader.text(), "aaaaa\nbbbbb\n3 lost\ne\n");
    assert_eq!(outlet.end_within(Duration::ZERO).unwrap(), 3);
}

#[test]
fn a_stopped_reader_is_given_up_with_the_number_of_lost_lines() {
    let (outlet, reader) = stalled(Limits { pieces: 2, bytes: 1000 }, "1\n");
    (2..=9).for_each(|n| offer(&outlet, &format!("{n}\n")));
    outlet.make_room_for_last();
    offer(&outlet, "end\n");
    let missed = outlet.end_within(Duration::from_millis(1)).unwrap();
    assert_eq!(missed, 11, "nine, the end, and that some were lost");
    assert_eq!(outlet.end_within(LIMIT).unwrap(), missed, "it is not waited for again");
    offer(&outlet, "after it\n");
    reader.go_on();
}

#[test]
fn a_redrawn_line_replaces_the_queued_line() {
    let (outlet, reader) = stalled(LIMITS, "begin\n");
    ["\r1 %", "\r2 %", "\r3 %", "trouble\n", "\r4 %", "\r5 %\n", "\r6 %"]
        .into_iter()
        .for_each(|piece| offer(&outlet, piece));
    reader.go_on();
    assert!(outlet.is_written_within(LIMIT).unwrap());
    assert_eq!(reader.text(), "begin\n\r3 %trouble\n\r5 %\n\r6 %");
}

#[test]
fn a_failure_is_reported_once_to_the_next_caller_or_at_the_end() {
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let outlet = || {
        let outlet = Outlet::start("out", Gone, LIMITS);
        offer(&outlet, "x\n");
        outlet
    };
    let kind = |error: io::Error| error.kind();
    assert_eq!(outlet().end_within(LIMIT).map_err(kind), Err(io::ErrorKind::BrokenPipe));
    let failed = outlet();
    assert_eq!(failed.is_written_within(LIMIT).map_err(kind), Err(io::ErrorKind::BrokenPipe));
    assert_eq!(failed.end_within(LIMIT).map_err(kind), Ok(0), "reported once");
}
