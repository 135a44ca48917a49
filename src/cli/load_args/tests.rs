use super::*;

#[test]
fn each_core_of_cpus_gets_a_worker_thread_by_default() {
    let load = LoadArgs { cpus: Some("0,4-6".parse().unwrap()), ..LoadArgs::default() };
    assert_eq!(load.worker_threads(), 4);
    assert_eq!(LoadArgs { threads: Some(2), ..load }.worker_threads(), 2);
}

#[test]
fn any_option_that_shapes_the_load_turns_the_load_on() {
    let none = LoadArgs::default();
    assert!(!none.knobs(false).unwrap().load);
    assert!(none.knobs(true).unwrap().load);
    let with_clients = LoadArgs { clients: Some(200), ..LoadArgs::default() };
    let knobs = with_clients.knobs(false).unwrap();
    assert_eq!((knobs.load, knobs.clients), (true, 200));
    assert!(!LoadArgs { no_load: true, ..with_clients }.knobs(true).unwrap().load);
}

#[test]
fn an_option_overrides_a_size_of_the_config_file_which_turns_no_load_on() {
    let file = || LoadArgs { clients: Some(200), keys: Some(5), ..LoadArgs::default() };
    let mut attached = LoadArgs::default();
    attached.follow_defaults(&file());
    let knobs = attached.knobs(false).unwrap();
    assert_eq!((knobs.load, knobs.clients, knobs.keyspace), (false, 200, 5));
    let mut asked = LoadArgs { clients: Some(7), ..LoadArgs::default() };
    asked.follow_defaults(&file());
    let knobs = asked.knobs(false).unwrap();
    assert_eq!((knobs.load, knobs.clients, knobs.keyspace), (true, 7, 5));
}
