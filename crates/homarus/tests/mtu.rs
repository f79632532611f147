//! Paths of several MTUs, each in a network namespace of its own.

mod common;
#[path = "../../io/tests/common/namespace.rs"]
mod namespace;

use common::{echo_server, pattern, run};
use homarus::Endpoint;
use namespace::{enter, shell};
use tokio::task::JoinSet;

/// Calls of all lengths over loopback, as it is now.
async fn calls() {
    let (server, addr) = echo_server().await;
    let client = Endpoint::bind(common::LOCAL).await.expect("bind");
    echo_all(&client, addr).await;
    drop(server);
}

async fn echo_all(client: &Endpoint, addr: std::net::SocketAddr) {
    let mut calls = JoinSet::new();
    for (seed, length) in [0, 1, 100, 1_376, 1_377, 8_916, 8_917, 50_000, 1_000_000].into_iter().enumerate() {
        let client = client.client(addr);
        calls.spawn(async move {
            let sent = pattern(length, seed as u64);
            assert!(client.call(&sent).await.expect("call") == sent, "{length} bytes");
        });
    }
    while let Some(ended) = calls.join_next().await {
        ended.expect("contents");
    }
}

#[test]
fn paths_of_every_mtu() {
    if !enter("paths_of_every_mtu", "ip link set lo mtu 1460") {
        return;
    }
    for mtu in [1460, 9000, 1500, 600, 65_536] {
        shell(&format!("ip link set lo mtu {mtu}"));
        run(calls());
    }
}

#[test]
fn a_path_that_changes_under_an_endpoint() {
    if !enter("a_path_that_changes_under_an_endpoint", "ip link set lo mtu 9000") {
        return;
    }
    run(async {
        let (_server, addr) = echo_server().await;
        let client = Endpoint::bind(common::LOCAL).await.expect("bind");
        for mtu in [9000, 1460, 9000, 1300] {
            shell(&format!("ip link set lo mtu {mtu}"));
            echo_all(&client, addr).await;
        }
    });
}

#[test]
fn a_router_with_a_narrower_link_behind_it() {
    let setup = "ip link add name near mtu 9000 type veth peer name far mtu 9000 netns $router
        ip addr add 10.77.0.1/24 dev near; ip link set near up; ip route add 10.77.1.0/24 via 10.77.0.2
        unshare --net sleep 120 & host=$!; trap 'kill $router $host' EXIT
        while [ \"$(readlink /proc/self/ns/net)\" = \"$(readlink /proc/$host/ns/net)\" ]; do sleep 0.02; done
        nsenter --target $router --net ip link add name narrow mtu 1460 type veth peer name end mtu 1460 netns $host
        nsenter --target $router --net sh -c '
            ip link set lo up; ip addr add 10.77.0.2/24 dev far; ip link set far up
            ip addr add 10.77.1.2/24 dev narrow; ip link set narrow up
            echo 1 >/proc/sys/net/ipv4/ip_forward'
        nsenter --target $host --net sh -c '
            ip link set lo up; ip addr add 10.77.1.9/24 dev end; ip link set end up
            ip route add default via 10.77.1.2'
        export FAR_HOST=$host";
    if !enter("a_router_with_a_narrower_link_behind_it", setup) {
        return;
    }
    // The same test once more, as the server, in the namespace of the host behind the router.
    const SERVER: &str = "HOMARUS_TEST_FAR_SERVER";
    let addr = "10.77.1.9:4000";
    if std::env::var(SERVER).is_ok() {
        return run(async {
            let server = Endpoint::bind(addr).await.expect("bind");
            common::serve(&server, common::echo);
            // Until the client's process ends it.
            std::future::pending::<()>().await;
        });
    }
    let far = std::env::var("FAR_HOST").expect("set outside");
    let mut server = std::process::Command::new("nsenter")
        .args(["--target", &far, "--net"])
        .arg(std::env::current_exe().expect("own path"))
        .args(["--exact", "a_router_with_a_narrower_link_behind_it"])
        .env(SERVER, "1")
        .spawn()
        .expect("the server starts");
    run(async {
        let client = Endpoint::bind("10.77.0.1:0").await.expect("bind");
        let addr = addr.parse().expect("address");
        // Until the server is there.
        for _ in 0..500 {
            if client.call(addr, ()).await.is_ok() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        echo_all(&client, addr).await;
    });
    drop(server.kill());
    drop(server.wait());
}
