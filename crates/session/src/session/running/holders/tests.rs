//! Tests of the holders of a load's keys.

use super::*;
use crate::{server::Owner, workload::RunId};

#[test]
fn a_promoted_replica_has_the_objects_of_setups_at_former_primaries_to_delete() {
    let address = |port| Address::Tcp { host: "127.0.0.1".to_owned(), port };
    let target = Target { address: address(1), ..Target::default() };
    let control = |number| {
        let target = target.at(address(number)).unwrap();
        Arc::new(Control::start(target, Clock::start(), Duration::from_secs(60), channel().0).unwrap())
    };
    let made = vec![SetupObject::Library("counters".to_owned()), SetupObject::Index("words".to_owned())];
    let marker = Marker { made: made.clone(), ..Marker::new(RunId::random(), Owner::default()) };
    let mut holders = Holders::alone(0, &target, control(1), Ledger::found(marker));
    (1..=2).for_each(|number| holders.meet(number, control(number + 1)));
    for promoted in [1, 2] {
        holders.set_primaries(&BTreeMap::from([(promoted, &address(promoted + 1))])).unwrap();
        let ledgers: Vec<_> = holders.iter().map(|it| (it.number, it.ledger.marker().made)).collect();
        assert_eq!(ledgers, [(promoted, made.clone())]);
    }
}
