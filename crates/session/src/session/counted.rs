//! Adds the results of one load worker to an interval record of the session.

use super::{
    Client, Interval, OperationInterval, StepTimes, WorkerCost,
    part::{add_count, add_counts, add_up, merge_some},
};
use crate::{
    load::{IntervalBuffer, NodeCounts, Openings, StepRecorders},
    stats::{Latency, Recorder},
};

/// Adds the cost of a worker. `receives` is set for the receivers' thread. Workers with lower numbers that have not
/// reported yet get entries with zeros. The entry of a worker is set, not summed: each worker reports at most one
/// buffer with a length for each tick (quarter second) and segment.
pub(super) fn add_client(
    client: &mut Option<Client>,
    (worker, receives): (usize, bool),
    buffer: &IntervalBuffer,
) {
    let client = client.get_or_insert_default();
    let (cost, length_ns) = (&buffer.client, buffer.end_ns - buffer.start_ns);
    if length_ns > 0 {
        let share = |ns: u64| ns as f64 / cost.watched_ns.max(1) as f64;
        client.workers.resize(client.workers.len().max(worker + 1), WorkerCost::default());
        client.workers[worker] = WorkerCost {
            receives,
            cpu: share(cost.cpu_ns),
            run_delay: cost.run_delay_ns.map(share),
            spun: (cost.spun_ns > 0).then(|| share(cost.spun_ns)),
            core: cost.core,
            agent: None,
        };
        let waits = [client.record_wait, cost.record_wait_ns.map(share)];
        client.record_wait = waits.into_iter().flatten().reduce(f64::max);
    }
    client.readable_to_read.merge(&cost.read_wait.latency());
    client.receive_lag.merge(&cost.receive_lag.latency());
    merge_some(&mut client.late, times(&cost.late).as_ref());
    merge_some(&mut client.held, times(&cost.held).as_ref());
}

/// Returns the distribution of a histogram; `None` if the histogram is empty.
fn times(histogram: &Recorder) -> Option<Latency> {
    (!histogram.is_empty()).then(|| histogram.latency())
}

/// Returns the times of the steps of an operation; `None` if no step was answered.
fn step_times(steps: &StepRecorders) -> Option<Box<StepTimes>> {
    let StepRecorders { first, first_response, missed, later } = steps;
    let is_empty = first.is_empty() && later.is_empty();
    let times = || StepTimes {
        first: first.latency(),
        first_response: times(first_response),
        missed: *missed,
        later: later.latency(),
    };
    (!is_empty).then(|| Box::new(times()))
}

/// Adds the counts and latencies of a worker to the interval.
pub(super) fn add_buffer(interval: &mut Interval, buffer: &IntervalBuffer) {
    add_up!(interval += buffer, bytes_in bytes_out pushes due shed unsent);
    interval.behind_us = interval.behind_us.max(buffer.behind_ns / 1000);
    interval.waiting_us = interval.waiting_us.max(buffer.waiting_ns / 1000);
    let Openings { connects, handshakes, greetings, answered } = &buffer.openings;
    let opening = &mut interval.opening;
    opening.connect.merge(&Latency::of(connects));
    opening.handshake.merge(&Latency::of(handshakes));
    opening.greeting.merge(&Latency::of(greetings));
    for command in answered.iter().filter_map(|step| step.command()) {
        add_count(&mut interval.requests, command, 1);
    }
    buffer.arrived.iter().for_each(|arrived| interval.arrivals.add(arrived));
    buffer.errors.add_to(&mut interval.errors);
    buffer.redirects.add_to(&mut interval.redirects);
    buffer.connections_lost.add_to(&mut interval.connections_lost);
    buffer.connects_failed.add_to(&mut interval.connects_failed);
    for counts in buffer.by_node.nodes() {
        let NodeCounts { node, errors, bytes_in, bytes_out, service, answered } = counts;
        let ops = service.count();
        let mut part =
            OperationInterval { ops, bytes_in, bytes_out, service, ..OperationInterval::default() };
        errors.add_to(&mut part.errors);
        for (expected, n) in
            (0..).zip(buffer.operations.iter()).filter_map(|(op, it)| Some((it, answered.get(&op)?)))
        {
            expected.requests.iter().for_each(|request| add_count(&mut part.requests, &request.command, *n));
        }
        interval.nodes.entry(node).or_default().merge(&part);
    }
    interval.add_slots(buffer.by_node.slots.iter().map(|(slot, requests)| (*slot, (*requests).into())));
    for (expected, counts) in buffer.operations.iter().zip(&buffer.counts) {
        let counted = counts.answered + counts.hits + counts.misses + counts.conflicts;
        if counted + counts.bytes_in + counts.bytes_out == 0 && counts.errors.is_empty() {
            continue;
        }
        let mut part = OperationInterval {
            ops: counts.ops,
            hits: counts.hits,
            misses: counts.misses,
            conflicts: counts.conflicts,
            not_found: counts.not_found,
            bytes_in: counts.bytes_in,
            bytes_out: counts.bytes_out,
            service: counts.service.latency(),
            response: times(&counts.response),
            steps: counts.steps.as_ref().and_then(|steps| step_times(steps)),
            ..OperationInterval::default()
        };
        counts.errors.add_to(&mut part.errors);
        add_counts(&mut interval.errors, &part.errors);
        add_up!(interval += part, ops hits misses conflicts);
        interval.service.merge(&part.service);
        merge_some(&mut interval.response, part.response.as_ref());
        interval.operation(&expected.label).merge(&part);
        for request in &expected.requests {
            add_count(&mut interval.requests, &request.command, counts.answered);
        }
    }
}
