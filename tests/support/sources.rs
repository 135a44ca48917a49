//! The sources, by room.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// All files of the rooms, in whichever package they are: `load/worker.rs` and where it is.
pub fn sources() -> BTreeMap<String, PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let packages = entries(&root.join("crates")).into_iter().chain([root.to_owned()]);
    let of_package = |package: PathBuf| {
        let rooms = package.join("src");
        let name =
            move |path: PathBuf| (path.strip_prefix(&rooms).unwrap().to_str().unwrap().to_owned(), path);
        files(&package.join("src")).into_iter().map(name)
    };
    packages.flat_map(of_package).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    entries(folder)
        .into_iter()
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect()
}
