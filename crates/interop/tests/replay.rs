//! Every capture of the Linux module, played to an endpoint in the place of each side.

use homarus_interop::kernel::wire::Packet;
use homarus_interop::replay::{CAPTURES, Capture, Content, Replayed, Role, replay};
use homarus_proto::{RpcError, Unreachable};

fn played(name: &str, role: Role) -> Option<Replayed> {
    let outcome = replay(&Capture::read(name), role)?;
    assert!(outcome.faults.is_empty(), "{name} as {role:?}:\n{}", outcome.faults.join("\n"));
    Some(outcome)
}

#[test]
fn the_models_wire_format_gives_every_captured_packet_back() {
    let mut packets = 0;
    for name in CAPTURES {
        for frame in Capture::read(name).frames {
            let Content::Homa(bytes, packet) = frame.content else { continue };
            assert_eq!(Packet::encode(&packet), bytes, "{name} at {:?}", frame.at);
            packets += 1;
        }
    }
    assert_eq!(packets, 1_063);
}

#[test]
fn as_the_server() {
    let mut compared = 0;
    for name in CAPTURES {
        let Some(outcome) = played(name, Role::Server) else { continue };
        // Nothing of the server's arrives where the way back is blocked.
        let expected = if name.starts_with("10") { 0 } else { outcome.rpcs };
        assert_eq!(outcome.answered, expected, "{name}");
        compared += outcome.compared;
    }
    assert_eq!(compared, 21, "answers that could be held against captured ones");
}

#[test]
fn as_the_client() {
    let mut compared = 0;
    for name in CAPTURES {
        let Some(outcome) = played(name, Role::Client) else { continue };
        compared += outcome.compared;
        match &name[..2] {
            "10" => assert!(matches!(outcome.failed[..], [RpcError::PeerDead { .. }]), "{name}: {:?}", outcome.failed),
            "15" => assert_eq!(outcome.failed, [RpcError::Unreachable(Unreachable::Port)], "{name}"),
            "23" => assert_eq!(outcome.failed, [RpcError::Unreachable(Unreachable::Protocol)], "{name}"),
            _ => assert_eq!(outcome.answered, outcome.rpcs, "{name}"),
        }
    }
    assert_eq!(compared, 21, "answers that could be held against captured ones");
}
