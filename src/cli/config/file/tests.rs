use super::*;

fn read(text: &str) -> Result<ConfigFile, String> {
    let mut config = ConfigFile::default();
    config.take(text, Path::new("/etc/redyno")).map(|()| config)
}

#[test]
fn defaults_and_targets_are_read_as_options_are() {
    let text = "[defaults]\ntheme = 16\nascii = true\nclients = \"1k\"\ntimeout = 0.5\n\n[targets.prod]\n\
        address = \"rediss://10.0.0.5:7000/3\"\nuser = \"ann\"\ncacert = \"ca.pem\"\nkey = \"/k\"\ncert = \"c\"";
    let config = read(text).unwrap();
    let ConfigOptions { load, look, .. } = &config.defaults;
    assert_eq!((load.clients, load.timeout.map(|t| t.as_millis())), (Some(1000), Some(500)));
    assert!(look.ascii && look.theme.is_some() && !look.no_mouse);
    let prod = config.target("prod").unwrap();
    let server = prod.options.server.unwrap();
    assert_eq!((server.address.to_string().as_str(), server.db), ("10.0.0.5:7000", 3));
    let TargetArgs { user, tls, .. } = prod.options;
    assert_eq!((user.as_deref(), tls.tls), (Some("ann"), true));
    let files = [tls.cacert, tls.cert, tls.key].map(|file| file.unwrap().display().to_string());
    assert_eq!(files, ["/etc/redyno/ca.pem", "/etc/redyno/c", "/k"]);
}

#[test]
fn an_address_is_a_host_a_path_or_a_uri() {
    for (address, shown) in [
        ("db", "db:6379"),
        ("[::1]:7000", "[::1]:7000"),
        ("/run/a%20b?.sock", "/run/a%20b?.sock"),
        ("unix:///run/r.sock", "/run/r.sock"),
        ("memcached://db", "memcached://db:11211"),
    ] {
        let config = read(&format!("[targets.a]\naddress = \"{address}\"")).unwrap();
        assert_eq!(config.rows().next().unwrap(), ["@a", shown, ""], "{address}");
    }
}

#[test]
fn an_error_names_the_fault_and_the_valid_names() {
    let target = "[targets.a]\naddress = \"h\"\n";
    for (text, expected) in [
        ("[x", "line 1: "),
        ("a = 1\n\na = 2", "line 3: duplicate key"),
        ("[other]", "'other' is no table of the file; there are [defaults] and [targets.NAME]"),
        (
            "[defaults]\nclinets = 5",
            "[defaults]: 'clinets' is refused; this table takes theme, ascii, no-mouse, clients,",
        ),
        ("[defaults]\nclients = \"many\"", "'--clients <CLIENTS>': 'many' is not a count such as"),
        ("[defaults]\nclients = 0", "'--clients <CLIENTS>': it must be between 1 and 18000"),
        ("[defaults]\nclients = true", "clients must be a text or a number"),
        ("[defaults]\nascii = 1", "ascii must be true or false"),
        ("[targets]\na = 1", "[targets.a]: it is no table"),
        ("[targets.\"a b\"]\naddress = \"h\"", "a name has letters, digits, '-', '_' and '.' only"),
        ("[targets.a]\nuser = \"ann\"", "its address is missing, such as address = \"10.0.0.5:6379\""),
        ("[targets.a]\naddress = \"h:0\"", "the port in the URI must be a number"),
        (&format!("{target}host = \"x\""), "'host' is refused; this table takes address, user, db,"),
        ("[targets.a]\naddres = \"h\"", "'addres' is refused; this table takes address, user, db,"),
        (&format!("{target}insecure = true"), "insecure needs TLS; add tls = true, or remove insecure"),
        (&format!("{target}cacert = \"x\""), "cacert needs TLS; add tls = true, or remove cacert"),
        (&format!("{target}cert = \"x\""), "were not provided: --key <FILE>"),
        (&format!("{target}password-command = 1"), "password-command must be a text"),
    ] {
        let refused = read(text).unwrap_err();
        assert!(refused.contains(expected), "{text}: {refused}");
    }
}

#[test]
fn defaults_cannot_write_keep_or_skip_a_question() {
    let names = [
        "yes",
        "load",
        "own-names",
        "key-prefix",
        "keep",
        "keep-going",
        "prefill",
        "workload",
        "find",
        "sweep",
    ];
    for name in names {
        let refused = read(&format!("[defaults]\n{name} = true")).unwrap_err();
        assert!(
            refused.starts_with(&format!("[defaults]: '{name}' is refused; this table takes theme, ")),
            "{refused}"
        );
        assert!(
            refused.ends_with(
                "options that write to servers, keep keys or skip questions belong on the command line)"
            ),
            "{refused}"
        );
    }
}

#[test]
fn a_password_in_clear_is_refused_and_not_repeated() {
    for text in [
        "[defaults]\npass = \"hunter2\"",
        "[targets.a]\naddress = \"h\"\npassword = \"hunter2\"",
        "[targets.a]\naddress = \"hunter2@h\"",
        "[targets.a]\naddress = \"redis://ann:hunter2@h\"",
    ] {
        let refused = read(text).unwrap_err();
        assert!(refused.contains("the config file must contain no password: name a command"), "{refused}");
        assert!(!refused.contains("hunter2"), "{refused}");
    }
    let refused = read("[targets.a]\npassword = hunter2").unwrap_err();
    assert!(!refused.contains("hunter2"), "{refused}");
}
