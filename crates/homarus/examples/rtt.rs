//! What homarus costs beside bare UDP sockets used the same way: 100-byte echoes on loopback, all in one interleaved run,
//! so that the ratios mean something even on a busy machine.
//!
//!     cargo run --release --example rtt [ROUNDS] [NAME-PART]

use anyhow::Result;
use hdrhistogram::Histogram;
use homarus::blocking::Spin;
use homarus::{Builder, Endpoint};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const LOCAL: &str = "127.0.0.1:0";
const MESSAGE: [u8; 100] = [7; 100];
/// How long one measurement of one variant lasts.
const SLICE: Duration = Duration::from_millis(250);
const OUTSTANDING: usize = 64;
/// Round trips before measuring starts.
const WARM_UP: usize = 256;

/// Round-trip times of one slice, nanoseconds, and round trips per second.
struct Slice {
    times: Histogram<u64>,
    rate: f64,
}

/// One way of doing echoes, and the bare way that it is compared with.
struct Variant {
    name: &'static str,
    run: fn() -> Result<Slice>,
    beside: Option<usize>,
    /// Whether many are outstanding, so that the rate counts and not the time of each.
    many: bool,
}

const VARIANTS: [Variant; 12] = [
    Variant { name: "udp, blocking", run: udp_blocking, beside: None, many: false },
    Variant { name: "homarus, blocking", run: || homarus_blocking(Spin::default()), beside: Some(0), many: false },
    Variant { name: "homarus, sleeping at once", run: || homarus_blocking(Spin::Never), beside: Some(0), many: false },
    Variant { name: "udp, spinning", run: udp_spinning, beside: None, many: false },
    Variant { name: "homarus, spinning", run: || homarus_blocking(Spin::Always), beside: Some(3), many: false },
    Variant { name: "udp, tokio", run: || udp_tokio(false), beside: None, many: false },
    Variant { name: "homarus, tokio", run: || homarus_tokio(1, false), beside: Some(5), many: false },
    Variant { name: "udp, threaded tokio", run: || udp_tokio(true), beside: None, many: false },
    Variant { name: "homarus, threaded tokio", run: || homarus_tokio(1, true), beside: Some(7), many: false },
    Variant { name: "64 × udp, coalesced", run: udp_coalesced, beside: None, many: true },
    Variant { name: "64 × homarus, tokio", run: || homarus_tokio(OUTSTANDING, false), beside: Some(9), many: true },
    Variant {
        name: "64 × homarus, threaded tokio",
        run: || homarus_tokio(OUTSTANDING, true),
        beside: Some(9),
        many: true,
    },
];

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let rounds = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let part = arguments.next().unwrap_or_default();
    let mut slices: Vec<Vec<Slice>> = VARIANTS.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (variant, done) in VARIANTS.iter().zip(&mut slices) {
            if variant.name.contains(&part) {
                done.push((variant.run)()?);
            }
        }
    }
    println!("{:<30} {:>8} {:>8} {:>10}   beside bare UDP", "100 B echo", "P50 µs", "P99 µs", "per second");
    for (variant, own) in VARIANTS.iter().zip(&slices).filter(|(_, own)| !own.is_empty()) {
        let (p50, p99, rate) = summary(own);
        print!("{:<30} {:>8.1} {:>8.1} {:>10.0}", variant.name, p50, p99, rate);
        match variant.beside.map(|index| &slices[index]).filter(|bare| !bare.is_empty()) {
            Some(bare) if variant.many => println!("   rate × {:.2}", ratio(own, bare, |slice| slice.rate)),
            Some(bare) => println!(
                "   P50 × {:.2}, P99 × {:.2}",
                ratio(own, bare, |slice| quantile(slice, 0.5)),
                ratio(own, bare, |slice| quantile(slice, 0.99))
            ),
            None => println!(),
        }
    }
    Ok(())
}

fn quantile(slice: &Slice, quantile: f64) -> f64 {
    slice.times.value_at_quantile(quantile) as f64 / 1000.0
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn summary(slices: &[Slice]) -> (f64, f64, f64) {
    let over = |of: fn(&Slice) -> f64| median(slices.iter().map(of).collect());
    (over(|slice| quantile(slice, 0.5)), over(|slice| quantile(slice, 0.99)), over(|slice| slice.rate))
}

/// The median over rounds of the ratio within each round.
fn ratio(own: &[Slice], bare: &[Slice], of: fn(&Slice) -> f64) -> f64 {
    median(own.iter().zip(bare).map(|(own, bare)| of(own) / of(bare)).collect())
}

/// Up to a second, to three digits.
fn histogram() -> Result<Histogram<u64>> {
    Ok(Histogram::new_with_max(1_000_000_000, 3)?)
}

/// Times one echo after the other until the slice is over.
struct Meter {
    times: Histogram<u64>,
    echoes: usize,
    /// Of how many echoes one is timed: reading the clock costs as much as a small part of an echo.
    sample: usize,
    start: Instant,
    before: Instant,
}

impl Meter {
    fn new(sample: usize) -> Result<Meter> {
        let now = Instant::now();
        Ok(Meter { times: histogram()?, echoes: 0, sample, start: now, before: now })
    }

    /// Notes that an echo has come back, and says whether there should be another.
    fn lap(&mut self) -> bool {
        self.echoes += 1;
        let place = self.echoes % self.sample;
        if place != 0 && place != self.sample - 1 {
            return true;
        }
        let now = Instant::now();
        if self.echoes == WARM_UP {
            self.times.reset();
            self.start = now;
        } else if place == 0 {
            self.times.saturating_record((now - self.before).as_nanos() as u64);
        }
        self.before = now;
        now - self.start < SLICE
    }

    fn finish(self) -> Slice {
        let measured = self.echoes.saturating_sub(WARM_UP);
        Slice { times: self.times, rate: measured as f64 / (self.before - self.start).as_secs_f64() }
    }
}

/// Runs a UDP echo server until `client` returns.
fn beside_udp_server(spin: bool, client: impl FnOnce(SocketAddr) -> Result<Slice>) -> Result<Slice> {
    let server = UdpSocket::bind(LOCAL)?;
    let addr = server.local_addr()?;
    server.set_nonblocking(spin)?;
    let over = &AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut buffer = [0; 2000];
            while !over.load(Ordering::Relaxed) {
                if let Ok((length, from)) = server.recv_from(&mut buffer) {
                    // A lost echo would show as a hang.
                    let _ = server.send_to(&buffer[..length], from);
                }
            }
        });
        let slice = client(addr);
        over.store(true, Ordering::Relaxed);
        UdpSocket::bind(LOCAL)?.send_to(&[0], addr)?;
        slice
    })
}

fn udp_blocking() -> Result<Slice> {
    beside_udp_server(false, |addr| {
        let socket = UdpSocket::bind(LOCAL)?;
        let mut buffer = [0; 2000];
        let mut meter = Meter::new(1)?;
        while meter.lap() {
            socket.send_to(&MESSAGE, addr)?;
            socket.recv_from(&mut buffer)?;
        }
        Ok(meter.finish())
    })
}

fn udp_spinning() -> Result<Slice> {
    beside_udp_server(true, |addr| {
        let socket = UdpSocket::bind(LOCAL)?;
        socket.set_nonblocking(true)?;
        let mut buffer = [0; 2000];
        let mut meter = Meter::new(1)?;
        while meter.lap() {
            socket.send_to(&MESSAGE, addr)?;
            while socket.recv_from(&mut buffer).is_err() {}
        }
        Ok(meter.finish())
    })
}

fn homarus_blocking(spin: Spin) -> Result<Slice> {
    let bind = || Builder::default().spin(spin).bind_blocking(LOCAL);
    let server = bind()?;
    thread::scope(|scope| {
        scope.spawn(|| {
            server.serve(|request| {
                let message = request.message().clone();
                request.respond(message)
            });
        });
        let client = bind()?.client(server.local_addr());
        let mut meter = Meter::new(1)?;
        while meter.lap() {
            client.call(MESSAGE)?;
        }
        server.close();
        Ok(meter.finish())
    })
}

fn runtime(threads: bool) -> Result<tokio::runtime::Runtime> {
    let mut builder = match threads {
        true => tokio::runtime::Builder::new_multi_thread(),
        false => tokio::runtime::Builder::new_current_thread(),
    };
    Ok(builder.worker_threads(2).enable_all().build()?)
}

fn udp_tokio(threads: bool) -> Result<Slice> {
    let (to_client, from_server) = mpsc::channel();
    thread::scope(|scope| {
        let (over, is_over) = tokio::sync::oneshot::channel::<()>();
        scope.spawn(move || -> Result<()> {
            let serve = async move {
                let server = tokio::net::UdpSocket::bind(LOCAL).await?;
                to_client.send(server.local_addr()?).map_err(std::io::Error::other)?;
                let mut buffer = [0; 2000];
                loop {
                    let (length, from) = server.recv_from(&mut buffer).await?;
                    server.send_to(&buffer[..length], from).await?;
                }
            };
            runtime(threads)?.block_on(async {
                let serving: tokio::task::JoinHandle<std::io::Result<()>> = tokio::spawn(serve);
                drop(is_over.await);
                serving.abort();
            });
            Ok(())
        });
        let addr = from_server.recv()?;
        let slice = runtime(threads)?.block_on(async {
            tokio::spawn(async move {
                let socket = tokio::net::UdpSocket::bind(LOCAL).await?;
                let mut buffer = [0; 2000];
                let mut meter = Meter::new(1)?;
                while meter.lap() {
                    socket.send_to(&MESSAGE, addr).await?;
                    socket.recv_from(&mut buffer).await?;
                }
                anyhow::Ok(meter.finish())
            })
            .await?
        });
        drop(over);
        slice
    })
}

fn homarus_tokio(outstanding: usize, threads: bool) -> Result<Slice> {
    let (to_client, from_server) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || -> Result<()> {
            runtime(threads)?.block_on(async {
                let server = Endpoint::bind(LOCAL).await?;
                to_client.send(server.clone())?;
                tokio::spawn(async move {
                    server
                        .serve(|request| async move {
                            let message = request.message().clone();
                            request.respond(message)
                        })
                        .await;
                })
                .await?;
                Ok(())
            })
        });
        let server = from_server.recv()?;
        let slice = runtime(threads)?.block_on(homarus_callers(server.local_addr(), outstanding));
        server.close();
        slice
    })
}

async fn homarus_callers(addr: SocketAddr, outstanding: usize) -> Result<Slice> {
    let client = Endpoint::bind(LOCAL).await?.client(addr);
    let callers: Vec<_> = (0..outstanding)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                let mut meter = Meter::new(if outstanding > 1 { 16 } else { 1 })?;
                while meter.lap() {
                    client.call(MESSAGE).await?;
                }
                anyhow::Ok(meter.finish())
            })
        })
        .collect();
    let mut all = Slice { times: histogram()?, rate: 0.0 };
    for caller in callers {
        let slice = caller.await??;
        all.times.add(&slice.times)?;
        all.rate += slice.rate;
    }
    Ok(all)
}

/// As many messages as fit share each datagram.
fn udp_coalesced() -> Result<Slice> {
    const PER_DATAGRAM: usize = 1472 / MESSAGE.len();
    beside_udp_server(false, |addr| {
        let socket = UdpSocket::bind(LOCAL)?;
        let datagram = [7; PER_DATAGRAM * MESSAGE.len()];
        let in_flight = OUTSTANDING.div_ceil(PER_DATAGRAM);
        let mut buffer = [0; 2000];
        for _ in 0..in_flight {
            socket.send_to(&datagram, addr)?;
        }
        let mut meter = Meter::new(1)?;
        while meter.lap() {
            socket.recv_from(&mut buffer)?;
            socket.send_to(&datagram, addr)?;
        }
        let mut slice = meter.finish();
        slice.rate *= PER_DATAGRAM as f64;
        Ok(slice)
    })
}
