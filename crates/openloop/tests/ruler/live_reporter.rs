//! The live points agree with the recording.

use dist::Gap;
use hist::LivePoint;
use reactor::queue;
use reference_servers::Stalls;
use units::Nanos;

use crate::simulation::Setup;

#[test]
fn a_live_reporter_sees_late_answers_when_they_come() {
    // One answer each 2 ms to a request each 1 ms: a request due at t is answered at 2t, and half of all in the
    // window.
    let mut setup = Setup::new(1_000.0, Gap::Constant(2e6), Stalls::default(), 41);
    setup.constant();
    (setup.plan.warmup, setup.plan.window) = (Nanos::ZERO, Nanos::from_secs(4));
    let (to, mut from) = queue::bounded(64);
    setup.shown_to = Some(to);
    let kept = setup.run();
    let points: Vec<LivePoint> = std::iter::from_fn(|| from.pop()).collect();

    assert_eq!(points.len(), 40, "each 100 ms of the window");
    assert!(points.iter().enumerate().all(|(i, point)| point.interval == i as u64));
    let counted = |point: &LivePoint| point.times.iter().map(|&(_, count)| count).sum::<u64>();
    for (point, counts) in points.iter().zip(&kept.intervals) {
        assert_eq!(
            (point.offered, point.answered, point.failed),
            (counts.offered, counts.answered, counts.failed)
        );
        assert_eq!(counted(point), point.answered, "no answer without its time: interval {}", point.interval);
    }
    // The last answers of the window were due 2 s before, and the first ones came at once.
    assert!(points[0].quantile(1.0) < Some(Nanos::from_millis(100)), "{:?}", points[0]);
    let last = points[39].quantile(0.5).unwrap();
    assert!((Nanos::from_millis(1_900)..Nanos::from_millis(2_600)).contains(&last), "{last:?}");
}
