//! What the text promises of each line, and the lines that are not run.

/// How a line comes to its end.
pub enum How {
    /// By itself, with one of these exit codes.
    Ends(&'static [i32]),
    /// It goes on: by a signal when a line with this is out, with this exit code.
    Until(&'static str, i32),
    /// A screen, by `q`.
    Screen,
}

/// What is promised of a line.
pub struct Promise {
    /// All behind `redyno`, before a comment.
    pub line: &'static str,
    /// What is given beside, to make it shorter.
    pub(super) more: &'static [&'static str],
    pub(super) how: How,
    /// What is shown or printed.
    pub(super) shows: &'static [&'static str],
    /// Which files are there then, and what stands in them.
    pub(super) files: &'static [(&'static str, &'static str)],
}

const fn shows(line: &'static str, how: How, shows: &'static [&'static str]) -> Promise {
    Promise { line, more: &[], how, shows, files: &[] }
}

const fn with(
    line: &'static str,
    more: &'static [&'static str],
    how: How,
    shows: &'static [&'static str],
) -> Promise {
    Promise { line, more, how, shows, files: &[] }
}

const fn makes(line: &'static str, how: How, files: &'static [(&'static str, &'static str)]) -> Promise {
    Promise { line, more: &[], how, shows: &[], files }
}

use How::{Ends, Screen, Until};

/// Lines of other programs, by how they begin, and why they are not run.
pub(super) const OTHERS: &[(&str, &str)] = &[
    ("cargo ", "builds the program, which this test was linked with"),
    ("- run: cargo ", "likewise"),
    ("- cargo ", "likewise"),
    ("tests/static", "builds with a toolchain that a machine may lack"),
    ("tests/run", "runs this test"),
    ("tests/long", "runs the longer ones"),
    (
        "ln -s ",
        "a link in a home directory; tests/bench.rs and tests/memtier.rs start the program by those names",
    ),
    ("redis-cli config set ", "a parameter of a pipeline's own server"),
    ("for n in ", "the pipeline's shell"),
    ("done", "likewise"),
    ("histogram_quantile(", "a query of Prometheus"),
    ("jobs:", "the pipeline's form, as are all that follow"),
    ("latency:", ""),
    ("runs-on: ", ""),
    ("services:", ""),
    ("redis:", ""),
    ("image: ", ""),
    ("ports: ", ""),
    ("steps:", ""),
    ("- uses: ", ""),
    ("- run: |", ""),
    ("- name: ", ""),
    ("alias: ", ""),
    ("script:", ""),
    ("- |", ""),
    ("artifacts:", ""),
    ("when: ", ""),
    ("paths: ", ""),
];

/// All lines, in the order of the pages.
#[rustfmt::skip]
pub const PROMISES: &[Promise] = &[
    shows("", Screen, &[" redyno ", "throughput"]),
    shows("-h 10.0.0.5 -p 6379", Screen, &["redis 7", "q quit"]),
    shows("-p 6379 -c 200 -P 16 --ratio 1:10 -d 100 -r 1M", Screen, &["clients 200", "pipeline 16", "reads 91 %", "value size 100 B", "keys 1000"]),
    shows("-u redis://ann:secret@10.0.0.5:6379/2", Screen, &["redis 7", "load off"]),
    shows("-p 6379 --reconnect 10", Screen, &["load on", "clients 50"]),
    shows("-p 6379 --workload timeline -r 1M", Screen, &["load on", "prefill", "distribution several"]),
    shows(r"-p 6379 -- 3: SET {key} {value 64..1024} \; GET {key zipfian 1.1}", Screen, &["SET", "GET"]),
    shows("-p 6379 --load --yes --headless --json --duration 10 | tail -1 | jq .summary.ops_per_s", Ends(&[0]), &["jq:"]),
    shows("-p 6379 --headless --find 'p99<1ms'", Until("  trial: rate ", 130), &[]),
    shows("-p 6379 --headless --sweep 'clients 1..1000'", Until("  step: clients 1 ", 130), &[]),
    with("ab -p 6379 --from 'clients 50' --to 'clients 100'", &["--part", "0.1", "--anyway"], Until("   1 ", 130), &["A: clients 50", "B: clients 100"]),
    with("versus redis://a:6379 redis://b:6379", &["--part", "0.1", "--anyway"], Until("pair 2 of", 130), &["redis 7", "valkey 9"]),
    shows("series tair-threads -p 6379 --yes --scale 0.01 --published", Ends(&[0]), &["tair-threads: ", "published"]),
    shows("replay tuning.jsonl", Screen, &["REPLAY", "throughput"]),
    makes("report tuning.jsonl -o tuning.html", Ends(&[0]), &[("tuning.html", "</html>")]),
    shows("demo -p 7000 --fault 'stall 500ms every 5s'", Until("127.0.0.1:", 0), &["simulates 1 fault"]),
    shows("demo -p 7000 --nodes 3 --replicas 1", Until("127.0.0.1:", 0), &[]),
    shows("demo -p 7000 --nodes 3 --fault 'slow load 5ms node 2' --fault 'reshard 1000 every 10s'", Until("127.0.0.1:", 0), &["simulates 2 faults"]),
    shows("demo -p 7000 --nodes 3 --replicas 1 --fault 'failover node 1 after 30s'", Until("127.0.0.1:", 0), &["simulates 1 fault"]),
    shows("-p 7000", Screen, &["load off"]),
    shows("clean -p 6379", Ends(&[0]), &["nothing"]),
    shows("completions bash", Ends(&[0]), &["_redyno"]),
    shows("config", Ends(&[0]), &["file: none", "clients 50 built in"]),
    shows("@prod", Screen, &["valkey 9"]),
    with("doctor -p 6379", &["--duration", "1"], Ends(&[0, 3]), &["redis 7"]),
    with("doctor @prod --markdown > ticket.md", &["--duration", "1"], Ends(&[0, 3]), &[]),
    shows("-p 6379 --headless --record night.jsonl.zst --on-finding 'jq -r .cause | mail -s redis ops'", Until("redis 7", 130), &[]),
    with("-p 6379 --headless --yes --rate 20k --abort-if 'p99 > 50ms' --abort-if 'errors > 10'", &[], Until("redis 7", 130), &[]),
    with("versus @prod redis://127.0.0.1", &["--part", "0.1", "--anyway"], Until("pair 2 of", 130), &["redis 7", "valkey 9"]),
    shows("man | man -l -", Ends(&[0]), &[".TH REDYNO 1"]),
    makes("man -o man1", Ends(&[0]), &[("man1/redyno-replay.1", ".TH")]),
    shows("demo -p 7000 --fault 'stall 1s every 10s' --fault 'delay GET 10ms'", Until("127.0.0.1:", 0), &["simulates 2 faults"]),
    makes("-p 7000 -c 1 --workload get --headless --yes --duration 120 --record closed.jsonl", Ends(&[0]), &[("closed.jsonl", "\"kind\":\"end\"")]),
    makes("-p 7000 --rate 100 --workload get --headless --yes --duration 120 --record open.jsonl", Ends(&[0]), &[("open.jsonl", "\"response\"")]),
    makes("report closed.jsonl open.jsonl -o omission.html", Ends(&[0]), &[("omission.html", "runs-curves")]),
    shows("bench -p 6379 -n 100000 -q -t get,set", Ends(&[0]), &["SET: ", "GET: ", "requests per second"]),
    shows("bench -p 6379 -r 10000 -n 10000 lpush mylist __rand_int__", Ends(&[0]), &["====== lpush mylist __rand_int__ ======"]),
    shows("demo -p 7000", Until("127.0.0.1:", 0), &[]),
    shows("demo -p 7000 -s /tmp/demo.sock -a secret", Until("127.0.0.1:", 0), &["demo.sock"]),
    shows("demo -p 7000 --fault 'stall 500ms every 5s' --fault 'error LOADING 1%'", Until("127.0.0.1:", 0), &["simulates 2 faults"]),
    shows("compare before.jsonl after.jsonl", Ends(&[0]), &["new against base", "ops/s "]),
    shows("compare tuning.jsonl#1 tuning.jsonl#4 --anyway", Ends(&[0]), &["ops/s "]),
    shows("compare base-*.jsonl --new new-*.jsonl", Ends(&[0]), &["new against base"]),
    shows("compare before.jsonl after.jsonl --fail-if 'p99 > +10%'", Ends(&[0]), &["new against base"]),
    shows("-p 6379 --headless --yes --rate 20k --duration 60 --fail-if 'p99 > 2ms' --fail-if 'errors > 0'", Ends(&[0, 3, 4]), &["measured"]),
    shows("-p 6379 --headless --yes --rate 20k --duration 60 --base main.jsonl --fail-if 'p99 > +10%'", Ends(&[0, 3, 4]), &["measured"]),
    makes("-p 6379 --headless --yes --rate 5k --duration 20 --record base-$n.jsonl", Ends(&[0]), &[("base-9.jsonl", "\"kind\":\"end\"")]),
    makes("-p 6379 --headless --yes --rate 5k --duration 20 --record new-$n.jsonl", Ends(&[0]), &[("new-9.jsonl", "\"kind\":\"end\"")]),
    shows("compare base-*.jsonl --new new-*.jsonl --fail-if 'p50 > +10%' --fail-if 'errors > 0'", Ends(&[0]), &["new against base"]),
    makes("-h before --headless --yes --rate 5k --duration 20 --record base-$n.jsonl --fail-if 'errors > 0'", Ends(&[0]), &[("base-9.jsonl", "\"kind\":\"end\"")]),
    makes("-h after --headless --yes --rate 5k --duration 20 --record new-$n.jsonl --fail-if 'errors > 0'", Ends(&[0]), &[("new-9.jsonl", "\"kind\":\"end\"")]),
    makes("compare base-*.jsonl --new new-*.jsonl --markdown --fail-if 'p50 > +10%' > comparison.md", Ends(&[0]), &[("comparison.md", "| | base | new |")]),
    with("ab -p 6379 --yes --rate 20k --to 'config appendfsync always' --json | tail -1 | jq .verdict", &["--part", "0.1", "--anyway"], Until("\"kind\":\"pair\"", 130), &["jq:"]),
    with("ab -p 6379 --workload get --from 'pipeline 1' --to 'clients 5, pipeline 16'", &["--part", "0.1", "--anyway"], Until("   1 ", 130), &["A: pipeline 1", "B: clients 5, pipeline 16"]),
    with("versus redis://127.0.0.1:6379 redis://127.0.0.1:6380", &["--part", "0.1", "--anyway"], Until("pair 2 of", 130), &["redis 7", "valkey 9"]),
    with("versus redis://127.0.0.1:6379 memcached://127.0.0.1:11211 --workload cache", &["--part", "0.1", "--anyway"], Until("pair 2 of", 130), &["redis 7", "memcached"]),
    with("versus redis://a redis://b --yes --rate 20k --json | tail -1 | jq '.table[] | {figure, change, verdict}'", &["--part", "0.1", "--anyway"], Until("\"kind\":\"pair\"", 130), &["jq:"]),
    with("-p 6379 --headless --find 'p99.9<5ms' --arrivals poisson --json | tail -1 | jq .found", &[], Until("\"trial\"", 130), &["\"arrivals\":\"poisson\""]),
    shows("-p 6379 --headless --sweep 'pipeline 1..64'", Until("  step: pipeline 1 ", 130), &[]),
    shows("-p 6379 --headless --sweep 'clients 1..1000 p99<1ms' --json | tail -1 | jq .best", Until("\"step\"", 130), &[]),
    shows("-p 6379 --headless --yes --sweep 'config io-threads 1,2,4'", Until("  step: io-threads 1 ", 130), &["valkey 9"]),
    shows("-p 6379 --script examples/evening.script", Screen, &["script evening.script"]),
    makes("-p 6379 --headless --yes --script examples/evening.script --record evening.jsonl", Ends(&[0]), &[("evening.jsonl", "the show begins")]),
    makes("export tuning.jsonl --format csv > tuning.csv", Ends(&[0]), &[("tuning.csv", "service_p99_us")]),
    shows("export tuning.jsonl --format csv --rows segments", Ends(&[0]), &["service_p99_us"]),
    makes("export tuning.jsonl --format hlog -o tuning.hlog", Ends(&[0]), &[("tuning.hlog", "#[Histogram log format version 1.3]")]),
    makes("-p 6379 --load --yes --headless --duration 60 --export json:run.json --export hgrm:run.hgrm", Ends(&[0]), &[("run.json", "\"summary\""), ("run.hgrm", "Percentile")]),
    shows("-p 6379 --load --yes --metrics 9121", Screen, &["LOAD"]),
    with("-p 6379 --headless --metrics unix:/run/redyno.sock", &["--duration", "1"], Ends(&[0]), &["load off", "measured"]),
    shows("-p 6379 --load --yes --headless --duration 10", Ends(&[0]), &["ops/s", "service p50"]),
    with("-p 6379 --latency", &["-i", "0.3"], Ends(&[0]), &[]),
    shows("-p 6379 --latency-history -i 5", Until(" 30", 0), &[]),
    with("-p 6379 --latency-dist", &["-i", "0.3"], Until("milliseconds", 0), &[]),
    shows("-p 6379 --stat", Until("connections", 0), &[]),
    shows("-p 6379 --bigkeys", Ends(&[0]), &["summary", "keys in the keyspace"]),
    shows("--intrinsic-latency 10", Ends(&[0]), &["Max latency so far", "total runs"]),
    shows("http://127.0.0.1:8080/health", Screen, &["http 1.1", "q quit"]),
    shows("http://127.0.0.1:8080 -c 100 -- GET /items/{key}", Screen, &["load on", "clients 100"]),
    shows(r"http://127.0.0.1:8080 --rate 500 -- 9: GET /items/{key} \; GET /users/{key}", Screen, &["load on", "rate 500"]),
    with("http://127.0.0.1:8080 --latency", &["-i", "0.3"], Ends(&[0]), &[]),
    shows("-u memcached://10.0.0.5", Screen, &["memcached", "q quit"]),
    shows("-u memcached://10.0.0.5 --load -c 100", Screen, &["load on", "clients 100"]),
    with("-u memcached://10.0.0.5 --latency", &["-i", "0.3"], Ends(&[0]), &[]),
    makes("memtier -p 6379 -t 4 -c 50 --test-time 60 --ratio 1:10 --json-out-file run.json", Ends(&[0]), &[("run.json", "ALL STATS")]),
    shows("memtier -p 6379 --ratio 1:0 --key-pattern P:P -n allkeys --key-maximum 1000000 -d 1024 --hide-histogram", Ends(&[0]), &["Sets", "Totals"]),
    with("memtier -p 11211 -P memcache_text -n 100000 --key-pattern G:G --expiry-range 60-120", &["-c", "1", "-t", "1"], Ends(&[0]), &["Gets", "Totals"]),
    with("memtier -p 6379 --command \"hset __key__ field __data__\" --command-ratio 2 --command \"hget __key__ field\"", &["-n", "50"], Ends(&[0]), &["Hsets", "Hgets"]),
    shows("workloads", Ends(&[0]), &["timeline", "ycsb-a", "tair-threads"]),
    shows("series tair-threads -p 6379 --plan", Ends(&[0]), &["GET", "SET"]),
    shows("series tair-threads -p 6379 --scale 0.01 --published", Ends(&[0]), &["published"]),
    with("series tair-memory -p 6379 --set group=hash,zset --set fieldlength=128", &["--scale", "0.0001"], Ends(&[0]), &["hash", "zset"]),
    with("series timeline-stores -u memcached://127.0.0.1 --set clients=100", &["--scale", "0.0001"], Ends(&[0]), &["memcached"]),
    makes("workloads tair-threads > mine.toml", Ends(&[0]), &[("mine.toml", "[[run]]")]),
    Promise { line: "-p 6379 --load --yes --record tuning.jsonl", more: &[], how: Screen, shows: &["REC"], files: &[("tuning.jsonl", "\"kind\":\"end\"")] },
    shows("sessions", Ends(&[0]), &[]),
    makes("replay tuning.jsonl --screenshot tuning.svg --at 42", Ends(&[0]), &[("tuning.svg", "</svg>")]),
    makes("replay tuning.jsonl --animate tuning-moving.svg", Ends(&[0]), &[("tuning-moving.svg", "</svg>")]),
    makes("report before.jsonl after.jsonl -o change.html", Ends(&[0]), &[("change.html", "</html>")]),
    makes("report tuning.jsonl#1 tuning.jsonl#4 -o change.html", Ends(&[0]), &[("change.html", "</html>")]),
    makes("report tuning.jsonl -o ticket.md", Ends(&[0]), &[("ticket.md", "| ")]),
    shows("-u rediss://db.example:6380 --cacert ca.pem", Screen, &["TLS"]),
    makes("workloads timeline > mine.toml", Ends(&[0]), &[("mine.toml", "[[operation]]")]),
    shows("-p 6379 --workload ./mine.toml", Screen, &["read"]),
    shows("-p 6379 --workload timeline --distribution 'zipfian 1.2' -r 1M", Screen, &["zipfian"]),
    shows("-p 6379 --ratio 1:10", Screen, &["SET:GET 1:10"]),
    shows(r"-p 6379 -- 3: SET {key} {value 64..1024} EX {number 60..3600} \; GET {key zipfian 1.1}", Screen, &["SET", "GET"]),
    shows(r"-p 6379 -r 500k -- MGET {key} {key.same_slot} {key.same_slot} \; DEL {key} {key.same_slot}", Screen, &["MGET", "DEL"]),
    with("agent --bus redis://bus:6379 --target 10.0.0.5:6379 --index 0 --of 2", &[], Until("waits for session redyno", 130), &[]),
    with("agent --bus redis://bus:6379 --target 10.0.0.5:6379 --index 1 --of 2", &[], Until("waits for session redyno", 130), &[]),
    with("-h 10.0.0.5 --bus redis://bus:6379 --agents 2 --load", &["--local"], Screen, &["load on"]),
    shows("-p 6379 --agents 2 --local --load", Screen, &["load on"]),
    makes("capture -p 6379 --duration 5 -o busy.log --yes", Ends(&[0]), &[("busy.log", "# redyno capture of ")]),
    shows("-p 6379 --trace shop.log --plan", Ends(&[0]), &["trace: shop.log: 2 commands in 500 ms", "SET redyno:"]),
    with("-p 6379 --trace shop.log --speed 2 --yes", &["--headless"], Ends(&[0]), &["2 ops", "2 times as fast"]),
    with("-p 6379 --headless --yes --dataset docs.csv -- HSET doc:__field:id__ title __field:title__", &[], Ends(&[0]), &["2 ops"]),
    shows("-p 6379 --headless --yes --dataset docs.jsonl -- JSON.SET doc:__field:id__ $ __record__", Ends(&[1]), &["lacks the module"]),
    shows("-p 6379 --headless --yes --dataset abstracts.xml.gz --maxdocs 500k -c 30 -- FT.ADD idx __field:url__ 1.0 FIELDS title __field:title__", Ends(&[1]), &["lacks the module"]),
    shows("-p 6379 --dataset docs.csv --verify -- HSET doc:__field:id__ title __field:title__", Ends(&[0]), &["2 records read back"]),
    shows("-p 6379 --workload ./mine.toml -r 1M --plan", Ends(&[0]), &["read", "write"]),
    shows("-p 6379 --workload ycsb-a", Screen, &["load on", "READ 50", "UPDATE 50"]),
    shows("-p 6379 --workload ycsb-b --headless --yes --ycsb-summary --set recordcount=1M --set operationcount=5M", Ends(&[0]), &["[OVERALL], Throughput(ops/sec)", "[READ], Operations"]),
    shows("-p 6379 --workload ycsb-c --set requestdistribution=uniform --set commandgroup=string", Screen, &["uniform"]),
    shows("ycsb load redis -P workloads/workloada -p redis.port=6379 -threads 50 -s", Ends(&[0]), &["[INSERT], Return=OK, 1000"]),
    with("ycsb run redis -P workloads/workloada -p redis.port=6379 -threads 50 -target 20000 -s", &["--yes"], Ends(&[0]), &["[READ], Operations"]),
    with("ycsb run redis -P workloads/workloada -p redis.addr=127.0.0.1:6379 -p redis.datatype=hash", &["--yes"], Ends(&[0]), &["[READ], Operations"]),
    shows("workloads ycsb-e", Ends(&[0]), &["[[operation]]"]),
];
