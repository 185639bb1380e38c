//! Any history of a chain, delivered in any order, with losses, repetitions, delays and forks, ends in the tables and the
//! digest of that chain.

use std::time::Duration;

use crate::forking::running::*;
use crtx_mirror::sync::SyncSettings;
use crtx_store::{mirror, testing::TestDatabase};
use proptest::prelude::*;

/// What happens on the chain, or on the way to the mirror.
#[derive(Clone, Debug)]
enum Step {
    Settle(u8, u8),
    Open(u8),
    Close(u8),
    Fork,
    Drop { told: bool },
    Slots(u8),
    Swallow(bool),
    Repeat(u16),
    Delay(bool),
    OldSnapshot,
    Resync,
    Reconnect,
    Finalize,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1u8..5, any::<u8>()).prop_map(|(number, result)| Step::Settle(number, result)),
        4 => (1u8..5).prop_map(Step::Open),
        2 => (1u8..5).prop_map(Step::Close),
        2 => Just(Step::Fork),
        2 => any::<bool>().prop_map(|told| Step::Drop { told }),
        3 => (1u8..40).prop_map(Step::Slots),
        1 => any::<bool>().prop_map(Step::Swallow),
        3 => any::<u16>().prop_map(Step::Repeat),
        2 => any::<bool>().prop_map(Step::Delay),
        1 => Just(Step::OldSnapshot),
        2 => Just(Step::Resync),
        1 => Just(Step::Reconnect),
        2 => Just(Step::Finalize),
    ]
}

async fn play(running: &Running, steps: &[Step]) {
    let node = &running.node;
    for step in steps {
        match step {
            Step::Settle(number, result) => node.settle(u128::from(*number), *result),
            Step::Open(number) => {
                let (address, data) = execution(u128::from(*number), 1, None);
                if !node.chain().accounts.contains_key(&address) {
                    node.change(address, data);
                }
            }
            Step::Close(number) => node.close(execution_at(u128::from(*number))),
            Step::Fork => node.begin_fork(),
            Step::Drop { told } => node.drop_fork(*told),
            Step::Slots(count) => node.slots(u64::from(*count)),
            Step::Swallow(swallow) => node.state().swallow = *swallow,
            Step::Repeat(seed) => node.repeat(usize::from(*seed)),
            Step::Delay(delay) => node.delay(*delay),
            Step::OldSnapshot => node.answer_with_an_old_snapshot(),
            Step::Resync => drop(running.syncer.resync().await),
            Step::Reconnect => node.break_streams(),
            Step::Finalize => node.finalize(),
        }
        tokio::task::yield_now().await;
    }
    node.calm();
    drop(running.syncer.resync().await);
}

#[test]
fn any_history_delivered_in_any_way_ends_in_the_tables_and_the_digest_of_the_chain() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let database = std::cell::RefCell::new(Some(runtime.block_on(TestDatabase::create())));
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(40);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        max_shrink_iters: 60,
        ..ProptestConfig::with_cases(cases)
    });
    let ran = runner.run(&prop::collection::vec(step(), 1..60), |steps| {
        runtime.block_on(async {
            let free = database.borrow_mut().take();
            let database_of_case = match free {
                Some(free) => free,
                None => TestDatabase::create().await,
            };
            mirror::clear(database_of_case.pool()).await.expect("emptied");
            let settings = SyncSettings {
                finality_interval: Duration::from_millis(3),
                probe_interval: Duration::from_millis(3),
                gathering: Duration::ZERO,
                second_look_after: Duration::from_millis(1),
                ..SyncSettings::new(Duration::from_millis(100))
            };
            let node = configured();
            let running = Running::on(database_of_case, &node, settings);
            play(&running, &steps).await;
            running.node.finalize();
            let equal = async || difference(running.pool(), &running.node.chain()).await.is_empty();
            running.until("the mirror equals the chain", equal).await;
            *database.borrow_mut() = Some(running.stop().await);
        });
        Ok(())
    });
    ran.expect("every history ends in the state of the chain");
}
