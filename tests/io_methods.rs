//! The ways in which workers read and write, by the real binary.

use crate::support::{Server, program::run};

#[test]
fn each_way_to_read_and_write_carries_the_load_and_auto_gives_its_reason() {
    let version = run(&["--version", "--verbose"]).expect_code(0).out;
    for part in ["redyno ", "\nbuild     ", "\nepoll     ", "\nio_uring  ", "\n--io auto  auto chose "] {
        assert!(version.contains(part), "{part}: {version}");
    }
    let is_permitted = version.contains("\nio_uring  available\n");
    let server = Server::redis().start();
    let port = server.port_text();
    for way in ["--io epoll", "--io uring", "--io auto", "--busy --cpus 0"] {
        let load = ["-p", &port, "--headless", "--load", "--yes", "-n", "2000", "-c", "5"];
        let outcome = run(&load.into_iter().chain(way.split(' ')).collect::<Vec<_>>());
        if way == "--io uring" && !is_permitted {
            eprintln!("not run over io_uring: this system refuses it");
            assert!(outcome.err.contains("this system refuses io_uring"), "{outcome:?}");
            continue;
        }
        let out = outcome.expect_code(0).out;
        assert!(out.contains("2 000 ops in") && out.contains("receive lag at most: p50 "), "{way}: {out}");
        assert_eq!(out.contains("  io        auto chose "), way == "--io auto", "{way}: {out}");
    }
}
