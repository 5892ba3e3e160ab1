//! The search: one candidate after the other for each device that is asked for, with backtracking.
//!
//! Follows `allocateOne` and `allocateDevice` of the allocator in `k8s.io/dynamic-resource-allocation/structured`. The
//! recursion there is a stack of [`Frame`]s here, so that no claim, however large, can use up the thread's stack.

use std::cell::Cell;
use std::sync::Arc;

use super::capacity::{capacity_for_request, has_capacity_left};
use super::constraints::Constraint;
use super::counters::Counters;
use super::pools::Pool;
use super::request::{ALL, EXACT_COUNT, Request};
use super::{AllocateError, Allocator, Features, MAX_DEVICES};
use crate::api::objects::{Device, DeviceClass, DeviceTaint, DeviceToleration, Node, ResourceClaim};
use crate::framework::device_cel::{CompileError, DeviceSelector};
use crate::plugins::helper::devices::{
    ConsumedCapacity, DeviceId, IndexedSlice, add_capacity, device_matches, is_empty_capacity,
    subtract_capacity,
};

/// A device that may be taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'s> {
    pub device: &'s Device,
    pub slice: &'s IndexedSlice,
    /// Its place in the slice.
    index: usize,
    pub pool: &'s Pool<'s>,
    /// Some claim has it for itself.
    is_in_use: bool,
    /// What is consumed of it: by claims, and in flight.
    consumed: [Option<&'s ConsumedCapacity>; 2],
}

impl Candidate<'_> {
    pub(super) fn id(&self) -> DeviceId {
        DeviceId { pool: self.pool.id.clone(), device: self.device.name.clone() }
    }
}

/// A selector, or why it is none, and whose it is.
type Compiled<'s> = (Result<DeviceSelector, CompileError>, SelectorOwner<'s>);

/// Where a selector stands.
#[derive(Clone, Copy, Debug)]
enum SelectorOwner<'s> {
    Class(&'s DeviceClass, usize),
    Claim(&'s ResourceClaim, usize),
}

impl SelectorOwner<'_> {
    fn error(self, what: &str, error: impl std::fmt::Display) -> AllocateError {
        let (owner, index) = match self {
            Self::Class(class, index) => (format!("class {}", class.metadata.name), index),
            Self::Claim(claim, index) => (format!("claim {}", claim.metadata.key()), index),
        };
        AllocateError::Failed(format!("{owner}: selector #{index}: CEL {what} error: {error}"))
    }
}

/// What is known of a request or an alternative.
#[derive(Debug)]
pub(super) struct RequestData<'s> {
    pub request: Request<'s>,
    pub class: &'s DeviceClass,
    selectors: Vec<Compiled<'s>>,
    n_devices: i64,
    /// The devices of mode All, as places among the candidates.
    all: Vec<usize>,
    /// By candidate: whether it is selectable, as far as that is known.
    matches: Vec<Cell<Option<bool>>>,
    /// On the first alternative: the one that was taken.
    pub selected: usize,
}

/// A device that was taken.
#[derive(Clone, Debug)]
pub(super) struct Taken<'s> {
    pub candidate: Candidate<'s>,
    pub request: Request<'s>,
    /// With shares: what this one consumes.
    pub consumed: Option<ConsumedCapacity>,
}

/// One device that is needed.
#[derive(Clone, Copy, Debug)]
struct Position {
    claim: usize,
    request: usize,
    alternative: usize,
    device: i64,
}

/// What has to be taken back when a device is given up.
#[derive(Clone, Debug, Default)]
struct Undo {
    n_constraints: usize,
    has_counters: bool,
    is_marked: bool,
    consumed: Option<ConsumedCapacity>,
    had_capacity_entry: bool,
    has_result: bool,
}

/// What waits for the end of a deeper search.
#[derive(Debug)]
enum Frame {
    /// The claims that follow.
    NextClaim,
    /// An alternative.
    Alternative { at: Position, all_exceeded: bool },
    /// One of the devices of mode All.
    OneOfAll { at: Position, candidate: usize, undo: Undo },
    /// A device of which there are others.
    OneOfMany { at: Position, in_alternative: bool, candidate: usize, undo: Undo },
}

#[derive(Debug)]
enum Outcome {
    Done,
    /// There is no solution here.
    Fail,
    /// The same, for the claim would get too many devices: no other devices would do either.
    Exceeded,
    Error(AllocateError),
}

#[derive(Debug)]
enum Next {
    /// Find this device; only candidates from `start` on.
    Find {
        at: Position,
        in_alternative: bool,
        start: usize,
    },
    Return(Outcome),
}

/// A search on one node.
#[derive(Debug)]
pub(super) struct Search<'s> {
    allocator: &'s Allocator,
    node: &'s Node,
    pub claims: &'s [Arc<ResourceClaim>],
    pools: &'s [Pool<'s>],
    candidates: Vec<Candidate<'s>>,
    /// By claim, request and alternative.
    pub requests: Vec<Vec<Vec<RequestData<'s>>>>,
    constraints: Vec<Vec<Constraint<'s>>>,
    counters: Counters<'s>,
    /// By candidate: the claims that have it now.
    allocating: Vec<Vec<usize>>,
    /// By candidate: what is consumed of it now.
    allocating_capacity: Vec<Option<ConsumedCapacity>>,
    /// By claim.
    pub results: Vec<Vec<Taken<'s>>>,
    n_steps: u64,
}

impl<'s> Search<'s> {
    pub(super) fn new(
        allocator: &'s Allocator,
        node: &'s Node,
        claims: &'s [Arc<ResourceClaim>],
        pools: &'s [Pool<'s>],
    ) -> Self {
        let mut candidates = Vec::new();
        for pool in pools.iter().filter(|pool| pool.is_usable()) {
            let in_use = allocator.allocated.pool(&pool.id);
            for slice in &pool.device_slices {
                for (index, device) in slice.slice.spec.devices.iter().enumerate() {
                    let name = &device.name;
                    candidates.push(Candidate {
                        device,
                        slice,
                        index,
                        pool,
                        is_in_use: in_use.iter().flatten().any(|of_pool| of_pool.devices.contains(name)),
                        consumed: in_use.map(|of_pool| of_pool?.capacity.get(name)),
                    });
                }
            }
        }
        let n = candidates.len();
        Self {
            allocator,
            node,
            claims,
            pools,
            candidates,
            requests: Vec::with_capacity(claims.len()),
            constraints: Vec::with_capacity(claims.len()),
            counters: Counters::default(),
            allocating: vec![Vec::new(); n],
            allocating_capacity: vec![None; n],
            results: vec![Vec::new(); claims.len()],
            n_steps: 0,
        }
    }

    pub(super) const fn features(&self) -> Features {
        self.allocator.features
    }

    /// Reads the claims: what they ask for, and whether that can be had at all.
    pub(super) fn validate(&mut self) -> Result<(), AllocateError> {
        for claim in self.claims {
            let requests = self.validate_requests(claim)?;
            let constraints = self.constraints_of(claim)?;
            self.requests.push(requests);
            self.constraints.push(constraints);
        }
        Ok(())
    }

    fn validate_requests(
        &self,
        claim: &'s ResourceClaim,
    ) -> Result<Vec<Vec<RequestData<'s>>>, AllocateError> {
        let features = self.allocator.features;
        let failed =
            |text: String| Err(AllocateError::Failed(format!("claim {}{text}", claim.metadata.key())));
        let mut min_devices = 0_i64;
        let mut requests = Vec::with_capacity(claim.spec.devices.requests.len());
        for request in &claim.spec.devices.requests {
            let name = &request.name;
            if !features.prioritized_list && !request.first_available.is_empty() {
                return failed(format!(
                    ", request {name}: has subrequests, but the DRAPrioritizedList feature is disabled"
                ));
            }
            // The older allocator does not know of capacities.
            if features.is_incubating() && !features.consumable_capacity {
                let off = "has capacity requests, but the DRAConsumableCapacity feature is disabled";
                if request.exactly.as_ref().is_some_and(|exactly| exactly.capacity.is_some()) {
                    return failed(format!(", request {name}: {off}"));
                }
                if let Some(sub) = request.first_available.iter().find(|sub| sub.capacity.is_some()) {
                    return failed(format!(", subrequest {}: {off}", sub.name));
                }
            }
            let mut alternatives = Vec::new();
            for alternative in Request::alternatives(request) {
                alternatives.push(self.validate_request(claim, alternative)?);
            }
            let Some(fewest) = alternatives.iter().map(|data| data.n_devices).min() else {
                return failed(format!(", request {name}: unknown request type"));
            };
            min_devices = min_devices.saturating_add(fewest);
            requests.push(alternatives);
        }
        if min_devices > MAX_DEVICES {
            return failed(format!(
                ": number of requested devices {min_devices} exceeds the claim limit of {MAX_DEVICES}"
            ));
        }
        Ok(requests)
    }

    fn constraints_of(&self, claim: &'s ResourceClaim) -> Result<Vec<Constraint<'s>>, AllocateError> {
        let with_distinct = self.allocator.features.is_incubating();
        let constraints = claim.spec.devices.constraints.iter().enumerate();
        let known = constraints.map(|(i, constraint)| {
            Constraint::new(constraint, with_distinct).ok_or_else(|| {
                AllocateError::Failed(format!(
                    "claim {}, constraint #{i}: empty constraint (unsupported constraint type?)",
                    claim.metadata.key()
                ))
            })
        });
        known.collect()
    }

    fn validate_request(
        &self,
        claim: &'s ResourceClaim,
        request: Request<'s>,
    ) -> Result<RequestData<'s>, AllocateError> {
        let failed = |text: String| {
            let (key, name) = (claim.metadata.key(), request.name);
            Err(AllocateError::Failed(format!("claim {key}, request {name}{text}")))
        };
        if let Some(i) = request.selectors.iter().position(|selector| selector.cel.is_none()) {
            return failed(format!(", selector #{i}: CEL expression empty (unsupported selector type?)"));
        }
        if !self.allocator.features.admin_access && request.admin_access.is_some() {
            return failed(": admin access is requested, but the feature is disabled".to_owned());
        }
        let name = request.class;
        if name.is_empty() {
            return failed(": missing device class name (unsupported request type?)".to_owned());
        }
        let Some(class) = self.allocator.classes.get(name) else {
            return failed(format!(
                ": could not retrieve device class {name}: deviceclass.resource.k8s.io {name:?} not found"
            ));
        };
        let mut data = RequestData {
            request,
            class,
            selectors: self.compile(claim, class, request),
            n_devices: 0,
            all: Vec::new(),
            matches: vec![Cell::new(None); self.candidates.len()],
            selected: 0,
        };
        match request.mode {
            EXACT_COUNT => data.n_devices = request.count,
            ALL => {
                self.find_all(claim, &mut data)?;
                data.n_devices = i64::try_from(data.all.len()).unwrap_or(i64::MAX);
            }
            mode => return failed(format!(": unsupported count mode {mode}")),
        }
        Ok(data)
    }

    /// The selectors of class and request, in the order in which they are asked.
    fn compile(
        &self,
        claim: &'s ResourceClaim,
        class: &'s DeviceClass,
        request: Request<'s>,
    ) -> Vec<Compiled<'s>> {
        let of_class = class.spec.selectors.iter().enumerate();
        let of_class = of_class.map(|(i, selector)| (selector, SelectorOwner::Class(class, i)));
        let of_claim = request.selectors.iter().enumerate();
        let of_claim = of_claim.map(|(i, selector)| (selector, SelectorOwner::Claim(claim, i)));
        of_class
            .chain(of_claim)
            .filter_map(|(selector, owner)| {
                let expression = &selector.cel.as_ref()?.expression;
                Some((self.allocator.selectors.get_or_compile(expression), owner))
            })
            .collect()
    }

    /// The devices that a request of mode All is for.
    fn find_all(&self, claim: &ResourceClaim, data: &mut RequestData<'s>) -> Result<(), AllocateError> {
        let mut candidates = self.candidates.iter().enumerate().peekable();
        for pool in self.pools {
            if !pool.is_usable() {
                let (key, name, id) = (claim.metadata.key(), data.request.name, &pool.id);
                let why = if pool.is_incomplete { "being updated" } else { "invalid" };
                return Err(AllocateError::Failed(format!(
                    "claim {key}, request {name}: asks for all devices, but resource pool {id} is currently {why}"
                )));
            }
            while let Some((i, _)) = candidates.next_if(|(_, candidate)| std::ptr::eq(candidate.pool, pool)) {
                if self.is_selectable(data, i)? && self.has_capacity_left(&data.request, i) {
                    data.all.push(i);
                }
            }
        }
        Ok(())
    }

    /// Whether a device is what the request asks for, whoever has it.
    fn is_selectable(&self, data: &RequestData<'s>, index: usize) -> Result<bool, AllocateError> {
        let Some(candidate) = self.candidates.get(index) else { return Ok(false) };
        if !self.allocator.features.device_binding_and_status
            && !candidate.device.binding_conditions.is_empty()
        {
            return Ok(false);
        }
        let known = data.matches.get(index);
        if let Some(known) = known.and_then(|known| known.get()) {
            return Ok(known);
        }
        let matches = self.matches(&data.selectors, candidate)?;
        if let Some(known) = known {
            known.set(Some(matches));
        }
        Ok(matches)
    }

    fn matches(&self, selectors: &[Compiled<'s>], candidate: &Candidate<'s>) -> Result<bool, AllocateError> {
        for (selector, owner) in selectors {
            let selector = selector.as_ref().map_err(|error| owner.error("compile", error))?;
            let accepts = candidate.slice.matches(candidate.index, selector);
            if !accepts.map_err(|error| owner.error("runtime", error))? {
                return Ok(false);
            }
        }
        if candidate.slice.slice.spec.per_device_node_selection != Some(true) {
            return Ok(true);
        }
        device_matches(self.node, candidate.device).map_err(AllocateError::Failed)
    }

    /// Whether enough is left of the device; always where the gate is off.
    fn has_capacity_left(&self, request: &Request<'s>, index: usize) -> bool {
        if !self.allocator.features.consumable_capacity {
            return true;
        }
        let Some(candidate) = self.candidates.get(index) else { return false };
        let allocating = self.allocating_capacity.get(index).and_then(Option::as_ref);
        let [by_claims, in_flight] = candidate.consumed;
        has_capacity_left(&[by_claims, in_flight, allocating], request.capacity, &candidate.device.capacity)
    }

    fn data(&self, at: Position) -> Option<&RequestData<'s>> {
        self.requests.get(at.claim)?.get(at.request)?.get(at.alternative)
    }

    /// Whether a solution was found; it is in the results then.
    pub(super) fn run(&mut self) -> Result<bool, AllocateError> {
        let mut frames = Vec::new();
        let at = Position { claim: 0, request: 0, alternative: 0, device: 0 };
        let mut next = Next::Find { at, in_alternative: false, start: 0 };
        loop {
            next = match next {
                Next::Find { at, in_alternative, start } => self.find(at, in_alternative, start, &mut frames),
                Next::Return(outcome) => match frames.pop() {
                    Some(frame) => self.return_to(frame, outcome, &mut frames),
                    None => {
                        return match outcome {
                            Outcome::Done => Ok(true),
                            Outcome::Fail => Ok(false),
                            Outcome::Exceeded => {
                                Err(AllocateError::Failed("allocation max size exceeded".to_owned()))
                            }
                            Outcome::Error(error) => Err(error),
                        };
                    }
                },
            };
        }
    }

    fn find(&mut self, at: Position, in_alternative: bool, start: usize, frames: &mut Vec<Frame>) -> Next {
        self.n_steps += 1;
        // DIVERGES: kube-scheduler stops a search for devices after a time; here it ends after a number of steps.
        if self.n_steps > self.allocator.max_steps {
            return Next::Return(Outcome::Error(AllocateError::TimedOut));
        }
        let Some(requests) = self.requests.get(at.claim) else {
            return Next::Return(Outcome::Done);
        };
        let Some(alternatives) = requests.get(at.request) else {
            frames.push(Frame::NextClaim);
            let at = Position { claim: at.claim + 1, request: 0, alternative: 0, device: 0 };
            return Next::Find { at, in_alternative: false, start: 0 };
        };
        let has_alternatives = alternatives.first().is_some_and(|data| data.request.parent.is_some());
        if has_alternatives && !in_alternative {
            return self.try_alternative(at, 0, true, frames);
        }
        let Some(data) = alternatives.get(at.alternative) else {
            return Next::Return(Outcome::Fail);
        };
        let is_for_all = data.request.is_for_all();
        if is_for_all && data.all.is_empty() {
            return Next::Return(Outcome::Fail);
        }
        if at.device >= data.n_devices {
            let at = Position { claim: at.claim, request: at.request + 1, alternative: 0, device: 0 };
            return Next::Find { at, in_alternative: false, start: 0 };
        }
        let n_taken = self.results.get(at.claim).map_or(0, Vec::len);
        let n_taken = i64::try_from(n_taken).unwrap_or(i64::MAX);
        if n_taken.saturating_add(data.n_devices).saturating_sub(at.device) > MAX_DEVICES {
            return Next::Return(Outcome::Exceeded);
        }
        if !is_for_all {
            return self.try_candidates(at, in_alternative, start, frames);
        }
        let place = usize::try_from(at.device).ok().and_then(|place| data.all.get(place)).copied();
        let Some(candidate) = place else { return Next::Return(Outcome::Fail) };
        match self.take(at, candidate, true) {
            Err(error) => Next::Return(Outcome::Error(error)),
            Ok(None) => Next::Return(Outcome::Fail),
            Ok(Some(undo)) => {
                frames.push(Frame::OneOfAll { at, candidate, undo });
                let at = Position { device: at.device + 1, ..at };
                Next::Find { at, in_alternative, start: 0 }
            }
        }
    }

    fn try_alternative(
        &self,
        at: Position,
        alternative: usize,
        all_exceeded: bool,
        frames: &mut Vec<Frame>,
    ) -> Next {
        let at = Position { alternative, ..at };
        if self.data(at).is_none() {
            return Next::Return(if all_exceeded { Outcome::Exceeded } else { Outcome::Fail });
        }
        frames.push(Frame::Alternative { at, all_exceeded });
        Next::Find { at, in_alternative: true, start: 0 }
    }

    /// Takes the first candidate from `start` on that will do.
    fn try_candidates(
        &mut self,
        at: Position,
        in_alternative: bool,
        start: usize,
        frames: &mut Vec<Frame>,
    ) -> Next {
        for candidate in start..self.candidates.len() {
            self.n_steps += 1;
            match self.try_candidate(at, candidate) {
                Err(error) => return Next::Return(Outcome::Error(error)),
                Ok(None) => {}
                Ok(Some(undo)) => {
                    frames.push(Frame::OneOfMany { at, in_alternative, candidate, undo });
                    let at = Position { device: at.device + 1, ..at };
                    return Next::Find { at, in_alternative, start: candidate + 1 };
                }
            }
        }
        Next::Return(Outcome::Fail)
    }

    fn try_candidate(&mut self, at: Position, index: usize) -> Result<Option<Undo>, AllocateError> {
        let Some(data) = self.data(at) else { return Ok(None) };
        let request = data.request;
        let is_taken =
            if request.is_admin() { self.is_allocating_for(index, at.claim) } else { self.is_in_use(index) };
        if is_taken || !self.is_selectable(data, index)? || !self.has_capacity_left(&request, index) {
            return Ok(None);
        }
        self.take(at, index, false)
    }

    /// Takes a device that is selectable, unless it is in use, tainted, out of counters or capacity, or against a
    /// constraint. The latter is an error if exactly this device is needed.
    fn take(&mut self, at: Position, index: usize, must: bool) -> Result<Option<Undo>, AllocateError> {
        let features = self.allocator.features;
        let (Some(data), Some(candidate)) = (self.data(at), self.candidates.get(index).copied()) else {
            return Ok(None);
        };
        let (request, device) = (data.request, candidate.device);
        let is_shared = features.consumable_capacity && device.allow_multiple_allocations == Some(true);
        let is_taken = if request.is_admin() {
            !is_shared && self.is_allocating_for(index, at.claim)
        } else {
            self.is_in_use(index)
        };
        if is_taken || !features.partitionable_devices && !device.consumes_counters.is_empty() {
            return Ok(None);
        }
        let mut undo = Undo::default();
        // Whoever shares a device finds its counters taken already.
        let are_taken = is_shared && self.is_capacity_in_use(index);
        if !device.consumes_counters.is_empty() && !are_taken {
            if !self.counters.take(candidate.pool, device, &self.allocator.allocated) {
                return Ok(None);
            }
            undo.has_counters = true;
        }
        if features.device_taints && is_repelled(&device.taints, request.tolerations) {
            self.give_back(at, index, &undo);
            return Ok(None);
        }
        let constraints = self.constraints.get_mut(at.claim).map_or(&mut [][..], Vec::as_mut_slice);
        let driver = &candidate.pool.id.driver;
        undo.n_constraints = constraints
            .iter_mut()
            .position(|constraint| !constraint.add(&request, device, driver))
            .unwrap_or(constraints.len());
        if undo.n_constraints < constraints.len() {
            self.give_back(at, index, &undo);
            if !must {
                return Ok(None);
            }
            let key = self.claims.get(at.claim).map(|claim| claim.metadata.key().to_string());
            return Err(AllocateError::Failed(format!(
                "claim {}, request {}: cannot add device {} because a claim constraint would not be satisfied",
                key.unwrap_or_default(),
                request.name,
                candidate.id()
            )));
        }
        if !is_shared && let Some(claims) = self.allocating.get_mut(index) {
            claims.push(at.claim);
            undo.is_marked = true;
        }
        if !self.has_capacity_left(&request, index) {
            self.give_back(at, index, &undo);
            return Ok(None);
        }
        let consumed = is_shared.then(|| capacity_for_request(request.capacity, &device.capacity));
        if let Some(consumed) = &consumed
            && let Some(sum) = self.allocating_capacity.get_mut(index)
        {
            undo.had_capacity_entry = sum.is_some();
            add_capacity(sum.get_or_insert_default(), consumed);
            undo.consumed = Some(consumed.clone());
        }
        if let Some(results) = self.results.get_mut(at.claim) {
            results.push(Taken { candidate, request, consumed });
            undo.has_result = true;
        }
        Ok(Some(undo))
    }

    /// Takes back what [`Self::take`] has done.
    fn give_back(&mut self, at: Position, index: usize, undo: &Undo) {
        if undo.has_result
            && let Some(results) = self.results.get_mut(at.claim)
        {
            results.pop();
        }
        if let Some(consumed) = &undo.consumed
            && let Some(entry) = self.allocating_capacity.get_mut(index)
            && let Some(sum) = entry
        {
            subtract_capacity(sum, consumed);
            // An empty entry still says that the device is shared.
            if is_empty_capacity(sum) && !undo.had_capacity_entry {
                *entry = None;
            }
        }
        if undo.is_marked
            && let Some(claims) = self.allocating.get_mut(index)
        {
            claims.pop();
        }
        let request = self.data(at).map(|data| data.request);
        if let (Some(request), Some(constraints)) = (request, self.constraints.get_mut(at.claim)) {
            for constraint in constraints.iter_mut().take(undo.n_constraints).rev() {
                constraint.remove(&request);
            }
        }
        if undo.has_counters
            && let Some(candidate) = self.candidates.get(index)
        {
            self.counters.give_back(candidate.pool, candidate.device);
        }
    }

    fn is_in_use(&self, index: usize) -> bool {
        self.candidates.get(index).is_some_and(|candidate| candidate.is_in_use)
            || self.allocating.get(index).is_some_and(|claims| !claims.is_empty())
    }

    fn is_allocating_for(&self, index: usize, claim: usize) -> bool {
        self.allocating.get(index).is_some_and(|claims| claims.contains(&claim))
    }

    fn is_capacity_in_use(&self, index: usize) -> bool {
        self.candidates.get(index).is_some_and(|candidate| candidate.consumed.iter().any(Option::is_some))
            || self.allocating_capacity.get(index).is_some_and(Option::is_some)
    }

    /// A deeper search has ended.
    fn return_to(&mut self, frame: Frame, outcome: Outcome, frames: &mut Vec<Frame>) -> Next {
        match frame {
            // In other circumstances the claim may get along with fewer devices.
            Frame::NextClaim if matches!(outcome, Outcome::Exceeded) => Next::Return(Outcome::Fail),
            Frame::NextClaim => Next::Return(outcome),
            Frame::Alternative { at, all_exceeded } => match outcome {
                Outcome::Exceeded => self.try_alternative(at, at.alternative + 1, all_exceeded, frames),
                Outcome::Fail => self.try_alternative(at, at.alternative + 1, false, frames),
                Outcome::Error(_) => Next::Return(outcome),
                Outcome::Done => {
                    let request = self.requests.get_mut(at.claim).and_then(|claim| claim.get_mut(at.request));
                    if let Some(first) = request.and_then(|alternatives| alternatives.first_mut()) {
                        first.selected = at.alternative;
                    }
                    Next::Return(outcome)
                }
            },
            Frame::OneOfAll { at, candidate, undo } => {
                if !matches!(outcome, Outcome::Done) {
                    self.give_back(at, candidate, &undo);
                }
                Next::Return(outcome)
            }
            Frame::OneOfMany { at, in_alternative, candidate, undo } => {
                if matches!(outcome, Outcome::Done) {
                    return Next::Return(outcome);
                }
                self.give_back(at, candidate, &undo);
                match outcome {
                    Outcome::Fail => self.try_candidates(at, in_alternative, candidate + 1, frames),
                    _ => Next::Return(outcome),
                }
            }
        }
    }
}

/// Whether a taint keeps a device from requests without a toleration for it; effects that are not known do not.
pub(in super::super) fn is_repelled(taints: &[DeviceTaint], tolerations: &[DeviceToleration]) -> bool {
    taints.iter().any(|taint| {
        matches!(taint.effect.as_ref(), "NoSchedule" | "NoExecute")
            && !tolerations.iter().any(|toleration| tolerates(toleration, taint))
    })
}

/// Whether a toleration is for a taint (`resourceclaim.ToleratesTaint`).
fn tolerates(toleration: &DeviceToleration, taint: &DeviceTaint) -> bool {
    let is_or_empty = |wanted: &str, actual: &str| wanted.is_empty() || wanted == actual;
    is_or_empty(&toleration.effect, &taint.effect)
        && is_or_empty(&toleration.key, &taint.key)
        && match toleration.operator.as_ref() {
            "" | "Equal" => toleration.value == taint.value,
            "Exists" => true,
            _ => false,
        }
}
