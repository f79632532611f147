//! For threads: calls block, and the thread that waits drives the endpoint itself.
//!
//! ```
//! use homarus::blocking::Endpoint;
//! use std::thread;
//!
//! # fn main() -> Result<(), homarus::Error> {
//! let server = Endpoint::bind("127.0.0.1:0")?;
//! let address = server.local_addr();
//! let worker = thread::spawn(move || {
//!     server.serve(|request| {
//!         let answer = request.message().to_ascii_uppercase();
//!         request.respond(answer)?;
//!         # server.close();
//!         Ok(())
//!     });
//! });
//!
//! let client = Endpoint::bind("127.0.0.1:0")?.client(address);
//! assert_eq!(&client.call("hello")?[..], b"HELLO");
//! # drop(worker.join());
//! # Ok(())
//! # }
//! ```

mod client;
mod endpoint;
mod leader;
mod spin;
mod wait;

pub use client::Client;
pub use endpoint::Endpoint;
pub use spin::Spin;
