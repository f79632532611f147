//! Replays the committed corpus of the fuzz targets.

use homarus_swarm::cases;
use std::path::Path;

fn replay(target: &str, case: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
    let mut count = 0;
    for entry in entries {
        let path = entry.expect("a readable folder").path();
        let bytes = std::fs::read(&path).expect("a readable file");
        println!("{}", path.display());
        case(&bytes);
        count += 1;
    }
    assert!(count > 10, "{count} cases in {}", folder.display());
}

#[test]
fn wire() {
    replay("wire", cases::wire);
}

#[test]
fn endpoint() {
    replay("endpoint", cases::endpoint);
}

#[test]
fn pair() {
    replay("pair", cases::pair);
}
