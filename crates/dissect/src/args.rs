use clap::Args;
use std::path::PathBuf;

/// Show what a packet capture holds of Homa: packets, the course of an RPC, a summary
#[derive(Clone, Debug, Args)]
#[command(after_help = "Exit codes: 0 the file was read to its end; 1 it was not (damaged, cut off, no capture), or \
    --rpc names an RPC that it does not hold; 2 command line not understood.")]
pub struct DissectArgs {
    /// Capture in the format pcap or pcapng; - for standard input
    #[arg(value_name = "FILE", required_unless_present = "lua")]
    pub file: Option<PathBuf>,
    /// Show the course of one RPC: its id as either side knows it, decimal or 0x…
    #[arg(long, value_name = "ID", value_parser = rpc_id, conflicts_with_all = ["summary", "lua"])]
    pub rpc: Option<u64>,
    /// Show only the summary: RPCs, sizes, grants, losses, durations
    #[arg(long, conflicts_with = "lua")]
    pub summary: bool,
    /// Show every field of each packet
    #[arg(long, conflicts_with_all = ["summary", "lua"])]
    pub fields: bool,
    /// Print JSON, one object a line (docs/dissect.md)
    #[arg(long, conflicts_with = "lua")]
    pub json: bool,
    /// Take UDP datagrams from or to this port as Homa, and no others (may be given several times); without it, those
    /// that begin with a plausible header
    #[arg(long, value_name = "PORT", conflicts_with = "lua", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Vec<u16>,
    /// RPCs to follow at once; what is beyond is counted, not followed
    #[arg(long, value_name = "COUNT", default_value_t = 100_000, conflicts_with = "lua",
        value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub max_rpcs: u32,
    /// Print a dissector for Wireshark in Lua instead of reading a file
    #[arg(long, conflicts_with = "file")]
    pub lua: bool,
}

fn rpc_id(text: &str) -> Result<u64, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|_| "an RPC id is a number up to 2^64 - 1, decimal or hexadecimal with 0x".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser};

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        args: DissectArgs,
    }

    fn parse(line: &str) -> Result<DissectArgs, String> {
        let words = std::iter::once("dissect").chain(line.split_whitespace());
        Command::try_parse_from(words).map(|command| command.args).map_err(|error| error.to_string())
    }

    #[test]
    fn the_command_line_is_sound() {
        Command::command().debug_assert();
        let args = parse("a.pcap --rpc 0x1f --json --port 4000 --port 5000").expect("understood");
        assert_eq!((args.rpc, args.json, args.port), (Some(31), true, vec![4000, 5000]));
        assert!(parse("--lua").expect("no file needed").lua);
    }

    #[test]
    fn contradictions_are_refused() {
        for line in
            ["", "a.pcap --lua", "a.pcap --rpc x", "a.pcap --rpc 2 --summary", "a.pcap --port 0", "--lua --json"]
        {
            assert!(parse(line).is_err(), "{line}");
        }
        assert!(parse("a.pcap --rpc 2x").expect_err("no id").contains("an RPC id is a number up to 2^64 - 1"));
    }
}
