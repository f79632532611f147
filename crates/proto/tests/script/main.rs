//! One endpoint: it gets this, it sends that, and then nothing more.

mod client;
mod doubt;
mod hostile;
mod kernel;
mod script;
mod server;
mod strangers;
