//! The API over the kernel's Homa module: against a fake of its socket, and against the real one where there is one.

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../io/tests/common/fake_kernel.rs"]
mod fake_kernel;

mod bounds;
mod calls;
mod ends;
mod failures;
mod real;

use fake_kernel::FakeKernel;
use homarus::{Builder, Config, Endpoint, KernelIo, blocking};

/// Pages of memory that each socket has: enough for one message of any length.
const PAGES: usize = 16;

fn io(kernel: &FakeKernel, addr: &str) -> KernelIo {
    KernelIo::over(kernel.socket(addr, PAGES))
}

/// An endpoint of a kernel without faults so far.
fn endpoint(kernel: &FakeKernel, addr: &str) -> Endpoint {
    Builder::default().run_kernel(io(kernel, addr)).expect("an endpoint")
}

fn endpoint_with(kernel: &FakeKernel, addr: &str, config: Config) -> Endpoint {
    Builder::default().config(config).run_kernel(io(kernel, addr)).expect("an endpoint")
}

fn blocking_endpoint(kernel: &FakeKernel, addr: &str, spin: blocking::Spin) -> blocking::Endpoint {
    Builder::default().spin(spin).run_kernel_blocking(io(kernel, addr)).expect("an endpoint")
}

/// Checks that an endpoint holds nothing, and its kernel none of its pages or calls.
fn assert_idle(kernel: &FakeKernel, endpoint: &Endpoint) {
    let (addr, view) = (endpoint.local_addr(), endpoint.metrics().view);
    assert_eq!((view.client_rpcs, view.server_rpcs, view.send_buffer, view.timers), (0, 0, 0, 0), "{addr}");
    assert_eq!((kernel.pages_out(addr), kernel.calls(addr)), (0, 0), "{addr}");
}
