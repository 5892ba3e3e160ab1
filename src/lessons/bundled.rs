//! The lessons that come with the program, in the order of the course.

use super::file::{Lesson, LessonError};

macro_rules! files {
    ($($id:literal)+) => {
        &[$(($id, include_str!(concat!("../../recordings/lessons/", $id, ".toml"))),)+]
    };
}

/// Files by what the lessons are called.
const FILES: &[(&str, &str)] = files! {
    "queues"
    "backoff"
    "gates"
    "filter"
    "score"
    "normalization"
    "node-affinity"
    "taints"
    "ports"
    "pod-affinity"
    "spread"
    "images"
    "preemption"
    "budgets"
    "volumes"
    "volume-limits"
    "devices"
    "gangs"
    "profiles"
    "hints"
    "sampling"
    "reading"
};

/// Reads the course.
///
/// # Errors
/// What is wrong with the files; a test keeps that from happening.
pub fn course() -> Result<Vec<Lesson>, Vec<LessonError>> {
    let no_file = |name: &str| Err(format!("{name}: a lesson of the program has everything in its own file"));
    let mut lessons = Vec::new();
    let mut errors = Vec::new();
    for (id, text) in FILES {
        match Lesson::read(&format!("{id}.toml"), id, text, &no_file) {
            Ok(lesson) => lessons.push(lesson),
            Err(found) => errors.extend(found),
        }
    }
    if errors.is_empty() { Ok(lessons) } else { Err(errors) }
}
