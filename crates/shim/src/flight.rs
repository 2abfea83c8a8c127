//! A request under way on an emulated device.

use crate::meter::{CountedRequest, tolerance_ns};
use crate::state::ShimState;
use crate::{clock, faults};
use device::page::{AccessKind, Global, OfRole};
use device::{
    Access, FaultKind, FileOffset, Full, RequestState, Role, SLOW_FACTOR, device_address,
};
use std::ops::Range;

/// Where a request goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EmulatedPlace {
    pub(crate) device: usize,
    pub(crate) role: Role,
    /// [`crate::names::identity_of`].
    pub(crate) file: u64,
}

/// Bytes of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Extent {
    /// The program may ask for anything.
    pub(crate) fn end(self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }
}

pub(crate) struct Flight {
    pub(crate) counted: CountedRequest,
    is_counted: bool,
    device: usize,
    /// `None` where the model does not know it.
    stage: Option<RequestState>,
}

impl Flight {
    /// Hands a request to the model and counts it as outstanding. Where the model is full it is due
    /// at once.
    pub(crate) fn begin(
        state: &ShimState,
        kind: AccessKind,
        target: EmulatedPlace,
        extent: Extent,
        now_ns: u64,
    ) -> Flight {
        let mut flight = Flight::unmodelled(state, kind, target.role, now_ns);
        flight.device = target.device;
        let at = FileOffset { file: target.file ^ state.file_salt, offset: extent.offset };
        let address = device_address(at, state.setup.devices[target.device].profile.used_bytes());
        let bytes = u32::try_from(extent.bytes).unwrap_or(u32::MAX);
        let access = Access { kind, address, bytes };
        // It may have begun some time ago, while the host did its part.
        let from_ns = clock::now_ns();
        let (answer, before, after) = state.devices[target.device].with(|device| {
            let before = device.programmed();
            let answer = device.submit(now_ns, access);
            (answer, before, device.programmed())
        });
        count_model_call(state, from_ns);
        state.meter.count(target.role, OfRole::ProgrammedBytes, after.bytes - before.bytes);
        // Reads alone never settle it.
        if kind == AccessKind::Write {
            state.meter.set_of(target.role, OfRole::Unsettled, u64::from(!after.is_settled));
        }
        match answer {
            Ok(progress) => flight.advance(state, progress),
            Err(Full) => state.meter.add(Global::ModelFull, 1),
        }
        flight
    }

    /// What is not asked of the model: it is complete when the host is.
    pub(crate) fn unmodelled(
        state: &ShimState,
        kind: AccessKind,
        role: Role,
        now_ns: u64,
    ) -> Flight {
        Flight {
            counted: state.meter.begin(role, kind, now_ns),
            is_counted: true,
            device: usize::MAX,
            stage: None,
        }
    }

    /// What is over and has been counted elsewhere.
    pub(crate) fn uncounted() -> Flight {
        Flight {
            counted: CountedRequest { role: Role::Data, kind: AccessKind::Read, began_ns: 0 },
            is_counted: false,
            device: usize::MAX,
            stage: None,
        }
    }

    fn advance(&mut self, state: &ShimState, mut stage: RequestState) {
        if let RequestState::Decided(completion) = &mut stage {
            let CountedRequest { role, kind, began_ns } = self.counted;
            if faults::now(state, role) == Some(FaultKind::FailSlow) {
                let response_ns = completion.due_ns.saturating_sub(began_ns);
                completion.due_ns = began_ns.saturating_add(response_ns * SLOW_FACTOR);
                completion.service_ns *= SLOW_FACTOR;
            }
            state.meter.serviced(role, kind, completion.service_ns);
        }
        self.stage = Some(stage);
    }

    /// When there is something to do: it is due, or to be asked for again. 0 where the model does
    /// not know it.
    pub(crate) fn when_ns(&self) -> u64 {
        match &self.stage {
            Some(RequestState::Decided(completion)) => completion.due_ns,
            Some(RequestState::Queued { ask_again_ns, .. }) => *ask_again_ns,
            None => 0,
        }
    }

    /// When it is complete, as far as that is decided.
    pub(crate) fn due_ns(&self) -> Option<u64> {
        match &self.stage {
            Some(RequestState::Decided(completion)) => Some(completion.due_ns),
            Some(RequestState::Queued { .. }) | None => None,
        }
    }

    pub(crate) fn is_queued(&self) -> bool {
        matches!(self.stage, Some(RequestState::Queued { .. }))
    }

    /// Asks the model again for what is queued. To be called from [`Flight::when_ns`] on.
    pub(crate) fn poll(&mut self, state: &ShimState, now_ns: u64) {
        match self.stage.take() {
            Some(RequestState::Queued { ticket, .. }) => {
                let device = &state.devices[self.device];
                let progress = device.with(|device| device.poll(now_ns, ticket));
                count_model_call(state, now_ns);
                self.advance(state, progress);
            }
            stage => self.stage = stage,
        }
    }

    /// Waits until the device has decided and the request is due. No lock is held meanwhile.
    pub(crate) fn wait(&mut self, state: &ShimState) {
        while self.stage.is_some() {
            state.wait_until(self.when_ns());
            if !self.is_queued() {
                break;
            }
            self.poll(state, clock::now_ns());
        }
    }

    /// The host has done its part.
    pub(crate) fn host_done(&self, state: &ShimState) {
        if let Some(due_ns) = self.due_ns() {
            let response_ns = due_ns.saturating_sub(self.counted.began_ns);
            if clock::now_ns() > due_ns + tolerance_ns(response_ns) {
                state.meter.count(self.counted.role, OfRole::Overruns, 1);
            }
        }
    }

    /// Waits until it is complete, and counts it.
    pub(crate) fn finish(mut self, state: &ShimState, bytes: Option<u64>) {
        if self.is_counted {
            self.wait(state);
            let began_ns = self.counted.began_ns;
            self.end(state, began_ns..clock::now_ns(), bytes);
        }
    }

    /// It is complete, and who waited for it knows it at the end of that time.
    pub(crate) fn end(self, state: &ShimState, waited_ns: Range<u64>, bytes: Option<u64>) {
        if !self.is_counted {
            return;
        }
        let mut ended_ns = waited_ns.end;
        match self.due_ns() {
            // Nobody was waiting when the device was done: that says nothing of how true the
            // emulation is.
            Some(due_ns) if due_ns < waited_ns.start => ended_ns = due_ns,
            Some(due_ns) => state.meter.judge(self.counted, due_ns..ended_ns),
            None => {}
        }
        state.meter.end(self.counted, ended_ns, bytes);
    }

    /// It is complete, as one of several: it came back when it was due, and whoever waited did so
    /// for another.
    pub(crate) fn end_unjudged(self, state: &ShimState, now_ns: u64, bytes: Option<u64>) {
        let ended_ns = self.due_ns().unwrap_or(now_ns);
        state.meter.end(self.counted, ended_ns, bytes);
    }
}

fn count_model_call(state: &ShimState, from_ns: u64) {
    let spent_ns = clock::now_ns().saturating_sub(from_ns);
    state.meter.add(Global::ModelNs, spent_ns);
    state.meter.add(Global::ModelCalls, 1);
}
