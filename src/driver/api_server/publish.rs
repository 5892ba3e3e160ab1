//! From the session to those who read the mirror, and from clients' writes to the session.
//!
//! A write goes to the session as a [`Ticket`] among its commands. It is an operation like any other; what came of it is
//! in the mirror before it is answered. While a person looks at the past of a sandbox nothing is written: a program in
//! the background would begin a branch there.

use std::fmt;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::body::Bytes;
use serde_json::Value;
use tokio::sync::oneshot;

use super::events::EventDesk;
use super::mirror::{Changes, Mirror, Served};
use super::own;
use crate::api::Kind;
use crate::driver::sandbox::api::{SandboxApi, WatchEvent};
use crate::driver::sandbox::documents::DocumentChange;
use crate::driver::sandbox::ops::{SimulatorOp, SimulatorSaid};
use crate::driver::sandbox::requests::{Answer, ClientRequest, Refusal};
use crate::driver::sandbox::resources::ResourceId;
use crate::driver::sandbox::told::Told;
use crate::driver::session::SessionCommand;
use crate::driver::stepper::Stepper;

/// What came of a write.
#[derive(Clone, Debug)]
pub struct Written {
    /// The object as it is now, or was last; absent where there are several.
    pub object: Option<Bytes>,
    /// Whether it is still there.
    pub is_there: bool,
}

type Reply = Result<Written, Refusal>;

#[derive(Debug)]
struct Asked {
    request: Arc<ClientRequest>,
    is_dry_run: bool,
    reply: Mutex<Option<oneshot::Sender<Reply>>>,
}

/// A write on its way to the session.
#[derive(Clone, Debug)]
pub struct Ticket(Arc<Asked>);

impl PartialEq for Ticket {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Ticket {}

impl Ticket {
    fn answer(&self, reply: Reply) {
        let waiting = self.0.reply.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waiting) = waiting {
            // The client may have gone.
            let _ = waiting.send(reply);
        }
    }

    /// Says that nothing can be written here.
    pub fn refuse(&self, why: &str) {
        self.answer(Err(Refusal::new(503, "ServiceUnavailable", why)));
    }
}

/// The way of clients' writes to a session.
#[derive(Clone)]
pub struct Writer(Arc<Mutex<Sender<SessionCommand>>>);

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Writer")
    }
}

impl Writer {
    /// The way to the session that takes these commands.
    pub fn new(commands: Sender<SessionCommand>) -> Self {
        Self(Arc::new(Mutex::new(commands)))
    }

    /// Has something written, or tried, and waits for what comes of it.
    ///
    /// # Errors
    /// Why it is not written.
    pub async fn write(&self, request: ClientRequest, is_dry_run: bool) -> Reply {
        let (sender, receiver) = oneshot::channel();
        let reply = Mutex::new(Some(sender));
        let ticket = Ticket(Arc::new(Asked { request: Arc::new(request), is_dry_run, reply }));
        let sent =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).send(SessionCommand::Request(ticket));
        let over = || Refusal::new(503, "ServiceUnavailable", "the sandbox has ended");
        sent.map_err(|_| over())?;
        receiver.await.map_err(|_| over())?
    }
}

/// What a session needs to fill the mirror.
#[derive(Debug)]
pub struct Publisher {
    mirror: Arc<Mirror>,
    events: EventDesk,
    /// How often the sandbox had been taken back when the mirror was filled last.
    n_jumps: u64,
}

impl Stepper {
    /// Serves the sandbox to those who read the mirror, from now on. What it does must have been told from the beginning
    /// on ([`begin_telling`](crate::driver::sandbox::simulator::Simulator::begin_telling)), so that a moment that is gone
    /// back to is the same again.
    pub fn serve_api(&mut self, mirror: Arc<Mirror>) {
        let n_jumps = self.rewind.history.n_jumps();
        let api = self.rewind.machine().api();
        mirror.change(|changes| fill(changes, api));
        self.served = Some(Publisher { mirror, events: EventDesk::default(), n_jumps });
        self.publish();
    }

    /// Brings the mirror up to date.
    pub fn publish(&mut self) {
        let Some(publisher) = &mut self.served else { return };
        let told = self.rewind.machine_mut().take_told();
        let n_jumps = self.rewind.history.n_jumps();
        let machine = self.rewind.machine();
        let now = machine.now();
        if n_jumps == publisher.n_jumps && told.is_empty() && publisher.mirror.now() == now {
            return;
        }
        let has_jumped = std::mem::replace(&mut publisher.n_jumps, n_jumps) != n_jumps;
        let Publisher { mirror, events, .. } = publisher;
        mirror.change(|changes| {
            changes.set_now(now);
            if has_jumped {
                fill(changes, machine.api());
                events.forget_after(now, changes);
            }
            // What was done again on the way there is there already.
            for told in told.into_iter().filter(|_| !has_jumped) {
                match told {
                    Told::Event(event) => events.say(&event, machine.api(), changes),
                    Told::Object(event) => {
                        let Some(id) = ResourceId::of_slim(event.object().kind()) else { continue };
                        match event {
                            WatchEvent::Added(object) | WatchEvent::Modified { new: object, .. } => {
                                changes.put(id, machine.api().whole(&object));
                            }
                            // What is left of it is told as a document.
                            WatchEvent::Deleted(object) if machine.api().has_ended(&object) => {}
                            WatchEvent::Deleted(object) => {
                                changes.remove(id, &object.key());
                                if object.kind() == Kind::Namespace {
                                    own::remove_all_in(changes, &object.key().name);
                                }
                            }
                        }
                    }
                    Told::Document(DocumentChange { resource: id, key, new, .. }) => {
                        // A pod that has ended may have made room for another one since.
                        let has_slim = id.get().slim.is_some();
                        let new = if has_slim { machine.api().document(id, &key) } else { new };
                        match new {
                            Some(document) => _ = changes.put(id, Value::clone(&document)),
                            None => _ = changes.remove(id, &key),
                        }
                    }
                }
            }
            events.refresh(now, changes);
        });
    }

    /// Does what a client asks for, and answers.
    pub(in crate::driver) fn answer_client(&mut self, ticket: &Ticket) {
        if self.moment().is_past() || self.rewind.is_inside() {
            return ticket.refuse(
                "the console shows the past of this sandbox; nothing is written before it is at the present again",
            );
        }
        let request = Arc::clone(&ticket.0.request);
        if ticket.0.is_dry_run {
            let mut copy = self.rewind.machine().clone();
            copy.leave_recording_alone();
            let answer = copy.carry_out_request(&request);
            return ticket.answer(
                answer.map(|object| Written { object: object.as_deref().map(bytes), is_there: true }),
            );
        }
        let watch = self.before_a_move();
        let SimulatorSaid::Answered(answer) = self.rewind.apply(SimulatorOp::Request(Arc::clone(&request)))
        else {
            return ticket.refuse("the sandbox has answered something else");
        };
        self.publish();
        let reply = self.reply(&request, answer);
        self.stop_at_breaks(watch);
        ticket.answer(reply);
    }

    fn reply(&self, request: &ClientRequest, answer: Answer) -> Reply {
        let object = answer?;
        let Some(publisher) = &self.served else { return Ok(Written { object: None, is_there: false }) };
        let seen = publisher.mirror.get(request.resource, &request.key);
        let is_there = seen.is_some();
        let seen = seen.map(|seen: Arc<Served>| seen.json.clone());
        Ok(Written { object: seen.or_else(|| object.as_deref().map(bytes)), is_there })
    }
}

fn bytes(document: &Value) -> Bytes {
    Bytes::from(serde_json::to_vec(document).unwrap_or_default())
}

/// Puts everything into the mirror that is not there as it is.
fn fill(changes: &mut Changes<'_>, api: &SandboxApi) {
    for id in ResourceId::all().filter(|id| !own::is_own(*id)) {
        let documents = api.documents(id);
        if !changes.is_as(id, &documents) {
            changes.replace(id, &documents);
        }
    }
}
