//! The queue as a whole: what each operation does to a pod.
//!
//! Mirrors `pkg/scheduler/backend/queue/scheduling_queue.go` with queueing hints, which have been locked on since
//! v1.34. Not here: metrics, and waiting for a pod to come.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::api::objects::Pod;
use crate::api::{Duration, NamespacedName, Object, Time, Uid};
use crate::framework::{
    ClusterEvent, Code, Handle, Plugin, PodInfo, QueuedPodInfo, pod_scheduling_properties_change,
};

use super::active_queue::ActiveQueue;
use super::backoff_queue::BackoffQueue;
use super::judge::{Judge, has_rejectors};
use super::move_log::{MoveLog, MoveLogLevel};
use super::nominator::{NominationChange, NominationChanges};
use super::unschedulable_pods::UnschedulablePods;
use super::{
    BackoffPod, InFlightPod, PendingPods, Popped, PoppedFrom, QueueEnv, QueueError, QueueMove, QueueName,
    QueueOptions, QueueingStrategy, UnschedulablePod,
};

/// How often pods that have been unschedulable for too long are looked for.
const FLUSH_INTERVAL: Duration = Duration::from_secs(30);

/// The scheduling queue. A copy costs a few references until one of the two changes.
#[derive(Clone, Debug)]
pub struct SchedulingQueue {
    pub(super) options: QueueOptions,
    pub(super) start: Time,
    /// The last tick at which unschedulablePods was looked through for pods that waited too long.
    pub(super) flushed_at: Time,
    pub(super) active: ActiveQueue,
    pub(super) backoff: BackoffQueue,
    pub(super) unschedulable: UnschedulablePods,
    /// The names of the pods in the three queues.
    keys: Arc<FxHashMap<Uid, NamespacedName>>,
    log: MoveLog,
}

impl SchedulingQueue {
    /// An empty queue, in the order of the `queue_sort` plugin.
    pub fn new(options: QueueOptions, queue_sort: Arc<dyn Plugin>) -> Self {
        Self {
            start: Time::ZERO,
            flushed_at: Time::ZERO,
            backoff: BackoffQueue::new(&options, &queue_sort),
            active: ActiveQueue::new(queue_sort),
            unschedulable: UnschedulablePods::default(),
            keys: Arc::default(),
            log: MoveLog::default(),
            options,
        }
    }

    /// Sets the time from which the intervals of the leftover flush are counted; the epoch if it is never set.
    pub fn set_start(&mut self, start: Time) {
        self.start = start;
        self.flushed_at = start;
    }

    /// Sets how much [`SchedulingQueue::take_moves`] tells. It changes nothing else.
    pub fn set_move_log_level(&mut self, level: MoveLogLevel) {
        self.log.level = level;
    }

    /// A pod without a node is new (`Add`): it goes to activeQ, or to unschedulablePods if PreEnqueue holds it.
    pub fn add(&mut self, env: &QueueEnv<'_>, pod_info: Arc<PodInfo>) -> NominationChanges {
        self.add_with_event(env, pod_info, ClusterEvent::UNSCHEDULED_POD_ADD)
    }

    fn add_with_event(
        &mut self,
        env: &QueueEnv<'_>,
        pod_info: Arc<PodInfo>,
        event: ClusterEvent,
    ) -> NominationChanges {
        let mut changes = NominationChanges::default();
        let info = QueuedPodInfo::new(Arc::clone(&pod_info), env.handle.now);
        if self.move_to_active(env, info, event, false) {
            changes.0.push(NominationChange::Add(pod_info));
        }
        changes
    }

    /// A pod without a node changed (`Update`). In activeQ and backoffQ the new version takes the place of the old
    /// one; in unschedulablePods what changed may move it; in flight it is judged when the pod comes back; a pod
    /// that is nowhere is added.
    pub fn update(
        &mut self,
        env: &QueueEnv<'_>,
        old: Option<&Arc<Pod>>,
        new: Arc<PodInfo>,
    ) -> NominationChanges {
        let key = new.pod.key();
        let events = old.map_or_else(Vec::new, |old| pod_scheduling_properties_change(&new.pod, old));
        let old_object = old.map(|old| Object::Pod(Arc::clone(old)));
        let new_object = Object::Pod(Arc::clone(&new.pod));
        let mut changes = NominationChanges::default();

        if self.active.is_in_flight(new.uid()) {
            for event in events {
                self.active.add_event_if_any_in_flight(event, old_object.as_ref(), Some(&new_object));
            }
            return changes;
        }
        let (in_place, queue) = match self.locate(&key) {
            Some((info, queue)) => {
                let signed_pod = Arc::clone(&new.pod);
                (QueuedPodInfo { pod_info: Arc::clone(&new), signed_pod, ..info.clone() }, queue)
            }
            None => return self.add_with_event(env, new, ClusterEvent::UNSCHEDULED_POD_UPDATE),
        };
        self.replace(&key, in_place, queue);
        let old_pod = old.unwrap_or(&new.pod);
        changes.0.push(NominationChange::Update { old: Arc::clone(old_pod), new: Arc::clone(&new) });
        if queue != QueueName::Unschedulable {
            return changes;
        }

        let judges: Vec<Judge<'_>> = events
            .iter()
            .map(|event| Judge::new(env, *event, old_object.as_ref(), Some(&new_object)))
            .collect();
        if self.log.level == MoveLogLevel::Judgements
            && let Some(info) = self.unschedulable.get(&key).cloned()
        {
            for judge in &judges {
                self.log.extend(judgement(judge, &info, false));
            }
        }
        for judge in &judges {
            let Some(info) = self.unschedulable.get(&key).cloned() else { break };
            let strategy = judge.strategy(&info);
            if self.log.level == MoveLogLevel::Moves && strategy != QueueingStrategy::Skip {
                self.log.extend(judgement(judge, &info, false));
            }
            let queue = self.requeue(env, Arc::unwrap_or_clone(info), strategy, judge.event());
            if queue == QueueName::Active && judge.event() == ClusterEvent::UNSCHEDULED_POD_UPDATE {
                changes.0.push(NominationChange::Add(Arc::clone(&new)));
            }
            // DIVERGES: without popping from backoffQ kube-scheduler goes on after a move to backoffQ, and another
            // change that is not worth a retry then leaves the pod in unschedulablePods as well.
            if queue != QueueName::Unschedulable {
                break;
            }
        }
        changes
    }

    /// A pod without a node is gone, or somebody else bound it (`Delete`). What is in flight stays so.
    pub fn delete(&mut self, pod: &Pod) -> NominationChanges {
        let key = pod.key();
        let removed = self
            .active
            .remove(&key)
            .or_else(|| self.backoff.remove(&key))
            .or_else(|| self.unschedulable.remove(&key));
        if let Some(info) = removed {
            self.forget_key(info.uid());
        }
        NominationChanges(vec![NominationChange::Delete(pod.uid().clone())])
    }

    /// Moves pods to activeQ at once (`Activate`). For a pod in flight it is remembered until it comes back; any
    /// other pod is left alone.
    pub fn activate(&mut self, env: &QueueEnv<'_>, pods: &[Arc<Pod>]) {
        for pod in pods {
            if !self.activate_one(env, &pod.key()) && self.active.is_in_flight(pod.uid()) {
                let object = Object::Pod(Arc::clone(pod));
                self.active.add_event_if_any_in_flight(ClusterEvent::FORCE_ACTIVATE, None, Some(&object));
            }
        }
    }

    pub(super) fn activate_one(&mut self, env: &QueueEnv<'_>, key: &NamespacedName) -> bool {
        let (info, is_from_backoff) = match self.unschedulable.get(key) {
            Some(info) => (Arc::clone(info), false),
            None => match self.backoff.remove(key) {
                Some(info) => (info, true),
                None => return false,
            },
        };
        self.move_to_active(env, Arc::unwrap_or_clone(info), ClusterEvent::FORCE_ACTIVATE, is_from_backoff)
    }

    /// Takes out the pod that is to be scheduled next (`Pop`): the first of activeQ, or, if there is none, the first
    /// of backoffQ, except pods that ended with an error. The pod is in flight until [`SchedulingQueue::done`] or
    /// [`SchedulingQueue::add_unschedulable_pod_if_not_present`].
    pub fn pop(&mut self, now: Time) -> Option<Popped> {
        loop {
            let (info, from) = match self.active.pop_first() {
                Some(info) => (info, PoppedFrom::ActiveQ),
                None if self.options.pop_from_backoff_q => (self.backoff.pop_first()?, PoppedFrom::BackoffQ),
                None => return None,
            };
            self.forget_key(info.uid());
            let mut info = Arc::unwrap_or_clone(info);
            info.attempts += 1;
            // A pod that is in flight already is dropped here, so that it is not scheduled twice.
            if self.active.mark_in_flight(Arc::clone(info.pod()), now) {
                return Some(Popped { info, from });
            }
        }
    }

    /// How many events are kept for pods in flight.
    pub fn n_in_flight_events(&self) -> usize {
        self.active.in_flight_events().len()
    }

    /// Whether [`SchedulingQueue::pop`] has a pod to look at.
    pub fn can_pop(&self) -> bool {
        !self.active.pods().is_empty() || self.options.pop_from_backoff_q && !self.backoff.pods().is_empty()
    }

    /// The attempt of a pod is over and it does not come back (`Done`). Does no harm twice.
    pub fn done(&mut self, uid: &Uid) {
        self.active.done(uid);
    }

    /// Puts a pod back after a failed attempt (`AddUnschedulableIfNotPresent`). The plugins in `info` say why it
    /// failed: none at all means an error. Where it goes depends on the events that came while it was in flight.
    ///
    /// # Errors
    /// If a pod of that name is in a queue already. The attempt is over in any case.
    pub fn add_unschedulable_pod_if_not_present(
        &mut self,
        env: &QueueEnv<'_>,
        info: QueuedPodInfo,
    ) -> Result<(), QueueError> {
        let uid = info.uid().clone();
        let result = self.put_back(env, info);
        self.active.done(&uid);
        result
    }

    fn put_back(&mut self, env: &QueueEnv<'_>, mut info: QueuedPodInfo) -> Result<(), QueueError> {
        let key = info.pod().key();
        if let Some((_, queue)) = self.locate(&key) {
            return Err(QueueError::AlreadyPresent { pod: key, queue });
        }
        if has_rejectors(&info) {
            info.unschedulable_count += 1;
            info.consecutive_errors_count = 0;
        } else {
            info.consecutive_errors_count += 1;
        }
        info.timestamp = env.handle.now;
        info.backoff_expiration = self.backoff.expiration(&info);
        info.was_flushed_from_unschedulable = false;

        let strategy = self.strategy_for_in_flight(env, &info);
        let event = ClusterEvent::SCHEDULE_ATTEMPT_FAILURE;
        if self.requeue(env, info, strategy, event) == QueueName::Unschedulable {
            self.log.entered(&key, QueueName::Unschedulable, event);
        }
        Ok(())
    }

    /// What the events that came while the pod was in flight do to it.
    fn strategy_for_in_flight(&mut self, env: &QueueEnv<'_>, info: &QueuedPodInfo) -> QueueingStrategy {
        if !has_rejectors(info) || self.returns_by_backoff_alone(info) {
            return QueueingStrategy::AfterBackoff;
        }
        let Some(events) = self.active.cluster_events_for_pod(info.uid()) else {
            return QueueingStrategy::AfterBackoff;
        };
        let is_final = |strategy| match strategy {
            QueueingStrategy::Skip => false,
            QueueingStrategy::AfterBackoff => info.pending_plugins.is_empty(),
            QueueingStrategy::Immediately => true,
        };
        let mut result = QueueingStrategy::Skip;
        for event in &events {
            let judge = Judge::new(env, event.event, event.old.as_ref(), event.new.as_ref());
            let is_decided = is_final(result);
            let strategy = if is_decided { QueueingStrategy::Skip } else { judge.strategy(info) };
            result = result.max(strategy);
            if self.log.level == MoveLogLevel::Judgements
                || self.log.level == MoveLogLevel::Moves && strategy != QueueingStrategy::Skip
            {
                self.log.extend(judgement(&judge, info, true));
            } else if is_decided {
                break;
            }
        }
        result
    }

    /// Something changed in the cluster (`MoveAllToActiveOrBackoffQueue`): moves the pods for which it is worth a
    /// retry, and keeps it for those in flight. Only pods that pass `pre_check` are looked at. Those that enter activeQ
    /// because another pod came are nominated like that one.
    pub fn move_all_to_active_or_backoff_queue(
        &mut self,
        env: &QueueEnv<'_>,
        event: ClusterEvent,
        old: Option<&Object>,
        new: Option<&Object>,
        pre_check: Option<&dyn Fn(&Pod) -> bool>,
    ) -> NominationChanges {
        if !is_of_interest(env, &event) {
            return NominationChanges::default();
        }
        let judge = Judge::new(env, event, old, new);
        let candidates = self.unschedulable.iter();
        let moves = judge_all(
            candidates.filter(|(_, info)| pre_check.is_none_or(|check| check(info.pod()))),
            &judge,
            &mut self.log,
        );
        let changes = self.move_pods(env, moves, event);
        self.active.add_event_if_any_in_flight(event, old, new);
        changes
    }

    /// A pod that is on a node came (`AssignedPodAdd`).
    pub fn assigned_pod_added(&mut self, env: &QueueEnv<'_>, pod: &Arc<Pod>) {
        let object = Object::Pod(Arc::clone(pod));
        let event = ClusterEvent::ASSIGNED_POD_ADD;
        let _none = self.move_all_to_active_or_backoff_queue(env, event, None, Some(&object), None);
    }

    /// A pod that is on a node changed: everything that did is an event of its own.
    pub fn assigned_pod_updated(&mut self, env: &QueueEnv<'_>, old: &Arc<Pod>, new: &Arc<Pod>) {
        let (old_object, new_object) = (Object::Pod(Arc::clone(old)), Object::Pod(Arc::clone(new)));
        for event in pod_scheduling_properties_change(new, old) {
            let (old, new) = (Some(&old_object), Some(&new_object));
            let _none = self.move_all_to_active_or_backoff_queue(env, event, old, new, None);
        }
    }

    /// Moves every pod to activeQ whose backoff was over at the last whole second (`flushBackoffQCompleted`). Can be
    /// called at any time and is needed at every whole second at which [`SchedulingQueue::next_timeout`] asks for it.
    pub fn flush_backoff_q_completed(&mut self, env: &QueueEnv<'_>) {
        for info in self.backoff.pop_all_completed(env.handle.now.truncate_to_second()) {
            self.move_to_active(env, Arc::unwrap_or_clone(info), ClusterEvent::BACKOFF_COMPLETE, true);
        }
    }

    /// Moves every pod that had been unschedulable for too long at the last tick
    /// (`flushUnschedulablePodsLeftover`): there is one every 30 seconds from the start. Can be called at any time
    /// and does nothing twice for the same tick.
    pub fn flush_unschedulable_pods_leftover(&mut self, env: &QueueEnv<'_>) {
        let tick = self.tick(self.ticks_until(env.handle.now));
        if tick <= self.flushed_at {
            return;
        }
        self.flushed_at = tick;
        let limit = self.options.pod_max_in_unschedulable_pods_duration;
        let keys = self.unschedulable.older_than(limit, tick);
        if keys.is_empty() {
            return;
        }
        for key in &keys {
            self.unschedulable.mark_flushed(key);
        }
        let event = ClusterEvent::UNSCHEDULABLE_TIMEOUT;
        let judge = Judge::new(env, event, None, None);
        let candidates = keys.iter().filter_map(|key| Some((key, self.unschedulable.get(key)?)));
        let moves = judge_all(candidates, &judge, &mut self.log);
        let _none = self.move_pods(env, moves, event);
        self.active.add_event_if_any_in_flight(event, None, None);
    }

    /// When one of the two flushes next has something to do: the first whole second at which a backoff is over, or
    /// the first multiple of 30 seconds since the start at which a pod has been unschedulable for too long; `now`
    /// if that has passed already.
    pub fn next_timeout(&self, now: Time) -> Option<Time> {
        let backoff = self.backoff.next_release();
        let waiting_since = if self.active.in_flight_pods().is_empty() {
            self.unschedulable.oldest_movable()
        } else {
            // The flush is an event for pods in flight even if all that waited too long are gated and stay.
            self.unschedulable.oldest()
        };
        let leftover = waiting_since.map(|since| self.leftover_flush(since));
        backoff.into_iter().chain(leftover).min().map(|due| due.max(now))
    }

    /// The tick at which the flush takes a pod that has been unschedulable since then.
    fn leftover_flush(&self, since: Time) -> Time {
        let limit = since + self.options.pod_max_in_unschedulable_pods_duration;
        self.tick(self.ticks_until(limit.max(self.flushed_at)) + 1)
    }

    /// How many ticks after the start there are until then.
    fn ticks_until(&self, time: Time) -> u128 {
        (time - self.start).as_nanos().div_euclid(FLUSH_INTERVAL.as_nanos())
    }

    fn tick(&self, number: u128) -> Time {
        let nanos = number.saturating_mul(FLUSH_INTERVAL.as_nanos());
        self.start + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Everything in the queue, for a person. Costs a reference per pod.
    pub fn pending_pods(&self, now: Time) -> PendingPods {
        let backoff_pod = |info: &Arc<QueuedPodInfo>, is_error| {
            let count = if is_error { info.consecutive_errors_count } else { info.unschedulable_count };
            BackoffPod {
                remaining: info.backoff_expiration - now,
                duration: self.backoff.duration(count),
                info: Arc::clone(info),
                is_error,
            }
        };
        let mut backoff: Vec<BackoffPod> = Vec::new();
        let mut errors = self.backoff.error_pods().iter().peekable();
        for info in self.backoff.pods().iter() {
            while let Some(error) = errors.next_if(|error| self.backoff.is_before(error, info)) {
                backoff.push(backoff_pod(error, true));
            }
            backoff.push(backoff_pod(info, false));
        }
        backoff.extend(errors.map(|info| backoff_pod(info, true)));
        let unschedulable = self.unschedulable.iter().map(|(_, info)| UnschedulablePod {
            flush_at: UnschedulablePods::can_be_flushed(info).then(|| self.leftover_flush(info.timestamp)),
            info: Arc::clone(info),
        });
        let mut in_flight: Vec<_> = self.active.in_flight_pods().values().collect();
        in_flight.sort_unstable_by_key(|pod| pod.sequence);
        PendingPods {
            active: self.active.pods().iter().cloned().collect(),
            backoff,
            unschedulable: unschedulable.collect(),
            in_flight: in_flight
                .into_iter()
                .map(|pod| InFlightPod { pod: Arc::clone(&pod.pod), since: pod.since })
                .collect(),
        }
    }

    /// How many pods are in that queue.
    pub fn len(&self, queue: QueueName) -> usize {
        match queue {
            QueueName::Active => self.active.pods().len(),
            QueueName::Backoff => self.backoff.pods().len() + self.backoff.error_pods().len(),
            QueueName::Unschedulable => self.unschedulable.len(),
        }
    }

    /// Whether no pod is in any queue; pods in flight do not count.
    pub fn is_empty(&self) -> bool {
        [QueueName::Active, QueueName::Backoff, QueueName::Unschedulable]
            .into_iter()
            .all(|queue| self.len(queue) == 0)
    }

    /// A pod by uid and the queue that it is in; `None` if it is in flight or unknown.
    pub fn get(&self, uid: &Uid) -> Option<(&QueuedPodInfo, QueueName)> {
        self.locate(self.keys.get(uid)?).filter(|(info, _)| info.uid() == uid)
    }

    /// Whether the pod is in flight.
    pub fn is_in_flight(&self, uid: &Uid) -> bool {
        self.active.is_in_flight(uid)
    }

    /// What happened since the last call, oldest first; the oldest are lost if there are very many.
    pub fn take_moves(&mut self) -> Vec<QueueMove> {
        self.log.take()
    }

    fn locate(&self, key: &NamespacedName) -> Option<(&QueuedPodInfo, QueueName)> {
        let unschedulable = self.unschedulable.get(key).map(|info| (info, QueueName::Unschedulable));
        unschedulable
            .or_else(|| self.active.pods().get(key).map(|info| (info, QueueName::Active)))
            .or_else(|| self.backoff.get(key).map(|info| (info, QueueName::Backoff)))
            .map(|(info, queue)| (info.as_ref(), queue))
    }

    /// Puts a newer version of a pod in its place.
    fn replace(&mut self, key: &NamespacedName, info: QueuedPodInfo, queue: QueueName) {
        let info = Arc::new(info);
        let uid = info.uid().clone();
        let replaced = match queue {
            QueueName::Active => self.active.insert(key.clone(), info),
            QueueName::Backoff => self.backoff.replace(key, info),
            QueueName::Unschedulable => self.unschedulable.insert(key.clone(), info),
        };
        self.know_key(uid, key, replaced.as_deref());
    }

    fn know_key(&mut self, uid: Uid, key: &NamespacedName, replaced: Option<&QueuedPodInfo>) {
        if let Some(replaced) = replaced.filter(|replaced| *replaced.uid() != uid) {
            self.forget_key(replaced.uid());
        }
        if !self.keys.contains_key(&uid) {
            Arc::make_mut(&mut self.keys).insert(uid, key.clone());
        }
    }

    pub(super) fn forget_key(&mut self, uid: &Uid) {
        if self.keys.contains_key(uid) {
            Arc::make_mut(&mut self.keys).remove(uid);
        }
    }

    fn move_pods(&mut self, env: &QueueEnv<'_>, moves: Vec<Move>, event: ClusterEvent) -> NominationChanges {
        let mut changes = NominationChanges::default();
        for Move { key, strategy, judgement } in moves {
            let Some(info) = self.unschedulable.remove(&key) else { continue };
            self.log.extend(judgement);
            let pod_info = Arc::clone(&info.pod_info);
            let queue = self.requeue(env, Arc::unwrap_or_clone(info), strategy, event);
            if queue == QueueName::Active && event == ClusterEvent::UNSCHEDULED_POD_ADD {
                changes.0.push(NominationChange::Add(pod_info));
            }
        }
        changes
    }

    /// Puts a pod where the judgement sends it (`requeuePodWithQueueingStrategy`) and returns where that is.
    fn requeue(
        &mut self,
        env: &QueueEnv<'_>,
        info: QueuedPodInfo,
        strategy: QueueingStrategy,
        event: ClusterEvent,
    ) -> QueueName {
        if strategy == QueueingStrategy::Skip {
            let key = info.pod().key();
            self.replace(&key, info, QueueName::Unschedulable);
            return QueueName::Unschedulable;
        }
        // The backoff may have ended while the pod was among the unschedulable ones.
        let (has_moved, queue) = if strategy == QueueingStrategy::AfterBackoff
            && self.backoff.is_backing_off(&info, env.handle.now)
        {
            (self.move_to_backoff(env, info, event), QueueName::Backoff)
        } else {
            (self.move_to_active(env, info, event, false), QueueName::Active)
        };
        if has_moved { queue } else { QueueName::Unschedulable }
    }

    /// Puts a pod into activeQ, or into unschedulablePods if PreEnqueue holds it, and returns whether it is in
    /// activeQ. PreEnqueue has been asked already for a pod that was in backoffQ.
    fn move_to_active(
        &mut self,
        env: &QueueEnv<'_>,
        mut info: QueuedPodInfo,
        event: ClusterEvent,
        is_from_backoff: bool,
    ) -> bool {
        let key = info.pod().key();
        if !(self.options.pop_from_backoff_q && is_from_backoff) {
            run_pre_enqueue_plugins(env, &mut info);
        }
        if info.is_gated() {
            if !self.active.has(&key) && !self.backoff.has(&key) {
                self.hold(&key, info, event);
            }
            return false;
        }
        info.initial_attempt_timestamp.get_or_insert(env.handle.now);
        self.enter(&key, info, QueueName::Active, event);
        true
    }

    /// Puts a pod into backoffQ and returns whether it is there. Because backoffQ may be popped, PreEnqueue has to
    /// let the pod pass first.
    fn move_to_backoff(&mut self, env: &QueueEnv<'_>, mut info: QueuedPodInfo, event: ClusterEvent) -> bool {
        let key = info.pod().key();
        if self.options.pop_from_backoff_q {
            run_pre_enqueue_plugins(env, &mut info);
            if info.is_gated() {
                self.hold(&key, info, event);
                return false;
            }
        }
        self.enter(&key, info, QueueName::Backoff, event);
        true
    }

    fn enter(&mut self, key: &NamespacedName, info: QueuedPodInfo, queue: QueueName, event: ClusterEvent) {
        let uid = info.uid().clone();
        let info = Arc::new(info);
        let unschedulable = self.unschedulable.remove(key);
        let replaced = if queue == QueueName::Active {
            let backoff = self.backoff.remove(key);
            self.active.insert(key.clone(), info).or(backoff)
        } else {
            self.backoff.insert(key.clone(), info)
        };
        self.know_key(uid, key, replaced.or(unschedulable).as_deref());
        self.log.entered(key, queue, event);
    }

    fn hold(&mut self, key: &NamespacedName, info: QueuedPodInfo, event: ClusterEvent) {
        if !self.unschedulable.has(key) {
            self.log.entered(key, QueueName::Unschedulable, event);
        }
        self.replace(key, info, QueueName::Unschedulable);
    }
}

/// A pod that an event moves.
struct Move {
    key: NamespacedName,
    strategy: QueueingStrategy,
    /// How it came to that, for the log.
    judgement: Option<QueueMove>,
}

/// Judges an event for pods in unschedulablePods and returns those that it moves.
fn judge_all<'a>(
    candidates: impl Iterator<Item = (&'a NamespacedName, &'a Arc<QueuedPodInfo>)>,
    judge: &Judge<'_>,
    log: &mut MoveLog,
) -> Vec<Move> {
    let event = judge.event();
    // What the gating plugin does not listen to cannot open the gate.
    let can_move = |info: &QueuedPodInfo| {
        !info.is_gated() || info.gating_plugin_events.iter().any(|gating| gating.matches(&event))
    };
    let mut moves = Vec::new();
    for (key, info) in candidates.filter(|(_, info)| can_move(info)) {
        let strategy = judge.strategy(info);
        if strategy != QueueingStrategy::Skip {
            let is_told = log.level >= MoveLogLevel::Moves;
            let judgement = if is_told { judgement(judge, info, false) } else { None };
            moves.push(Move { key: key.clone(), strategy, judgement });
        } else if log.level == MoveLogLevel::Judgements {
            log.extend(judgement(judge, info, false));
        }
    }
    moves
}

/// How an event was judged for a pod, for the log; `None` if it is nothing to the pod.
fn judgement(judge: &Judge<'_>, info: &QueuedPodInfo, in_flight: bool) -> Option<QueueMove> {
    if in_flight && judge.is_update_of_other(info) {
        return None;
    }
    Some(QueueMove::Judged {
        pod: info.pod().key(),
        event: judge.event(),
        object: judge.object(),
        in_flight,
        answers: judge.answers(info)?,
        strategy: judge.strategy(info),
    })
}

/// Whether any plugin of any profile listens to the event.
fn is_of_interest(env: &QueueEnv<'_>, event: &ClusterEvent) -> bool {
    event.is_wildcard() || env.profiles.values().any(|profile| profile.hints.is_of_interest(event))
}

/// Asks the PreEnqueue plugins (`runPreEnqueuePlugins`), the one that held the pod so far first; the first that
/// does not let it pass holds it.
fn run_pre_enqueue_plugins(env: &QueueEnv<'_>, info: &mut QueuedPodInfo) {
    let pod = Arc::clone(info.pod());
    if let Some(profile) = env.profiles.get(&pod.spec.scheduler_name) {
        let handle = Handle { framework: &profile.framework, ..env.handle };
        let metering = &profile.framework.metering;
        let (since, is_sample) = (metering.stamp(), metering.is_sample());
        let plugins = &profile.framework.plugins.pre_enqueue;
        let held_so_far = plugins.iter().filter(|plugin| plugin.name() == info.gating_plugin.as_ref());
        let others = plugins.iter().filter(|plugin| plugin.name() != info.gating_plugin.as_ref());
        let holds = held_so_far.chain(others).filter_map(|plugin| plugin.as_pre_enqueue()).find(|plugin| {
            let since = metering.stamp_if(is_sample);
            let status = plugin.pre_enqueue(&handle, &pod);
            metering.plugin(plugin.name(), "PreEnqueue", status.code(), since);
            !status.is_success()
        });
        // Upstream counts a pod that is held as a success, too.
        metering.point(&profile.framework.profile_name, "PreEnqueue", Code::Success, since);
        if let Some(plugin) = holds {
            let profiles = env.profiles.values();
            let events: BTreeSet<ClusterEvent> =
                profiles.flat_map(|profile| profile.hints.events_of(plugin.name())).collect();
            info.gating_plugin_events = events.into_iter().collect();
            info.gating_plugin = plugin.name().into();
            info.unschedulable_plugins.insert(plugin.name().into());
            return;
        }
    }
    info.gating_plugin = "".into();
}
