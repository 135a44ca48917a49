//! `--verify` where several records of a file have one key, which several clients write.

use std::fs;

use crate::support::{Server, program::run};

#[test]
fn any_record_with_the_same_key_may_be_the_one_that_is_read_back() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("docs.csv");
    let row = |n: u32| format!("{},{n},same\n", n % 100);
    fs::write(&file, "id,t,s\n".to_owned() + &(0..1000).map(row).collect::<String>()).unwrap();
    let (port, path) = (server.port_text(), file.display().to_string());
    let usual = ["-p", &port, "--dataset", &path];
    for (words, others) in [
        (&["SET", "k:__field:id__", "__field:t__"][..], 900),
        (&["HSET", "h:__field:id__", "t", "__field:t__", "s", "x"], 900),
        (&["SET", "shared", "__field:t__"], 999),
    ] {
        let load = ["--headless", "--yes", "-c", "8", "-P", "4", "--"];
        run(&[&usual[..], &load, words].concat()).expect_code(0);
        let verify = || run(&[&usual[..], &["--verify", "--"], words].concat());
        let good = verify().expect_code(0).out;
        let expected =
            format!("all are as in the file; {others} replaced by another record with the same key\n");
        assert!(good.ends_with(&expected), "{good}");
        let key = words[1].replace("__field:id__", "7");
        match words[0] {
            "SET" => server.cli(&["SET", &key, "1001"]),
            _ => server.cli(&["HSET", &key, "t", "1001"]),
        };
        let bad = verify().expect_code(3).out;
        let (count, first) = if others == 999 { (1000, 1) } else { (10, 8) };
        let expected = format!("0 missing, {count} different");
        assert!(bad.contains(&expected.replace("1000", "1 000")), "{bad}");
        assert!(bad.contains(&format!("\n  record {first}, {key}: differs\n")), "{bad}");
    }
}
