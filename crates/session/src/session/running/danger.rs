//! Decides whether a new setting may harm the server or its users. redyno asks the user before such a setting takes
//! effect.
//!
//! | setting | danger if |
//! |---|---|
//! | more data than before may be written | the data does not fit below maxmemory, or is more than 1 GiB |
//! | more clients | all clients, redyno's other connections and the replicas together exceed the server's limit |
//! | the rate becomes unlimited | other clients use the server as well |
//! | a memory limit, or its policy, is set | more memory is in use than the limit allows |
//! | the load is switched on | the target is an HTTP service on another machine |
//!
//! redyno estimates the amount of data in two ways: keys times the data of each key, and requests times the data of
//! each request. The smaller value counts. The data of a key includes the server's overhead.

use super::capacity::{Demand, LoadChange};
use crate::{
    gauge::Gauge,
    server::{Status, config_word},
    units,
    workload::Footprint,
};

/// The largest amount of data that may be written without a question, in bytes: 1 GiB. Above this limit, redyno asks
/// even if the server has enough memory.
const MUCH: u64 = 1 << 30;
/// The advice if too much data may be written.
const LESS: &str =
    "reduce the data with smaller values (-d), fewer keys (-r) or a limited number of requests (-n)";

/// The number of connections that redyno needs on a server besides the load: for control and for PING.
const OWN: u64 = 2;

/// The warning about a load on an HTTP service that runs on another machine.
const SERVICE: &str =
    "this HTTP service is not on this machine; the load uses its capacity, and its other users wait";

/// Returns the possible harm of a change as a sentence for the user, with an alternative. Returns `None` if the change
/// does no harm.
pub(super) fn danger(change: &LoadChange<'_>) -> Option<String> {
    let LoadChange { from, to, .. } = change;
    if !to.knobs.load {
        return None;
    }
    if to.is_service {
        return (!from.knobs.load).then(|| SERVICE.to_owned());
    }
    let too_much = too_much_data(change).map(|harm| format!("{harm}; {LESS}"));
    too_much.or_else(|| too_many_clients(change)).or_else(|| full_speed(change))
}

/// Returns the amount of data that may be written: its size in the server's memory, in bytes, and its description.
fn written(Demand { knobs, requests, key_overhead, .. }: &Demand<'_>) -> (u64, String) {
    if !knobs.load {
        return (0, String::new());
    }
    let Footprint { keys, bytes, each } = knobs.workload.footprint(knobs.keyspace, knobs.value_size);
    let prefill = knobs.workload.prefill_requests(knobs.keyspace);
    let requests = requests.map(|requests| requests.saturating_add(prefill));
    let overhead = *key_overhead as f64;
    let bytes = bytes + keys as f64 * overhead;
    let by_requests = requests.map(|requests| (requests, requests as f64 * (each + overhead)));
    let each_key = format!("and {} of overhead each", units::bytes(*key_overhead));
    match by_requests.filter(|(_, written)| each > 0.0 && *written < bytes) {
        Some((requests, written)) => {
            let size = units::bytes(each as u64);
            let words = format!("{} writes of about {size} {each_key}", units::setting(requests));
            (written as u64, words)
        }
        None => {
            let size = units::bytes((bytes / keys.max(1) as f64 - overhead) as u64);
            (bytes as u64, format!("{} keys of about {size} {each_key}", units::setting(keys)))
        }
    }
}

fn too_much_data(LoadChange { from, to, room }: &LoadChange<'_>) -> Option<String> {
    let (bytes, what) = written(to);
    if bytes <= written(from).0 {
        return None;
    }
    let data = format!("{what} may fill {} of the server's memory", units::bytes(bytes));
    match room.memory {
        Some(room) if bytes > room => Some(format!(
            "{data}; only {} are left below maxmemory, so the server will refuse writes or evict keys, including the keys of others",
            units::bytes(room)
        )),
        _ if bytes > MUCH => Some(format!(
            "{data}; a server with less memory may swap or be killed, which also affects its other users"
        )),
        _ => None,
    }
}

fn too_many_clients(LoadChange { from, to, room }: &LoadChange<'_>) -> Option<String> {
    let before = if from.knobs.load { from.knobs.clients } else { 0 };
    let wanted = to.knobs.clients;
    let (most, taken) = (room.max_clients?, room.others.unwrap_or(0) + room.replicas);
    let left = most.saturating_sub(taken + OWN);
    (wanted > before && u64::from(wanted) > left).then(|| {
        format!(
            "the server accepts {most} clients, has {taken} others, and redyno needs {OWN} for control and PING, so only \
             {left} of {wanted} can connect; the server will refuse all further clients, including the clients of others"
        )
    })
}

fn full_speed(LoadChange { from, to, room }: &LoadChange<'_>) -> Option<String> {
    let others = room.others.filter(|others| *others > 0)?;
    let (verb, s) = if others == 1 { ("uses", "") } else { ("use", "s") };
    (from.knobs.load && from.knobs.rate.is_some() && to.knobs.rate.is_none()).then(|| {
        format!(
            "{others} other client{s} {verb} this server; without a rate, the load uses all capacity of the server, and \
             other clients wait"
        )
    })
}

/// Returns the immediate harm of setting the server parameter `name` to the value `to`. Returns `None` if there is no
/// harm.
pub fn setting_harm(name: &str, to: &str, status: &Status) -> Option<String> {
    let used = status.gauges.whole(Gauge::UsedMemory)?;
    let (limit, policy) = match name {
        "maxmemory" => (memory(to)?, status.config.get("maxmemory-policy").map(String::as_str)),
        "maxmemory-policy" => (status.gauges.whole(Gauge::MaxMemory)?, Some(to)),
        _ => return None,
    };
    if limit == 0 || used <= limit {
        return None;
    }
    let what = match policy {
        None | Some("noeviction") => "writes will fail",
        Some(policy) if policy.starts_with("volatile") => {
            "the server will evict keys with an expiry, including the keys of others, and then refuse writes"
        }
        Some(_) => "the server will evict keys, including the keys of others",
    };
    Some(format!("{} are used: {what}", units::bytes(used)))
}

/// Parses a number of bytes, such as `64mb`, as CONFIG SET does.
fn memory(text: &str) -> Option<u64> {
    config_word(text).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{knobs::Knobs, session::running::capacity::FreeCapacity, workload::Workload};

    /// Returns the danger of a change from `from` to `to`, with an unlimited number of requests.
    fn danger(from: &Knobs, to: &Knobs, room: FreeCapacity) -> Option<String> {
        of_requests(None, from, to, room)
    }

    fn of_requests(requests: Option<u64>, from: &Knobs, to: &Knobs, room: FreeCapacity) -> Option<String> {
        let demand = |knobs| Demand { knobs, requests, key_overhead: 64, is_service: false };
        super::danger(&LoadChange { from: demand(from), to: demand(to), room })
    }

    fn loaded() -> Knobs {
        Knobs { load: true, ..Knobs::default() }
    }

    #[test]
    fn the_user_is_asked_about_more_data_than_fits_and_not_about_less() {
        let room = FreeCapacity { memory: Some(100 << 20), ..FreeCapacity::default() };
        let big = Knobs { value_size: 4096, keyspace: 100_000, ..loaded() };
        let question = danger(&loaded(), &big, room).unwrap();
        assert!(
            question.starts_with("100 k keys of about 4.00 KiB and 64 B of overhead each may fill 397 MiB"),
            "{question}"
        );
        assert!(question.contains("100 MiB are left below maxmemory"), "{question}");
        assert_eq!(danger(&loaded(), &big, FreeCapacity::default()), None, "it fits, as far as is known");
        assert_eq!(danger(&Knobs { keyspace: 200_000, ..big.clone() }, &big, room), None, "less than before");
        assert_eq!(
            danger(&loaded(), &Knobs { load: false, ..big.clone() }, room),
            None,
            "nothing is written yet"
        );
        assert!(danger(&Knobs { load: false, ..big.clone() }, &big, room).is_some(), "now it is");
        assert_eq!(
            danger(&loaded(), &Knobs { workload: Workload::ratio(0, 1), ..big }, room),
            None,
            "GET writes nothing"
        );
        let get = Knobs { workload: Workload::ratio(0, 1), value_size: 4096, keyspace: 100_000, ..loaded() };
        let filled = Knobs { workload: get.workload.with_prefill().unwrap().into(), ..get.clone() };
        assert!(danger(&get, &filled, room).is_some(), "its keys are made first");
        assert_eq!(danger(&filled, &filled, room), None);
    }

    #[test]
    fn the_user_is_asked_once_about_a_load_on_a_remote_service() {
        let get = Knobs { workload: Workload::ratio(0, 1), ..loaded() };
        let of = |from: &Knobs, to: &Knobs| {
            let demand = |knobs| Demand { knobs, requests: Some(1), key_overhead: 0, is_service: true };
            super::danger(&LoadChange { from: demand(from), to: demand(to), room: FreeCapacity::default() })
        };
        let off = Knobs { load: false, ..get.clone() };
        assert!(of(&off, &get).unwrap().starts_with("this HTTP service is not on this machine"));
        assert_eq!((of(&off, &off), of(&get, &Knobs { clients: 500, ..get.clone() })), (None, None));
    }

    #[test]
    fn small_values_include_their_overhead() {
        let room = FreeCapacity { memory: Some(50 << 20), ..FreeCapacity::default() };
        let many = Knobs { value_size: 3, keyspace: 1_000_000, ..loaded() };
        let question = danger(&loaded(), &many, room).unwrap();
        assert!(
            question.starts_with("1 M keys of about 3 B and 64 B of overhead each may fill 63.9 MiB"),
            "{question}"
        );
    }

    #[test]
    fn the_number_of_requests_also_limits_the_data() {
        let huge = Knobs { value_size: 1 << 20, keyspace: 10_000_000, ..loaded() };
        let off = Knobs { load: false, ..huge.clone() };
        let of = |requests, to: &Knobs| of_requests(requests, &off, to, FreeCapacity::default());
        let question = of(None, &huge).unwrap();
        let expected = "10 M keys of about 1.00 MiB and 64 B of overhead each may fill 9.54 TiB of the server's memory; a server with less memory may";
        assert!(question.starts_with(expected) && question.ends_with(LESS), "{question}");
        assert_eq!(of(Some(1000), &huge), None);
        let question = of(Some(5000), &huge).unwrap();
        assert!(
            question.starts_with("5000 writes of about 1.00 MiB and 64 B of overhead each may fill 4.88 GiB"),
            "{question}"
        );
        let filled = Knobs { workload: huge.workload.with_prefill().unwrap().into(), ..huge };
        assert!(of(Some(10), &filled).is_some(), "the prefill makes all keys, whatever number is measured");
    }

    #[test]
    fn a_key_set_with_its_own_count_ignores_the_knob() {
        let of = |count| {
            let mut workload = Workload::clone(&Workload::ratio(1, 0));
            workload.keys.values_mut().for_each(|keys| keys.count = count);
            Knobs { workload: workload.into(), value_size: 4096, keyspace: 100_000, ..loaded() }
        };
        let room = FreeCapacity { memory: Some(100 << 20), ..FreeCapacity::default() };
        assert!(danger(&loaded(), &of(None), room).is_some());
        assert_eq!(danger(&loaded(), &of(Some(1000)), room), None, "few keys, whatever the knob says");
        let question = danger(&loaded(), &of(Some(1_000_000)), room).unwrap();
        assert!(
            question.starts_with("1 M keys of about 4.00 KiB and 64 B of overhead each may fill 3.87 GiB"),
            "{question}"
        );
        let turned = Knobs { keyspace: 900_000_000, ..of(Some(1_000_000)) };
        assert_eq!(danger(&of(Some(1_000_000)), &turned, room), None, "the knob changes nothing here");
    }

    #[test]
    fn the_user_is_asked_about_more_than_a_gibibyte_on_any_server() {
        let huge = Knobs { value_size: 65_536, keyspace: 1_000_000, ..loaded() };
        let question = danger(&loaded(), &huge, FreeCapacity::default()).unwrap();
        assert!(question.contains("may swap or be killed"), "{question}");
        let most = Knobs { value_size: 64 << 20, keyspace: 999_999_999_999, ..loaded() };
        assert!(danger(&loaded(), &most, FreeCapacity::default()).is_some());
    }

    #[test]
    fn the_user_is_asked_about_more_clients_than_the_server_accepts() {
        let room =
            FreeCapacity { max_clients: Some(128), others: Some(57), replicas: 3, ..FreeCapacity::default() };
        let more = Knobs { clients: 100, ..loaded() };
        let question = danger(&loaded(), &more, room).unwrap();
        assert!(
            question.contains(
                "128 clients, has 60 others, and redyno needs 2 for control and PING, so only 66 of 100"
            ),
            "{question}"
        );
        let beside = |others| danger(&loaded(), &more, FreeCapacity { others: Some(others), ..room });
        assert_eq!((beside(23), beside(24).is_some()), (None, true), "redyno's own connections count, too");
        assert_eq!(danger(&Knobs { clients: 200, ..more.clone() }, &more, room), None, "fewer than before");
    }

    #[test]
    fn the_user_is_asked_about_full_speed_beside_other_clients() {
        let paced = Knobs { rate: Some(1000), ..loaded() };
        let beside = |others| FreeCapacity { others, ..FreeCapacity::default() };
        let question = danger(&paced, &loaded(), beside(Some(1))).unwrap();
        assert!(question.starts_with("1 other client uses this server"), "{question}");
        assert_eq!(danger(&paced, &loaded(), beside(Some(0))), None);
        assert_eq!(danger(&paced, &loaded(), beside(None)), None);
        assert_eq!(danger(&paced, &Knobs { rate: Some(2000), ..loaded() }, beside(Some(9))), None);
    }

    #[test]
    fn a_limit_below_the_used_memory_names_the_consequence() {
        let status = |policy: &str, maxmemory| Status {
            gauges: [(Gauge::UsedMemory, f64::from(320 << 20)), (Gauge::MaxMemory, f64::from(maxmemory))]
                .into(),
            config: std::sync::Arc::new([("maxmemory-policy".to_owned(), policy.to_owned())].into()),
            ..Status::default()
        };
        let harm = |name, to, policy, maxmemory| setting_harm(name, to, &status(policy, maxmemory));
        let limit = |to, policy| harm("maxmemory", to, policy, 0);
        assert_eq!(limit("64mb", "noeviction").as_deref(), Some("320 MiB are used: writes will fail"));
        assert!(
            limit("1000", "allkeys-lru")
                .unwrap()
                .ends_with("the server will evict keys, including the keys of others")
        );
        assert!(limit("64mb", "volatile-ttl").unwrap().contains("and then refuse writes"));
        assert_eq!(
            (limit("0", "noeviction"), limit("1gb", "noeviction"), limit("lots", "noeviction")),
            (None, None, None)
        );
        assert!(
            harm("maxmemory-policy", "allkeys-lru", "noeviction", 64 << 20).unwrap().contains("evict keys")
        );
        assert_eq!(harm("maxmemory-policy", "allkeys-lru", "noeviction", 0), None);
        assert_eq!(harm("hz", "1", "noeviction", 64 << 20), None);
        assert_eq!(setting_harm("maxmemory", "1", &Status::default()), None, "not known");
    }
}
