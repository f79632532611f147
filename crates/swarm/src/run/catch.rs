use super::{Options, Report, Violation, run};
use crate::scenario::Scenario;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Where and why this thread panicked; `None` while panics are to be reported as usual.
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Plays the scenario of a seed; a panic of an endpoint is a violation too.
pub fn run_seed(seed: u64, options: Options) -> Result<Report, Violation> {
    static HOOK: Once = Once::new();
    HOOK.call_once(install_hook);
    LAST_PANIC.set(Some(String::new()));
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| run(&Scenario::from_seed(seed), options)));
    let panicked = LAST_PANIC.take();
    outcome.unwrap_or_else(|_| Err(Violation(panicked.unwrap_or_default())))
}

/// Panics in a run are kept; others go where they always went.
fn install_hook() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let kept = LAST_PANIC.with_borrow_mut(|last| last.as_mut().map(|last| *last = panic.to_string()));
        if kept.is_none() {
            usual(panic);
        }
    }));
}
