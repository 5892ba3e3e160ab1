//! What a scheduling cycle costs, workload by workload, through the real core: every pending pod is tried once and
//! bound where it goes. Only the cycles are timed, not the binding and the news of it.
//!
//! The workloads have the shapes of the best-known scheduler benchmarks and are smaller; `tests/measure/compare.py`
//! measures the full ones beside kube-scheduler.

#![expect(clippy::unwrap_used, reason = "a benchmark may end at once")]

mod workloads;

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use schedscope::driver::conformance::{Case, CaseSources};

use workloads::Workload;

fn scheduling_cycle(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scheduling_cycle");
    group.sample_size(10);
    for workload in Workload::ALL {
        let sources = CaseSources { manifests: workload.manifests(), ..CaseSources::default() };
        let case = Case::new(&sources).unwrap();
        group.throughput(Throughput::Elements(case.pending().len() as u64));
        group.bench_function(BenchmarkId::from_parameter(workload.name()), |bencher| {
            bencher.iter_custom(|n| {
                (0..n).map(|_| Duration::from_secs_f64(case.clone().bench().unwrap().seconds)).sum()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, scheduling_cycle);
criterion_main!(benches);
