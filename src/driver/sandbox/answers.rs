//! What extenders have answered, and the same answers again where the same is asked in another run.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;

use super::simulator::ExtenderTransport;
use crate::api::digest::Digest;
use crate::framework::extender::{ExtenderAnswer, ExtenderCall};

/// An answer, with what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    question: Question,
    /// The answer.
    pub answer: ExtenderAnswer,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Question {
    /// Equal for equal requests.
    exact: u64,
    /// Where the request went and the pod that it was about.
    about: Arc<str>,
}

#[derive(Deserialize, Default)]
struct Body {
    #[serde(rename = "Pod", alias = "pod")]
    pod: Option<BodyPod>,
    #[serde(rename = "PodName", alias = "podName", default)]
    name: String,
    #[serde(rename = "PodNamespace", alias = "podNamespace", default)]
    namespace: String,
}

#[derive(Deserialize)]
struct BodyPod {
    metadata: BodyMetadata,
}

#[derive(Deserialize)]
struct BodyMetadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    namespace: String,
}

impl Question {
    fn of(call: &ExtenderCall) -> Self {
        let mut digest = Digest::new();
        digest.str(&call.url);
        digest.str(&call.body);
        let body: Body = serde_json::from_str(&call.body).unwrap_or_default();
        let (namespace, name) = match body.pod {
            Some(pod) => (pod.metadata.namespace, pod.metadata.name),
            None => (body.namespace, body.name),
        };
        Self { exact: digest.finish(), about: format!("{} {namespace}/{name}", call.url).into() }
    }
}

impl Answered {
    /// A call and what came of it.
    pub fn new(call: &ExtenderCall, answer: ExtenderAnswer) -> Self {
        Self { question: Question::of(call), answer }
    }
}

/// Answers as they were given once. Nobody is called.
#[derive(Debug, Default)]
pub struct AnswerBook {
    book: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    /// The last answer to each request before the present operation.
    exact: BTreeMap<u64, ExtenderAnswer>,
    /// The same, of the last one to the same place about the same pod.
    about: BTreeMap<Arc<str>, ExtenderAnswer>,
    /// What was answered in the present operation and not asked for yet.
    now: VecDeque<Answered>,
    counts: AnswerCounts,
}

/// How questions were answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AnswerCounts {
    /// With the answer to the same request.
    pub same: u64,
    /// With the last answer to the same extender about the same pod.
    pub similar: u64,
    /// Not: nothing like it was asked then.
    pub unknown: u64,
}

impl AnswerBook {
    /// An operation is done again in which this was answered. What was answered in the one before is past.
    pub fn turn_to(&self, answers: &[Answered]) {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(past) = book.now.pop_front() {
            book.remember(past);
        }
        book.now.extend(answers.iter().cloned());
    }

    /// How questions were answered so far.
    pub fn counts(&self) -> AnswerCounts {
        self.book.lock().unwrap_or_else(PoisonError::into_inner).counts
    }
}

impl Book {
    fn remember(&mut self, Answered { question, answer }: Answered) {
        self.exact.insert(question.exact, answer.clone());
        self.about.insert(question.about, answer);
    }

    fn answer(&mut self, question: &Question) -> Option<ExtenderAnswer> {
        let is_same = |known: &Answered| known.question.exact == question.exact;
        let is_about = |known: &Answered| known.question.about == question.about;
        let found = self.now.iter().position(is_same).map(|at| (at, true));
        let found = found.or_else(|| self.now.iter().position(is_about).map(|at| (at, false)));
        if let Some((at, is_same)) = found
            && let Some(answered) = self.now.remove(at)
        {
            self.count(is_same);
            let answer = answered.answer.clone();
            self.remember(answered);
            return Some(answer);
        }
        if let Some(answer) = self.exact.get(&question.exact).cloned() {
            self.count(true);
            return Some(answer);
        }
        let answer = self.about.get(&question.about).cloned()?;
        self.count(false);
        Some(answer)
    }

    fn count(&mut self, is_same: bool) {
        if is_same {
            self.counts.same += 1;
        } else {
            self.counts.similar += 1;
        }
    }
}

impl ExtenderTransport for AnswerBook {
    fn call(&self, call: &ExtenderCall) -> ExtenderAnswer {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        book.answer(&Question::of(call)).unwrap_or_else(|| {
            book.counts.unknown += 1;
            ExtenderAnswer::Failed(format!("Post {:?}: this was not asked then", call.url))
        })
    }
}
