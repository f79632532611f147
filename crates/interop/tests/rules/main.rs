//! The rules of the wire, each alone: a packet as Linux sends it, and what an endpoint makes of it.

mod asked;
mod client;
mod forms;
mod malformed;
mod script;
mod server;
