//! The homarus command.

fn main() -> std::process::ExitCode {
    homarus_cli::main()
}
