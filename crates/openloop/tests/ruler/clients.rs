//! Virtual clients: whose connection takes which arrival.

use dist::Gap;
use openloop::Binding;
use reference_servers::Stalls;
use stats::ChiSquare;
use units::Nanos;

use crate::simulation::Setup;

/// Answers by connection, of 200 000 Poisson arrivals over `clients` clients and `connections` connections.
fn answered(clients: Option<usize>, connections: usize, binding: Binding, seed: u64) -> Vec<u64> {
    let mut setup = Setup::new(100_000.0, Gap::Constant(1_000.0), Stalls::default(), seed);
    setup.connections(connections);
    (setup.plan.clients, setup.plan.binding) = (clients, binding);
    (setup.plan.warmup, setup.plan.window) = (Nanos::ZERO, Nanos::from_secs(2));
    setup.run().connections.iter().map(|connection| connection.answered).collect()
}

/// Chance shows a clearer difference in fewer than one of 10 000 runs; the seed is fixed, so this is not flaky.
#[track_caller]
fn assert_even(answered: &[u64], weights: &[f64]) {
    let test = ChiSquare::test(answered, weights).expect("enough of each");
    println!("{answered:?}: {test:?}");
    assert!(test.p_value > 1e-4, "{answered:?} against {weights:?}: {test:?}");
}

#[test]
fn arrivals_are_spread_evenly_over_clients() {
    // Without clients, with one for each connection, and with eight that share each.
    for (clients, seed) in [(None, 141), (Some(8), 142), (Some(64), 143)] {
        assert_even(&answered(clients, 8, Binding::Random, seed), &[1.0; 8]);
    }
    assert_even(&answered(Some(8), 8, Binding::Idle, 144), &[1.0; 8]);
}

#[test]
fn clients_own_several_connections_and_none_is_left_over() {
    // Four clients of two connections each.
    assert_even(&answered(Some(4), 8, Binding::Random, 145), &[1.0; 8]);
    // Ten connections: clients 0 and 1 own three, 2 and 3 two; each client asks as often as another.
    let [three, two] = [1.0 / 3.0, 1.0 / 2.0];
    let weights = [three, three, two, two, three, three, two, two, three, three];
    assert_even(&answered(Some(4), 10, Binding::Random, 146), &weights);
}

#[test]
fn clients_that_cannot_share_equally_share_as_equally_as_can_be() {
    // Six clients on four connections: two of them have two.
    assert_even(&answered(Some(6), 4, Binding::Random, 147), &[2.0, 2.0, 1.0, 1.0]);
}
