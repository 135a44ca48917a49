//! What a fleet does if its bus is slow, does not answer, loses its memory or has garbage.

use rustix::process::Signal;

use crate::{
    causes_around::proxy,
    fleet::{Fleet, intervals, ops},
    support::wait_for,
};

const REPORTS: &str = "redyno:fleet:{redyno}:reports";

#[test]
fn a_session_waits_for_its_agents_while_the_bus_does_not_answer() {
    let mut fleet = Fleet::start();
    let session = fleet.session(1, &["--load", "--no-prefill", "-n", "100"]);
    let waits = |count| {
        let lines =
            || session.said().lines().filter(|line| line.contains("the session waits for it")).count();
        wait_for("a line about the bus", || (lines() >= count).then_some(()));
    };
    wait_for("the session on the bus", || fleet.bus.cli(&["EXISTS", REPORTS]).contains('1').then_some(()));
    fleet.bus.pause();
    waits(1);
    fleet.bus.resume();
    wait_for("the bus", || session.said().contains("the bus answers again").then_some(()));
    fleet.bus.kill();
    waits(2);
    fleet.bus.restart();
    let agent = fleet.agent(0, 1, &[]);
    session.end().expect_code(0);
    agent.end().expect_code(0);
    assert_eq!(fleet.calls().iter().sum::<u64>(), 100);
}

/// An agent needs more than 4 s to begin, and each setting is published more than 4 s before it takes effect.
#[test]
#[ignore = "long: a bus whose packets take 400 ms each way"]
fn agents_of_a_very_slow_bus_do_not_take_the_wait_for_a_setting_for_silence() {
    let fleet = Fleet::start();
    let slow = proxy(&fleet.bus, || std::thread::sleep(std::time::Duration::from_millis(400)));
    let fleet = Fleet { uri: format!("redis://127.0.0.1:{slow}"), ..fleet };
    let load = ["--local", "--load", "--no-prefill", "--rate", "1000", "-n", "5000"];
    let outcome = fleet.session(2, &load).end().expect_code(0);
    assert_eq!(ops(&intervals(&outcome)), fleet.calls());
    assert!(!outcome.out.contains("agent_lost"), "{}", outcome.out);
}

#[test]
#[ignore = "long: a bus whose packets take 200 ms each way"]
fn a_slow_bus_leaves_no_hole_in_the_account() {
    let fleet = Fleet::start();
    let slow = proxy(&fleet.bus, || std::thread::sleep(std::time::Duration::from_millis(200)));
    let fleet = Fleet { uri: format!("redis://127.0.0.1:{slow}"), ..fleet };
    let load = ["--local", "--load", "--no-prefill", "--rate", "4000", "-n", "40000"];
    let outcome = fleet.session(3, &load).end().expect_code(0);
    assert_eq!(ops(&intervals(&outcome)), fleet.calls());
    assert!(!outcome.out.contains("reports_lost"));
}

/// With this bus, an order takes 0.1 s to an agent, and so does each reply. Agents that begin when they get the first order
/// begin a second late, and lack half of the requests.
#[test]
fn with_a_slow_bus_all_agents_begin_at_the_ordered_time() {
    let fleet = Fleet::start();
    let slow = proxy(&fleet.bus, || std::thread::sleep(std::time::Duration::from_millis(100)));
    let fleet = Fleet { uri: format!("redis://127.0.0.1:{slow}"), ..fleet };
    let load = ["--local", "--load", "--no-prefill", "--rate", "3000", "--duration", "2"];
    let outcome = fleet.session(3, &load).end().expect_code(0);
    let due: u64 = intervals(&outcome).iter().map(|interval| interval.due).sum();
    assert!((5400..=6000).contains(&due), "{due} requests were due");
    assert_eq!(ops(&intervals(&outcome)), fleet.calls());
}

/// The reports still arrive, but the agents get no orders.
#[test]
fn a_session_that_cannot_give_orders_ends_after_its_agents() {
    let fleet = Fleet::start();
    let (agents, session) = fleet.under_load();
    let another_type = "redis.call('DEL', KEYS[1]) return redis.call('SET', KEYS[1], 'x')";
    fleet.bus.cli(&["EVAL", another_type, "1", "redyno:fleet:{redyno}:orders"]);
    let outcome = session.end().expect_code(1);
    assert!(outcome.err.contains("no agent is left"), "{}", outcome.err);
    assert_eq!(ops(&intervals(&outcome)), fleet.calls());
    agents.into_iter().for_each(|agent| drop(agent.end().expect_code(1)));
}

#[test]
#[ignore = "long: the agents of a lost bus try for half a minute to send their last reports"]
fn a_session_whose_bus_does_not_come_back_ends_after_its_agents() {
    let mut fleet = Fleet::start();
    let (_agents, session) = fleet.under_load();
    fleet.bus.kill();
    let outcome = session.end().expect_code(1);
    assert!(outcome.err.contains("no agent is left"), "{}", outcome.err);
    assert_eq!(outcome.out.matches("results_lost").count(), 2, "{}", outcome.out);
    assert_eq!(fleet.target.cli(&["DBSIZE"]), "0");
}

#[test]
fn an_agent_of_a_lost_bus_prints_how_many_requests_its_session_does_not_have() {
    let mut fleet = Fleet::start();
    let (agents, _session) = fleet.under_load();
    let before = fleet.calls().iter().sum::<u64>();
    fleet.bus.kill();
    wait_for("later requests", || (fleet.calls().iter().sum::<u64>() > before + 3000).then_some(()));
    agents.iter().for_each(|agent| agent.signal(Signal::TERM));
    wait_for("the end of the load", || fleet.target.load_ids().is_empty().then_some(()));
    let mut figures = [0, 0];
    for agent in agents {
        agent.signal(Signal::TERM);
        let said = agent.end().expect_code(130).err;
        let line = said.split("the session does not have ").nth(1).unwrap_or_else(|| panic!("{said}"));
        let digits = |part: &str| part.chars().filter(char::is_ascii_digit).collect::<String>();
        let counts = line.split(" of ").map(|part| digits(part).parse::<u64>().unwrap());
        figures.iter_mut().zip(counts).for_each(|(sum, figure)| *sum += figure);
    }
    let [unknown, all] = figures;
    assert_eq!(all, fleet.calls().iter().sum::<u64>());
    assert!((1..=all).contains(&unknown), "{unknown} of {all}");
}

#[test]
fn agents_of_a_killed_session_end_their_load_even_if_the_bus_has_new_garbage() {
    let fleet = Fleet::start();
    let (agents, session) = fleet.under_load();
    session.signal(Signal::KILL);
    wait_for("the end of the load", || {
        fleet.bus.cli(&["XADD", "redyno:fleet:{redyno}:orders", "*", "order", "[]"]);
        fleet.target.load_ids().is_empty().then_some(())
    });
    for agent in agents {
        let said = agent.end().expect_code(1).err;
        assert!(said.contains("not readable") && said.contains("no message from the session"), "{said}");
    }
}

#[test]
fn a_bus_that_loses_its_memory_or_has_garbage_leaves_no_silent_hole() {
    let fleet = Fleet::start();
    let agents: Vec<_> = (0..2).map(|index| fleet.agent(index, 2, &[])).collect();
    let session = fleet.session(2, &["--load", "--rate", "2000", "--duration", "600", "--no-prefill"]);
    let both = r#""1":{"ops""#;
    session.wait_for_lines(2, both);
    fleet.bus.cli(&["FLUSHALL"]);
    let more = |what: &str| {
        let seen = session.out().lines().count();
        session.wait_for(what, |out| {
            (out.lines().skip(seen).filter(|line| line.contains(both)).count() > 4).then_some(())
        });
    };
    more("results after the loss");
    fleet.bus.cli(&["XADD", "redyno:fleet:{redyno}:reports", "*", "report", "{\"half"]);
    session.wait_for_lines(1, "a report on the bus is not readable");
    more("results after the garbage");
    // An agent does not carry out an order that is not readable, and a part of the load must not look like the whole.
    // After the unreadable order, the last order follows once more. An agent may read both at once.
    let unreadable_and_last = "local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1][2] \
                               redis.call('XADD', KEYS[1], '*', 'order', '[]') \
                               return redis.call('XADD', KEYS[1], '*', unpack(last))";
    fleet.bus.cli(&["EVAL", unreadable_and_last, "1", "redyno:fleet:{redyno}:orders"]);
    let outcome = session.end().expect_code(1);
    assert!(outcome.err.contains("a message from the session is not readable"), "{}", outcome.err);
    let lost = outcome.out.lines().filter(|line| line.contains("reports_lost")).count();
    let (counted, server) = (ops(&intervals(&outcome)), fleet.calls());
    assert!(lost > 0 || counted == server, "{counted:?} of {server:?}");
    for agent in agents {
        agent.end();
    }
    assert_eq!(fleet.target.cli(&["DBSIZE"]), "0", "no agent writes after the keys are removed");
}
