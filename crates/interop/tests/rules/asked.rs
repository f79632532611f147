//! What RESEND leads to, on both sides.

use crate::script::{FULL, Script, THEIR_ID, cutoffs, cuts, data, resend};
use homarus_interop::kernel::wire::Body;
use std::time::Duration;

/// An endpoint with a response of that length, all of which Linux has granted and which was sent long ago; or a
/// request.
fn sent_long_ago(length: u32, as_server: bool) -> (Script, u64) {
    let mut script = Script::new();
    let id = if as_server {
        script.is_called(THEIR_ID, 10);
        script.gets(THEIR_ID, cutoffs()).expect("taken");
        script.responds(length);
        THEIR_ID
    } else {
        script.calls(length) | 1
    };
    script.sends();
    let _ = script.gets(id, Body::Grant { offset: length, priority: 2 });
    script.sends();
    script.now += Duration::from_secs(1);
    (script, id)
}

#[test]
fn retransmissions_have_the_boundaries_of_first_transmissions() {
    for as_server in [true, false] {
        for length in [100, 10_000, 100_000] {
            let original: Vec<_> = cuts(length).into_iter().map(|cut| cut.0..cut.1).collect();
            for (offset, wanted) in [(0, length), (0, 1), (length / 2, 1), (length / 3, length / 3), (length - 1, 1)] {
                let (mut script, id) = sent_long_ago(length, as_server);
                script.gets(id, resend(offset, wanted as i32)).expect("taken");
                let again: Vec<_> = script.sends();
                let ranges: Vec<_> = again.iter().map(|sent| sent.data().1.clone()).collect();
                let overlaps = |cut: &&std::ops::Range<u32>| cut.start < offset + wanted && offset < cut.end;
                assert_eq!(ranges, original.iter().filter(overlaps).cloned().collect::<Vec<_>>());
                for sent in &again {
                    let (data, range) = sent.data();
                    assert!(data.retransmit && data.segment_offset == Some(range.start), "{data:?}");
                    assert!(data.incoming >= range.end && data.incoming <= length, "the end of the range");
                    assert_eq!(data.incoming, ranges.last().expect("a range").end);
                }
            }
        }
    }
}

#[test]
fn all_that_was_sent_and_no_more() {
    let (mut script, id) = (Script::new(), THEIR_ID);
    script.is_called(id, 10);
    script.responds(100_000);
    script.sends();
    script.now += Duration::from_secs(1);
    script.gets(id, resend(0, -1)).expect("taken");
    let again = script.sends();
    assert_eq!(again.last().expect("packets").data().1.end, 40_000);
    assert!(again.iter().all(|sent| sent.data().0.incoming == 40_000));
}

#[test]
fn a_resend_beyond_the_grant_grants_and_busy_says_that_nothing_was_sent() {
    let mut script = Script::new();
    script.is_called(THEIR_ID, 10);
    script.responds(100_000);
    script.sends();
    script.now += Duration::from_secs(1);
    script.gets(THEIR_ID, resend(40_000, 20_000)).expect("taken");
    let sent = script.sends();
    assert_eq!(sent[0].packet.body, Body::Busy);
    assert_eq!(sent[1].data().1, 40_000..40_000 + FULL);
    assert!(!sent[1].data().0.retransmit, "it is the first time");
    let end = sent.last().expect("packets").data().1.end;
    assert!((60_000..60_000 + FULL).contains(&end), "{end}");
}

#[test]
fn a_resend_across_the_grant_does_both() {
    let mut script = Script::new();
    script.is_called(THEIR_ID, 10);
    script.responds(100_000);
    script.sends();
    script.now += Duration::from_secs(1);
    script.gets(THEIR_ID, resend(38_448, 10_000)).expect("taken");
    let sent = script.sends();
    let parts: Vec<_> = sent.iter().map(|sent| (sent.data().0.retransmit, sent.data().1.start)).collect();
    assert_eq!(parts[..3], [(true, 38_448), (true, 39_872), (false, 40_000)]);
}

#[test]
fn gaps_are_asked_for_one_by_one_and_then_the_tail() {
    let mut script = Script::new();
    let length = 20_000;
    let lost = [1_424, 7_120, 8_544];
    for (start, end) in cuts(length).into_iter().filter(|cut| !lost.contains(&cut.0) && cut.0 < 14_240) {
        script.gets(THEIR_ID, data(length, start, end)).expect("taken");
    }
    let asked: Vec<Body> = script.waits(Duration::from_millis(40)).into_iter().map(|sent| sent.packet.body).collect();
    for wanted in [resend(1_424, 1_424), resend(7_120, 2_848), resend(14_240, 5_760)] {
        assert!(asked.contains(&wanted), "{wanted:?} is not among {asked:?}");
    }
    for (start, end) in cuts(length) {
        let _ = script.gets(THEIR_ID, data(length, start, end));
    }
    assert_eq!(script.requests.len(), 1);
}
