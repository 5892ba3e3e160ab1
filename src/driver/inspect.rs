//! What a person asks for besides the view: the full reading of a pod, of a pod and a node, and the internals.
//!
//! It costs more than a view, so it is made when it is asked for. While the session is paused it is made again with each
//! change; while it runs it stays, with the time at which it was made.

use std::sync::Arc;

use crate::api::store::{Kind, ObjectStore};
use crate::api::{NamespacedName, Str, Time};
use crate::scheduler::Scheduler;
use crate::scheduler::internals::Internals;
use crate::scheduler::reading::PodReading;

use super::related::related;
use super::rewind::Moment;
use super::work::Work;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inspect {
    /// What every plugin says of a pod and each node.
    Pod(NamespacedName),
    /// What every plugin says of a pod and a node.
    Pair(NamespacedName, Str),
    /// An object, with what it has to do with.
    Object(Kind, NamespacedName),
    /// What the scheduler holds inside.
    Internals,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// What was asked for.
    pub of: Inspect,
    /// When: the scheduler's time.
    pub at: Time,
    /// What came out.
    pub found: Found,
}

/// What came out of a question.
#[derive(Clone, Debug)]
pub enum Found {
    /// What plugins say.
    Reading(Box<PodReading>),
    /// The object with what it names and what names it.
    Object(Box<ObjectStore>),
    /// What is inside.
    Internals(Box<Internals>),
    /// Nothing, and why.
    Nothing(String),
}

/// Asks the scheduler.
pub fn inspect(scheduler: &Scheduler, of: &Inspect) -> Inspected {
    inspect_in(scheduler, of, &Work::default())
}

fn inspect_in(scheduler: &Scheduler, of: &Inspect, work: &Work) -> Inspected {
    let what = match of {
        Inspect::Pod(pod) => format!("asking every plugin about {pod}"),
        Inspect::Pair(pod, node) => format!("asking every plugin about {pod} and {node}"),
        Inspect::Object(kind, key) => format!("looking for {kind} {key}"),
        Inspect::Internals => "looking into the scheduler".to_owned(),
    };
    let task = work.begin(what);
    let read = |pod: &NamespacedName, node: Option<&Str>| {
        let Some(object) = scheduler.objects().pods.get(pod) else {
            return Found::Nothing(format!("There is no pod {pod} (any more)."));
        };
        if let Some(node) = node.filter(|node| !scheduler.caches_node(node)) {
            return Found::Nothing(format!("There is no node {node} (any more)."));
        }
        match scheduler.read_while(object, node, &mut |done, total| work.goes_on(done, total)) {
            Some(reading) => Found::Reading(Box::new(reading)),
            None if task.is_called_off() => Found::Nothing(format!(
                "You stopped this before every node was asked: :why {pod} asks again."
            )),
            None => Found::Nothing(format!(
                "No profile of this scheduler is responsible for pod {pod}: it asks for {}.",
                object.spec.scheduler_name
            )),
        }
    };
    let found = match of {
        Inspect::Pod(pod) => read(pod, None),
        Inspect::Pair(pod, node) => read(pod, Some(node)),
        Inspect::Object(kind, key) => match related(scheduler.objects(), *kind, key) {
            Some(store) => Found::Object(Box::new(store)),
            None => Found::Nothing(format!("There is no {kind} {key} (any more).")),
        },
        Inspect::Internals => Found::Internals(Box::new(scheduler.internals())),
    };
    Inspected { of: of.clone(), at: scheduler.now(), found }
}

/// The question of a session and the newest answer.
#[derive(Debug, Default)]
pub struct Inspector {
    question: Option<Inspect>,
    answer: Option<Arc<Inspected>>,
    /// The moment of the answer, where moments have names.
    moment: Option<Moment>,
}

impl Inspector {
    /// Asks from now on; the next [`Inspector::view`] has the answer.
    pub fn ask(&mut self, question: Inspect) {
        self.question = Some(question);
        self.answer = None;
    }

    /// The answer, made anew if there is none, or if it is of another moment than the one that it is wanted of.
    pub fn view(
        &mut self,
        scheduler: &Scheduler,
        wanted: Option<Moment>,
        work: &Work,
    ) -> Option<Arc<Inspected>> {
        let question = self.question.as_ref()?;
        if self.answer.is_none() || (wanted.is_some() && wanted != self.moment) {
            self.answer = Some(Arc::new(inspect_in(scheduler, question, work)));
            self.moment = wanted;
        }
        self.answer.clone()
    }
}
