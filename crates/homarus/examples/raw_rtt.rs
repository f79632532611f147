//! What Homa over IP costs beside Homa over UDP, on loopback, both in one interleaved run: round trips of 100 bytes,
//! echoes of 1 MB, and what further Homa ports on the host add. Takes root, or CAP_NET_RAW.
//!
//!     cargo run --release -p homarus --example raw_rtt [ROUNDS] [NAME-PART]

use anyhow::Result;
use hdrhistogram::Histogram;
use homarus::blocking::{Endpoint, Spin};
use homarus::{Address, RawConfig};
use homarus_io::RawIo;
use std::thread;
use std::time::{Duration, Instant};

const UDP: &str = "127.0.0.1:0";
const IP: &str = "homa://127.0.0.1:0";
/// How long one measurement of one variant lasts.
const SLICE: Duration = Duration::from_millis(250);
/// Echoes before measuring starts.
const WARM_UP: usize = 64;
const SHORT: usize = 100;
const LONG: usize = 1_000_000;

struct Variant {
    name: &'static str,
    address: &'static str,
    spin: Spin,
    length: usize,
    /// Homa ports on the host beside those of client and server.
    further_ports: usize,
    /// What it is compared with.
    beside: Option<usize>,
}

const fn variant(name: &'static str, address: &'static str, spin: Spin, length: usize) -> Variant {
    Variant { name, address, spin, length, further_ports: 0, beside: None }
}

fn variants() -> Vec<Variant> {
    let with = |further_ports, beside, variant| Variant { further_ports, beside: Some(beside), ..variant };
    vec![
        variant("udp, sleeping", UDP, Spin::Never, SHORT),
        with(0, 0, variant("ip, sleeping", IP, Spin::Never, SHORT)),
        variant("udp, spinning", UDP, Spin::Always, SHORT),
        with(0, 2, variant("ip, spinning", IP, Spin::Always, SHORT)),
        with(8, 3, variant("ip, spinning, 8 further ports", IP, Spin::Always, SHORT)),
        with(64, 3, variant("ip, spinning, 64 further ports", IP, Spin::Always, SHORT)),
        variant("udp, 1 MB", UDP, Spin::Never, LONG),
        with(0, 6, variant("ip, 1 MB", IP, Spin::Never, LONG)),
    ]
}

impl Variant {
    /// The median round trip, µs.
    fn run(&self) -> Result<f64> {
        let further = (0..self.further_ports)
            .map(|_| RawIo::bind("127.0.0.1:0".parse()?, RawConfig::default()).map_err(anyhow::Error::from));
        let further: Vec<_> = further.collect::<Result<_>>()?;
        let address: Address = self.address.parse()?;
        let server = Endpoint::builder().spin(self.spin).bind_address_blocking(&address)?;
        let times = thread::scope(|scope| {
            scope.spawn(|| {
                server.serve(|request| {
                    let message = request.message().clone();
                    request.respond(message)
                });
            });
            let times = self.echo(&address, &server);
            server.close();
            times
        });
        drop(further);
        Ok(times?.value_at_quantile(0.5) as f64 / 1000.0)
    }

    fn echo(&self, address: &Address, server: &Endpoint) -> Result<Histogram<u64>> {
        let client = Endpoint::builder().spin(self.spin).bind_address_blocking(address)?.client(server.local_addr());
        let mut times = Histogram::new_with_max(1_000_000_000, 3)?;
        let message = vec![7; self.length];
        let warm_up = if self.length == SHORT { WARM_UP } else { 1 };
        for _ in 0..warm_up {
            client.call(&message)?;
        }
        let start = Instant::now();
        while start.elapsed() < SLICE {
            let sent = Instant::now();
            client.call(&message)?;
            times.saturating_record(sent.elapsed().as_nanos() as u64);
        }
        Ok(times)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let rounds: usize = arguments.next().map_or(Ok(9), |text| text.parse())?;
    let part = arguments.next().unwrap_or_default();
    let variants = variants();
    let mut times = vec![Vec::new(); variants.len()];
    for _ in 0..rounds {
        for (variant, times) in variants.iter().zip(&mut times) {
            if variant.name.contains(&part) {
                times.push(variant.run()?);
            }
        }
    }
    println!("{:<32} {:>10}   beside", "echo over loopback", "P50 µs");
    for (variant, own) in variants.iter().zip(&times).filter(|(_, own)| !own.is_empty()) {
        print!("{:<32} {:>10.2}", variant.name, median(own.clone()));
        match variant.beside.map(|at| (&variants[at], &times[at])).filter(|(_, bare)| !bare.is_empty()) {
            Some((other, bare)) => {
                let ratio = median(own.iter().zip(bare).map(|(own, bare)| own / bare).collect());
                println!("   {ratio:.3} × {}", other.name);
            }
            None => println!(),
        }
    }
    Ok(())
}
