//! Tests of the file of a series.

use super::*;

const FILE: &str = r#"
about = "over sizes and clients"

[parameters]
size = [64, "4k"]
clients = [10, 20]
n = "1k"

[load]
requests = "$n"

[[run]]
name = "GET"
workload = "get"
load = { data-size = "$size", clients = "$clients" }

[[run]]
name = "ping"
commands = ["PING", "ECHO \"a b\""]
operations = ["PING"]
"#;

fn read(text: &str, settings: &[&str]) -> Result<Series, String> {
    let settings = settings.iter().map(|set| set.parse().unwrap()).collect::<Vec<_>>();
    Series::parse(text, ("mine.toml", "mine"), Path::new(""), &Settings::from(settings))
        .map_err(|error| error.to_string())
}

fn titles(settings: &[&str]) -> Vec<String> {
    read(FILE, settings).unwrap().cells.iter().map(SeriesCell::title).collect()
}

#[test]
fn a_run_has_a_cell_for_each_combination_of_its_lists() {
    let gets = ["64, clients 10", "64, clients 20", "4k, clients 10", "4k, clients 20"];
    let all = gets.map(|at| format!("GET, size {at}")).into_iter().chain(["ping".to_owned()]);
    assert_eq!(titles(&[]), all.collect::<Vec<_>>());
    let cells = read(FILE, &[]).unwrap().cells;
    let loads: Vec<_> = cells.iter().map(|cell| (cell.load.data_size, cell.load.clients)).collect();
    assert_eq!(loads[2..], [(Some(4000), Some(10)), (Some(4000), Some(20)), (None, None)]);
    assert!(cells.iter().all(|cell| cell.load.requests == Some(1000)), "{cells:?}");
    assert_eq!(cells[4].workload.to_string(), "PING");
}

#[test]
fn a_list_can_be_set_to_other_values() {
    assert_eq!(
        titles(&["size=9", "clients=20,5"]),
        ["GET, size 9, clients 20", "GET, size 9, clients 5", "ping"]
    );
    assert_eq!(read(FILE, &["n=7"]).unwrap().cells[0].load.requests, Some(7));
    assert_eq!(
        read(FILE, &["m=7"]).unwrap_err(),
        "mine.toml: there is no parameter 'm'; there are clients, n, size"
    );
    assert!(read(FILE, &["size=64,many"]).unwrap_err().starts_with("mine.toml:12: "), "the line of the run");
}

#[test]
fn lists_can_advance_together_and_a_file_can_have_workloads() {
    let text = r#"together = [["batch", "parallel"]]
[parameters]
batch = [10, 50]
kind = ["a", "b"]
parallel = [20, 4]
[load]
requests = 5
clients = "$parallel"
[workload.mine]
[[workload.mine.operation]]
name = "ask"
steps = ["ECHO $kind"]
[[run]]
name = "x"
workload = "mine"
batching = "$batch"
"#;
    let cells = read(text, &[]).unwrap().cells;
    let titles: Vec<_> = cells.iter().map(SeriesCell::title).collect();
    let titles: Vec<_> = titles.iter().map(String::as_str).collect();
    let [a, b] = ["x, batch 10, parallel 20, kind a", "x, batch 10, parallel 20, kind b"];
    assert_eq!((&titles[..2], titles.len()), (&[a, b][..], 4));
    let last = &cells[3];
    assert_eq!((last.load.clients, last.each, last.workload.operations[0].steps.len()), (Some(4), 50, 50));
    assert_eq!(last.workload.operations[0].steps[0], "ECHO b");
    let longer = read(text, &["batch=1,2,3"]).unwrap_err();
    assert_eq!(
        longer,
        "mine.toml:13: the lists 'batch' and 'parallel' advance together, but have different lengths"
    );
    let broken = read(&text.replace("steps", "stps"), &[]).unwrap_err();
    assert!(broken.starts_with("mine.toml:13: the workload 'mine': unknown field `stps`"), "{broken}");
}

#[test]
fn errors_are_reported_with_their_line() {
    let with = |lines: &str| format!("[load]\nrequests = 5\n{lines}");
    let run = "[[run]]\nname = \"a\"\n";
    for (text, error) in [
        ("abut = \"x\"".to_owned(), "mine.toml:1: unknown field `abut`, expected one of"),
        (with("[[run]]\nnam = \"a\""), "mine.toml:4: unknown field `nam`"),
        (with(""), "mine.toml: the series 'mine' has no [[run]]"),
        (with(run), "mine.toml:3: a run needs a workload or commands"),
        (with(&format!("{run}workload = \"zip\"")), "mine.toml:3: there is no workload 'zip'"),
        (with(&format!("{run}workload = \"./no.toml\"")), "mine.toml:3: ./no.toml: No such file"),
        (
            with(&format!("{run}workload = \"get\"\nset = {{ a = 1 }}")),
            "mine.toml:3: there is no parameter 'a'",
        ),
        (
            with(&format!("{run}workload = \"get\"\noperations = [\"PUT\"]")),
            "mine.toml:3: the workload 'get' has no operation 'PUT'; give one of GET, SET",
        ),
        (with(&format!("{run}commands = [\"GET 'x\"]")), "mine.toml:3: quotes of the step"),
        (format!("{run}workload = \"get\""), "mine.toml:1: the run 'a' would not end; give it requests"),
        (
            with(&format!("{run}workload = \"get\"\nbatching = 0")),
            "mine.toml:3: 'batching' must be between 1 and 1000",
        ),
        (
            with(&format!("[parameters]\nx = 1\n{run}workload = \"get\"")),
            "mine.toml: the parameter x is not used: write $x into a run or [load]",
        ),
        (
            with(&format!("[parameters]\nx = []\n{run}workload = \"get\"")),
            "mine.toml:4: the list 'x' is empty",
        ),
        (
            with(&format!(
                "{run}workload = \"get\"\n[published]\nsource = \"us\"\ncells = [{{ run = \"b\" }}]"
            )),
            "mine.toml:6: [[published]] names the run 'b', which does not exist",
        ),
        (
            with(&format!(
                "{run}workload = \"get\"\n[published]\nsource = \"us\"\ncells = [{{ run = \"a\", at = {{ size = 4 }} }}]"
            )),
            "mine.toml:6: [[published]] names the list 'size'",
        ),
    ] {
        let found = read(&text, &[]).unwrap_err();
        assert!(found.starts_with(error), "{text}: {found}");
        assert!(!found.contains('\n'), "{found}");
    }
}

#[test]
fn too_many_cells_are_refused() {
    let list =
        |name: &str| format!("{name} = [{}]\n", (0..50).map(|n| n.to_string()).collect::<Vec<_>>().join(","));
    let lists: String = ["a", "b", "c", "d", "e", "f"].map(list).concat();
    let run = "[load]\nrequests = 5\n[[run]]\nname = \"x\"\ncommands = [\"ECHO $a$b$c$d$e$f\"]";
    let found = read(&format!("[parameters]\n{lists}{run}"), &[]).unwrap_err();
    assert_eq!(found, "mine.toml:10: a series has at most 1000 runs, counting each value of a list");
}

#[test]
fn a_list_of_workloads_of_the_file_uses_the_table_of_each() {
    let text = "[parameters]\nmix = [\"reads\", \"get\"]\nsize = 5\n[workload.reads]\noperation = [{ name = \"A\", steps = [\"GET {key}\"] }]\n\
                [workload.get]\noperation = [{ name = \"B\", steps = [\"SETRANGE {key} $size x\"] }]\n\
                [load]\nrequests = 5\n[[run]]\nname = \"x\"\nworkload = \"$mix\"";
    let series = read(text, &[]).unwrap();
    let names: Vec<_> = series.cells.iter().map(|cell| cell.workload.operations[0].name.as_str()).collect();
    assert_eq!(names, ["A", "B"], "the file's workload comes before the preset of the same name");
}

#[test]
fn lists_that_advance_together_exist_and_are_in_one_group() {
    let run = "[load]\nrequests = 5\n[[run]]\nname = \"x\"\ncommands = [\"ECHO $a$b\"]";
    let error = |together: &str| {
        let lists = "[parameters]\na = [1, 2]\nb = [3, 4]";
        read(&format!("together = {together}\n{lists}\n{run}"), &[]).err()
    };
    assert_eq!(error(r#"[["a", "b"]]"#), None);
    let unknown = "mine.toml: 'together' names 'paralel', which is not a list of [parameters]";
    assert_eq!(error(r#"[["a", "paralel"]]"#).as_deref(), Some(unknown));
    let twice = "mine.toml: 'together' names the list 'a' twice; a list can be in one group only";
    assert_eq!(error(r#"[["a", "b"], ["a"]]"#).as_deref(), Some(twice));
}
