//! Exit codes and messages of a command line that is wrong or asks for help.

use crate::program::run;

#[test]
fn no_subcommand_shows_help_and_is_a_usage_error() {
    let ended = run(&[]);
    assert_eq!(ended.code, Some(2));
    for subcommand in ["serve", "call", "bench", "compare"] {
        assert!(ended.stderr.contains(subcommand), "{}", ended.stderr);
    }
    assert!(!ended.stderr.contains("bench-trial"), "hidden subcommands stay hidden");
}

#[test]
fn help_and_version_succeed() {
    assert_eq!(run(&["--help"]).code, Some(0));
    let version = run(&["--version"]);
    assert_eq!(version.code, Some(0));
    assert_eq!(version.stdout.trim(), format!("homarus {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_values_are_usage_errors_that_say_what_is_expected() {
    let cases: [(&[&str], &str); 11] = [
        (&["call"], "ADDR"),
        (&["call", "nonsense"], "expected HOST:PORT, such as 127.0.0.1:4000"),
        (&["call", "http://127.0.0.1:1"], "homa://HOST:PORT"),
        (&["call", "kernel://nonsense"], "kernel://HOST:PORT"),
        (&["serve", "127.0.0.1:0", "homa://nonsense"], "homa://HOST:PORT"),
        (&["call", "127.0.0.1:1", "--size", "ten"], "expected a number of bytes such as 100, 64k"),
        (&["call", "127.0.0.1:1", "--count", "0"], "1.."),
        (&["call", "127.0.0.1:1", "--deadline", "0"], "expected seconds"),
        (&["call", "127.0.0.1:1", "--spin", "--blocking"], "cannot be used with"),
        (&["bench", "--rounds", "0"], "1..=1000"),
        (&["race"], "unrecognized subcommand"),
    ];
    for (args, says) in cases {
        let ended = run(args);
        assert_eq!(ended.code, Some(2), "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(says), "{args:?}: {}", ended.stderr);
    }
}

#[test]
fn what_cannot_be_done_is_explained() {
    run(&["call", "nobody.invalid:1"]).is_clear_failure("check the host's name");
    run(&["serve", "192.0.2.1:0"]).is_clear_failure("choose an address of this machine");
    run(&["bench", "--json", "/nowhere/record.json"]).is_clear_failure("choose another file or folder");
    run(&["serve", "127.0.0.1:0", "--capture", "/nowhere/file"]).is_clear_failure("choose another file or folder");
    run(&["call", "127.0.0.1:1", "--blocking", "--concurrency", "5000"]).is_clear_failure("at most 1000");
}
