//! The house: rooms use only those that stand above them in the table of `lib.rs`, and no two parts of a room use each
//! other. Both are read from the `use` lines of all packages, without those of tests.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use crate::support::sources::sources;

/// Files that are compiled for tests alone, as their rooms' `mod` lines say.
const OF_TESTS: [&str; 4] = ["fixture.rs", "simulated.rs", "testing.rs", "tests.rs"];

/// The path of a module or of something in it, from `crate` on: `endpoint::tls::Trust`.
type Name = Vec<String>;

/// What one module says of others.
#[derive(Default)]
struct Module {
    uses: Vec<Name>,
    /// What it has from others, by the name that it has here.
    hands_on: BTreeMap<String, Name>,
}

/// All modules of all packages by their names.
struct House(BTreeMap<Name, Module>);

impl House {
    fn read() -> Self {
        let of_house = |name: &str| {
            let file = name.rsplit('/').next().unwrap_or_default();
            let is_of_tests = OF_TESTS.contains(&file) || name.split('/').any(|part| part == "tests");
            file.ends_with(".rs") && !is_of_tests && !["main.rs", "lib.rs"].contains(&name)
        };
        let files: Vec<_> = sources().into_iter().filter(|(name, _)| of_house(name)).collect();
        let name = |file: &str| {
            let mut name: Name = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
            name.pop_if(|last| last == "mod");
            name
        };
        let names: BTreeSet<Name> = files.iter().map(|(file, _)| name(file)).collect();
        let module = |(file, place): &(String, PathBuf)| {
            let name = name(file);
            let module = read(&fs::read_to_string(place).unwrap(), &name, &names);
            (name, module)
        };
        Self(files.iter().map(module).collect())
    }

    /// The module in which something stands, whoever hands it on.
    fn home(&self, name: &[String]) -> Option<Name> {
        let (at, rest) =
            (1..=name.len()).rev().map(|n| name.split_at(n)).find(|(at, _)| self.0.contains_key(*at))?;
        match rest.first().and_then(|first| self.0[at].hands_on.get(first)) {
            Some(from) if from != name => self.home(&[from, &rest[1..]].concat()),
            _ => Some(at.to_vec()),
        }
    }

    /// Every module with each one that it uses.
    fn arrows(&self) -> Vec<(&Name, Name)> {
        let of_module = |(from, module): (_, &Module)| -> Vec<_> {
            module.uses.iter().filter_map(|name| Some((from, self.home(name)?))).collect()
        };
        self.0.iter().flat_map(of_module).collect()
    }
}

/// The code without comments and without what stands behind `#[cfg(test)]`.
fn without_tests(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    while let Some(line) = lines.next() {
        if line.trim_start() != "#[cfg(test)]" {
            kept += line;
            kept += "\n";
            continue;
        }
        let item = lines.by_ref().find(|line| !line.trim_start().starts_with("#[")).unwrap_or_default();
        // What rustfmt opens on a line it closes on a line of the same indentation.
        if item.ends_with(['{', '(']) {
            let indentation = &item[..item.len() - item.trim_start().len()];
            let is_end = |line: &&str| {
                line.starts_with(&format!("{indentation}}}")) || *line == format!("{indentation});")
            };
            lines.by_ref().find(is_end);
        }
    }
    kept
}

/// The names in `a::{b, c::{d, e as f}}`, each with what it is called here.
fn names_in(tree: &str, before: &[String], found: &mut Vec<(Name, String)>) {
    let (path, inside) = match tree.split_once('{') {
        Some((path, inside)) => (path, inside.trim_end().strip_suffix('}')),
        None => (tree, None),
    };
    let (path, called) = path.trim().split_once(" as ").unwrap_or((path.trim(), ""));
    let parts = path.split("::").filter(|part| !part.is_empty()).map(str::to_owned);
    let mut name: Name = before.iter().cloned().chain(parts).collect();
    let Some(inside) = inside else {
        name.pop_if(|last| last == "self" && !before.is_empty());
        let own = name.last().cloned().unwrap_or_default();
        return found.push((name, if called.is_empty() { own } else { called.to_owned() }));
    };
    let mut depth = 0;
    let is_border = |c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    };
    inside
        .split(is_border)
        .filter(|part| !part.trim().is_empty())
        .for_each(|part| names_in(part, &name, found));
}

/// What the module `name` uses and hands on.
fn read(text: &str, name: &Name, all: &BTreeSet<Name>) -> Module {
    let mut module = Module::default();
    let text = without_tests(text);
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        let Some((visibility, first)) = line.split_once("use ") else { continue };
        if !(visibility.is_empty() || visibility.starts_with("pub")) {
            continue;
        }
        let mut tree = first.to_owned();
        while !tree.ends_with(';') {
            tree += lines.next().expect("a use line ends");
        }
        let mut found = Vec::new();
        names_in(tree.trim_end_matches(';'), &[], &mut found);
        for (path, called) in found {
            let Some(path) = from_the_crate(&path, name, all) else { continue };
            // What a module names for itself alone is named for the modules in it, too.
            module.hands_on.insert(called, path.clone());
            module.uses.push(path);
        }
    }
    module
}

/// A path of a `use` line of the module `name`, from `crate` on; `None` where it leads out of it.
fn from_the_crate(path: &[String], name: &Name, all: &BTreeSet<Name>) -> Option<Name> {
    let child = || Some([name, &path[..1]].concat()).filter(|child| all.contains(child));
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([name, &path[1..]].concat()),
        "super" => {
            let ups = path.iter().take_while(|part| *part == "super").count();
            Some([&name[..name.len().checked_sub(ups)?], &path[ups..]].concat())
        }
        _ => child().map(|_| [name, path].concat()),
    }
}

/// The rooms by the rows of the table in `lib.rs`, from top to bottom.
fn rows() -> Vec<Vec<String>> {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("//! | [`")?.split(" | ").next());
    // What stands between the first and the second backtick, the third and the fourth, …
    rows.map(|rooms| rooms.split('`').step_by(2).map(str::to_owned).collect()).collect()
}

#[test]
fn every_room_stands_in_the_table() {
    let room = |name: &String| name.split('/').next().unwrap().trim_end_matches(".rs").to_owned();
    let rooms: BTreeSet<_> =
        sources().keys().map(room).filter(|room| room != "lib" && room != "main").collect();
    let listed = BTreeSet::from_iter(rows().concat());
    assert_eq!(rooms, listed);
}

#[test]
fn rooms_use_only_those_above_them() {
    let rows = rows();
    let row = |room: &String| rows.iter().position(|row| row.contains(room));
    let house = House::read();
    let is_against = |(from, to): &(&Name, Name)| match (from.first(), to.first()) {
        (Some(room), Some(other)) => room != other && row(room) <= row(other),
        _ => false,
    };
    let against = house.arrows().into_iter().filter(is_against);
    let against: BTreeSet<_> =
        against.map(|(from, to)| format!("{} uses {}", from.join("::"), to.join("::"))).collect();
    assert!(against.is_empty(), "a room uses one that is not above it in the table of lib.rs: {against:#?}");
}

#[test]
fn no_parts_of_a_room_use_each_other_in_circles() {
    let house = House::read();
    let mut used: BTreeMap<(&String, &String), BTreeSet<String>> = BTreeMap::new();
    let arrows = house.arrows();
    for (from, to) in &arrows {
        if let ([room, from, ..], [other, to, ..]) = (from.as_slice(), to.as_slice())
            && room == other
            && from != to
        {
            used.entry((room, from)).or_default().insert(to.clone());
        }
    }
    let mut circles: BTreeMap<&String, Vec<String>> = BTreeMap::new();
    for (room, part) in used.keys() {
        let (mut reached, mut waiting) = (BTreeSet::new(), vec![(*part).clone()]);
        while let Some(next) = waiting.pop() {
            for to in used.get(&(*room, &next)).into_iter().flatten() {
                if reached.insert(to.clone()) {
                    waiting.push(to.clone());
                }
            }
        }
        if reached.contains(*part) {
            circles.entry(room).or_default().push((*part).clone());
        }
    }
    assert!(circles.is_empty(), "parts of a room that use each other in a circle: {circles:#?}");
}

#[test]
fn what_a_use_line_names_is_found_whoever_hands_it_on() {
    let mut found = Vec::new();
    names_in("crate::{a::B, c::{self, d as e}, f}", &[], &mut found);
    let found: Vec<_> = found.iter().map(|(name, called)| format!("{} {called}", name.join("::"))).collect();
    assert_eq!(found, ["crate::a::B B", "crate::c c", "crate::c::d e", "crate::f f"]);
    let house = House::read();
    let home = |name: &str| {
        let name: Name = name.split("::").map(str::to_owned).collect();
        house.home(&name).unwrap().join("::")
    };
    assert_eq!(home("endpoint::Trust"), "endpoint::tls::settings");
    assert_eq!(home("endpoint::tls::Trust"), "endpoint::tls::settings");
    assert_eq!(home("units"), "units");
}
