//! For tokio: calls are futures, and one task drives an endpoint.

mod call;
mod client;
mod driver_task;
mod endpoint;
mod ready;
mod requests;
mod serve;
mod stage;

pub use call::Call;
pub use client::Client;
pub use endpoint::Endpoint;
pub use requests::Requests;
pub use serve::ServeOptions;
