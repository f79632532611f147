//! Finds the program that runs the trials of other libraries.

use crate::trial;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Its name.
const NAME: &str = "homarus-peers";
/// How it is made.
const BUILD: &str = "cargo build --release -p homarus-peers";

/// The program, or what to tell the user.
pub(super) fn find(own: &Path) -> Result<PathBuf, String> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    first_usable(candidates(own, &target))
}

fn first_usable(candidates: Vec<PathBuf>) -> Result<PathBuf, String> {
    let Some(program) = candidates.into_iter().find(|path| path.is_file()) else {
        return Err(format!("quinn, tonic and tarpc are skipped: {NAME} was not found. Build it with `{BUILD}`"));
    };
    let version = Command::new(&program).arg("--version").output();
    let said = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let expected = format!("{NAME} {}", trial::VERSION);
    match said {
        Ok(said) if said == expected => Ok(program),
        Ok(said) => Err(format!(
            "quinn, tonic and tarpc are skipped: {} is '{said}' where '{expected}' was expected. \
             Build it again with `{BUILD}`",
            program.display()
        )),
        Err(error) => Err(format!(
            "quinn, tonic and tarpc are skipped: {} does not start ({error}). Build it again with `{BUILD}`",
            program.display()
        )),
    }
}

/// Beside this program, then where cargo puts release builds.
fn candidates(own: &Path, target: &Path) -> Vec<PathBuf> {
    let beside = own.parent();
    let release_beside_debug = beside.and_then(Path::parent).map(|target| target.join("release"));
    [beside.map(Path::to_owned), release_beside_debug, Some(target.join("release"))]
        .into_iter()
        .flatten()
        .map(|folder| folder.join(NAME))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn looks_beside_itself_first() {
        let found = candidates(Path::new("/x/target/debug/homarus"), Path::new("target"));
        let places =
            ["/x/target/debug/homarus-peers", "/x/target/release/homarus-peers", "target/release/homarus-peers"];
        assert_eq!(found, places.map(PathBuf::from));
    }

    #[test]
    fn what_is_missing_says_how_to_build_it() {
        let why = first_usable(vec!["/nowhere/homarus-peers".into()]).unwrap_err();
        assert!(why.contains("cargo build --release -p homarus-peers"), "{why}");
    }

    #[test]
    fn a_program_of_another_version_is_not_used() {
        let program = env::temp_dir().join(format!("homarus-peers-{}", std::process::id()));
        fs::write(&program, "#!/bin/sh\necho homarus-peers 0.0.0\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let why = first_usable(vec![program.clone()]).unwrap_err();
        fs::remove_file(&program).unwrap();
        assert!(why.contains("'homarus-peers 0.0.0' where"), "{why}");
    }
}
