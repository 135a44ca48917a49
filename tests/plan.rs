//! `--plan`: what would be sent is printed, and nothing is connected.

use std::{fs, net::TcpListener};

use crate::support::{
    Server,
    program::{Outcome, run},
};

/// A port on which somebody listens who must not be called, and what the program prints of a plan for it.
fn planned(args: &[&str]) -> Outcome {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    nobody.set_nonblocking(true).unwrap();
    let port = nobody.local_addr().unwrap().port().to_string();
    let outcome = run(&[&["-p", &port, "--plan", "--seed", "7"], args].concat());
    assert!(nobody.accept().is_err(), "it was called");
    outcome
}

#[test]
fn a_preset_is_reported_whole() {
    let shown = planned(&["--workload", "cache", "-c", "3", "-d", "8"]).expect_code(0);
    assert_eq!(shown.err, "");
    assert_eq!(shown.out, PRESET);
}

const PRESET: &str = "cache: ten GET for each SET, as memtier_benchmark does
RESP2, 3 clients, pipeline 1

Operations: share, mean bytes sent, commands
  GET     91 %       48 B  GET {key}
  SET    9.1 %       62 B  SET {key} {value}
  49 B sent per operation, mean of all operations

Keys
  {key}  10 000 keys, redyno:????????:000000000000 to redyno:????????:000000009999
    uniform: 0.010 % of the draws on the hottest key, 1.0 % on the hottest 1 % (100 keys)

Prefill: none

Some requests of the first client, with --seed 7
  GET       48 B  GET redyno:????????:000000002011
  GET       48 B  GET redyno:????????:000000007982
  GET       48 B  GET redyno:????????:000000002577
  GET       48 B  GET redyno:????????:000000009073
  GET       48 B  GET redyno:????????:000000008706
  GET       48 B  GET redyno:????????:000000007477
  SET       62 B  SET redyno:????????:000000004585 Eb1jU-D2
  GET       48 B  GET redyno:????????:000000006750
  GET       48 B  GET redyno:????????:000000006627
  GET       48 B  GET redyno:????????:000000002148
  GET       48 B  GET redyno:????????:000000000979
  GET       48 B  GET redyno:????????:000000003924
";

#[test]
fn operations_that_a_cluster_refuses_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine.toml");
    let operation = |name: &str, step: &str| format!("[[operation]]\nname = '{name}'\nsteps = ['{step}']\n");
    let printed = |operations: &[String]| {
        fs::write(&path, ["[keys.key]\n", &operations.concat()].concat()).unwrap();
        planned(&["--workload", path.to_str().unwrap()]).expect_code(0).out
    };
    let good = operation("good", "MGET {key} {key.same}");
    assert!(!printed(std::slice::from_ref(&good)).contains("cluster"));
    let text = printed(&[operation("one", "MGET {key} {key}"), good, operation("two", "COPY {key} {key}")]);
    let line = "  refused by a cluster: one, two; the keys of one operation have different slots (CROSSSLOT); \
         {NAME.same_slot} draws a further key of {NAME} in the slot of the previous key\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn a_file_is_reported_with_its_distributions_its_values_and_its_prefill() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine.toml");
    fs::write(&path, FILE).unwrap();
    let shown = planned(&["--workload", path.to_str().unwrap(), "--key-prefix", "app:"]).expect_code(0);
    assert_eq!(shown.out, SHOWN);
}

const FILE: &str = r#"
about = "posts"

[parameters]
posts = "1M"

[keys.post]
prefix = "post:"
count = "$posts"
distribution = { zipfian = 0.99 }

[values.text]
size = { from = 64, to = 1024 }

[[operation]]
name = "read"
weight = 3
steps = ["GET {post}"]

[[operation]]
name = "write"
together = "multi"
steps = ["SET {post} {text}", "EXPIRE {post.same} 60"]

[prefill]
steps = ["SET {post} {text}"]
"#;

const SHOWN: &str = "mine: posts
RESP2, 50 clients, pipeline 1

Operations: share, mean bytes sent, commands
  read      75 %       41 B  GET {post}
  write     25 %      674 B  MULTI ; SET {post} {text} ; EXPIRE {post.same} 60 ; EXEC
  199 B sent per operation, mean of all operations

Keys
  {post}  1 000 000 keys, app:post:000000000000 to app:post:000000999999
    zipfian 0.99: 6.5 % of the draws on the hottest key, 66 % on the hottest 1 % (10 000 keys)

Prefill: 1 000 000 requests make 1 000 000 keys, 566 MiB sent
  about 627 MiB of memory: the sent data, and 64 B of overhead in the server for each key

Some requests of the first client, with --seed 7
  read        41 B  GET app:post:000000991010
  read        41 B  GET app:post:000000190646
  read        41 B  GET app:post:000000129747
  read        41 B  GET app:post:000000374830
  read        41 B  GET app:post:000000601279
  write   1.10 KiB  MULTI ; SET app:post:000000598575 FZcUjJhQOW-EXxhKyY-g0jxG5cLnj_l5RBx3FxWSmRZO… (1 000 bytes) ; EXPIRE app:post:000000598575 60 ; EXEC
  read        41 B  GET app:post:000000072217
  read        41 B  GET app:post:000000266787
  read        41 B  GET app:post:000000946160
  read        41 B  GET app:post:000000161791
  read        41 B  GET app:post:000000942649
  write      710 B  MULTI ; SET app:post:000000261205 1I-FqogoqdEKRp2zaNypKWZsBrdFwHs6cMFkuZxoCN-z… (580 bytes) ; EXPIRE app:post:000000261205 60 ; EXEC
";

#[test]
fn options_of_the_load_and_the_target_shape_it() {
    let shown =
        planned(&["-r", "50", "--distribution", "latest", "--", "SET", "{key}", "a b"]).expect_code(0);
    assert!(shown.out.contains("{key}  50 keys, redyno:????????:000000000000 to "), "{}", shown.out);
    assert!(shown.out.contains("    latest 0.99: 22 % of the draws"), "{}", shown.out);
    assert!(shown.out.contains(":000000000049 \"a b\"\n"), "{}", shown.out);
    let memcached =
        run(&["-u", "memcached://127.0.0.1:1", "--plan", "--ratio", "1:0", "-d", "1"]).expect_code(0);
    assert!(memcached.out.contains(" 0 0 1\\r\\n"), "{}", memcached.out);
    let unspoken = run(&["-u", "memcached://127.0.0.1:1", "--plan", "--", "HSET", "{key}", "a", "b"]);
    assert!(unspoken.expect_code(2).err.contains("is no command that redyno has for memcached"));
    let set = planned(&["--workload", "ycsb-c", "--set", "recordcount=77"]).expect_code(0);
    assert!(set.out.contains("Prefill: 154 requests make 77 keys"), "{}", set.out);
}

#[test]
fn the_records_of_a_dataset_are_reported_from_the_first_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("docs.csv");
    let rows: String = (0..1200).map(|n| format!("{n},{}\n", "x".repeat(n % 500))).collect();
    fs::write(&path, format!("id,title\n{rows}")).unwrap();
    let path = path.to_str().unwrap();
    let args =
        ["--dataset", path, "--", "SET", "doc:__field:id__", "__field:title__", ";", "GET", "__field:id__"];
    let shown = planned(&args).expect_code(0).out;
    let records = format!(
        "Records: 1 200 records of {path}; of each, redyno sends __field:id__ __field:title__\n  each operation's number of bytes is the mean over the first 500 records\n"
    );
    assert!(shown.contains(&records), "{shown}");
    let samples: Vec<_> = shown.lines().skip_while(|line| !line.starts_with("Some")).skip(1).collect();
    let asked = samples.iter().enumerate().all(|(n, line)| {
        line.ends_with(&format!("  GET {n}"))
            || line.contains(&format!("  SET doc:{n} {}", if n == 0 { "\"\"" } else { "x" }))
    });
    assert!(asked && samples.len() == 12, "{shown}");
    // Of all 500 alike: digits of the numbers, and titles with the digits of their lengths.
    let mean = |of: &dyn Fn(usize) -> usize| (0..500).map(of).sum::<usize>() as f64 / 500.0;
    let digits = |n: usize| n.to_string().len();
    let bulk = |length: usize| 5 + digits(length) + length;
    let set = mean(&|n| 4 + bulk(3) + bulk(4 + digits(n)) + bulk(n));
    let get = mean(&|n| 4 + bulk(3) + bulk(digits(n)));
    for (name, mean) in [("SET", set), ("GET", get)] {
        let line = format!("  {name}  {:>7}  {:>9}  ", "50 %", format!("{} B", mean.round()));
        assert!(shown.contains(&line), "{line}: {shown}");
    }
    let all = planned(&["--maxdocs", "7", "--dataset", path, "--", "GET", "__field:id__"]).expect_code(0).out;
    assert!(all.contains("mean over 7 records\n") && all.matches("  GET 0\n").count() == 2, "{all}");
}

#[test]
fn the_same_seed_plans_the_same_and_another_something_else() {
    let of = |seed| run(&["-p", "1", "--plan", "--ratio", "1:1", "--seed", seed]).expect_code(0).out;
    assert_eq!(of("1"), of("1"));
    assert_ne!(of("1"), of("2"));
}

/// The bytes that a text such as `12.3 MiB` says.
fn bytes_of(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').unwrap();
    let scale = ["B", "KiB", "MiB", "GiB"].iter().position(|known| *known == unit).unwrap();
    number.parse::<f64>().unwrap() * 1024_f64.powi(scale as i32)
}

/// What is printed of the memory of a prefill is what the server says of its keys then: within 15 % for strings, and up to some
/// three times less for keys with elements.
#[test]
fn the_memory_of_a_prefill_is_what_it_takes() {
    let directory = tempfile::tempdir().unwrap();
    for (name, step) in [
        ("string", "SET {key} {value 100}"),
        ("short hash", "HSET {key} {repeat 10: field{i} {value 20}}"),
        ("long hash", "HSET {key} {repeat 10: field{i} {value 100}}"),
        ("many in a hash", "HSET {key} {repeat 200: field{i} {value 20}}"),
        ("more in a hash", "HSET {key} {repeat 600: field{i} {value 20}}"),
        ("short list", "RPUSH {key} {repeat 20: {value 30}}"),
        ("long list", "RPUSH {key} {repeat 100: {value 500}}"),
        ("short set", "SADD {key} {repeat 20: {i}-{value 20}}"),
        ("long set", "SADD {key} {repeat 200: {i}-{value 20}}"),
        ("short sorted set", "ZADD {key} {repeat 20: {i} {i}-{value 20}}"),
        ("long sorted set", "ZADD {key} {repeat 200: {i} {i}-{value 20}}"),
        ("one index", "ZADD {index} 0 {key}"),
    ] {
        let path = directory.path().join("mine.toml");
        let file = format!(
            "[keys.key]\nprefix = \"k:\"\ncount = 600\n[keys.index]\ncount = 1\n[[operation]]\nname = \"ping\"\nsteps = [\"PING\"]\n[prefill]\nsteps = [\"{step}\"]\n"
        );
        fs::write(&path, file).unwrap();
        let path = path.to_str().unwrap();
        let plan = planned(&["--workload", path, "--key-prefix", "p:"]).expect_code(0).out;
        let shown = plan.split("  about ").nth(1).and_then(|rest| rest.split(" of memory").next()).unwrap();
        // Redis 7.0 has no listpack for texts of a set, and Valkey 9 takes less for all others.
        let server = if name == "short set" { Server::valkey() } else { Server::redis() }.start();
        let port = server.port_text();
        let args = [
            "-p",
            &port,
            "--headless",
            "--yes",
            "-n",
            "1",
            "-c",
            "1",
            "--key-prefix",
            "p:",
            "--workload",
            path,
        ];
        run(&args).expect_code(0);
        let keys = server.cli(&["KEYS", "p:*"]);
        let keys: Vec<_> = keys.lines().collect();
        let of_key =
            |key: &&str| server.cli(&["MEMORY", "USAGE", key, "SAMPLES", "0"]).parse::<f64>().unwrap();
        let some: Vec<_> = keys.iter().step_by(keys.len().div_ceil(20)).collect();
        let took = some.iter().map(|key| of_key(key)).sum::<f64>() / some.len() as f64 * keys.len() as f64;
        let ratio = bytes_of(shown) / took;
        let within = if name == "string" { 0.85..1.15 } else { 0.3..1.3 };
        assert!(within.contains(&ratio), "{name}: {shown} shown, {took} B taken: {ratio:.2}");
    }
}
