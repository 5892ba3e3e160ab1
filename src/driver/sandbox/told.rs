//! What happens in a sandbox, told to one who serves its API: in order, and only while somebody asks.

use super::api::WatchEvent;
use super::controllers::Controllers;
use super::documents::DocumentChange;
use super::requests::{Answer, ClientRequest};
use super::simulator::{Simulator, TICK};
use crate::scheduler::view::ObjectEvent;

/// Something that has happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// An object that the scheduler reads has changed.
    Object(WatchEvent),
    /// Another one has.
    Document(DocumentChange),
    /// The scheduler has said something about a pod.
    Event(ObjectEvent),
}

/// What is kept for one who asks what has happened.
#[derive(Clone, Debug, Default)]
pub(super) struct Telling {
    pub(super) log: Vec<Told>,
}

impl Simulator {
    /// What has happened is kept from now on until it is asked for.
    pub fn begin_telling(&mut self) {
        self.told.get_or_insert_default();
        self.api.set_served();
        if let Some(world) = self.controllers.as_mut().and_then(Controllers::world_mut) {
            world.touch_all();
        }
        self.settle();
    }

    /// What has happened since this was last asked.
    pub fn take_told(&mut self) -> Vec<Told> {
        self.told.as_mut().map(|told| std::mem::take(&mut told.log)).unwrap_or_default()
    }

    /// Carries out what a client of the API asks for, at the present time.
    ///
    /// # Errors
    /// Why it is not carried out; the cluster is then as it was.
    pub fn carry_out_request(&mut self, request: &ClientRequest) -> Answer {
        self.now += TICK;
        let answer =
            self.check_workload(request).and_then(|()| self.api.carry_out_request(request, self.now));
        if answer.is_ok() {
            self.tell_world(request);
        }
        self.settle();
        answer
    }

    pub(super) fn tell_of_documents(&mut self) {
        for change in self.api.take_document_changes() {
            if let Some(told) = &mut self.told {
                told.log.push(Told::Document(change));
            }
        }
    }

    pub(super) fn tell_of_event(&mut self, event: ObjectEvent) {
        if let Some(told) = &mut self.told {
            told.log.push(Told::Event(event));
        }
    }
}
