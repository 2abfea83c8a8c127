//! The part of the summary that tells of storage: what each role asked of its device, and how true
//! an emulated one was.

use crate::document::document;
use crate::rows::{CellPlace, NewCell, RequestIo, RequestKind, RoleIo, ShimFacts, rank};
use crate::totals::finite;

document! {
    /// One role's files in the window. Rates are `None` where nobody counted or the repeat failed.
    pub struct DeviceSummary from (place: CellPlace, role: Option<&RoleIo>);
    let requests = |kind| {
        let role = role?;
        let of = role.requests.iter().find(|request| request.kind == kind)?;
        Some(RequestSummary::of(role, of))
    };
    {
        /// As in the results file.
        pub role: String = place.role,
        pub device: String = place.device,
        pub emulated: bool = place.emulated,
        /// How much of it held live data, where that was asked for: `5 % used, fresh`.
        pub used: Option<String> = place.used,
        pub backing: String = place.backing,
        /// Requests, each as below; `None` where the shim did not count.
        pub read: Option<RequestSummary> = requests(RequestKind::Read),
        pub write: Option<RequestSummary> = requests(RequestKind::Write),
        pub flush: Option<RequestSummary> = requests(RequestKind::Flush),
        /// Requests outstanding: mean over the window, and most since the server started.
        pub queue_depth_mean: Option<f64> =
            share(role, |role| (role.outstanding_ns, role.counted_ns)),
        pub queue_depth_max: Option<u64> = role.map(|role| role.outstanding_max),
        /// Of the time, with at least one request outstanding; 0 to 1.
        pub busy_share: Option<f64> = share(role, |role| (role.busy_ns, role.counted_ns)),
        /// Of this role.
        pub fidelity: Option<f64> = share(role, |role| (role.within_tolerance, role.judged)),
        pub lateness_share: Option<f64> = lateness_share(role),
        pub overrun_share: Option<f64> =
            share(role, |role| (role.overruns, role.emulated_requests())),
    }
}

document! {
    /// Requests of one kind in the window.
    pub struct RequestSummary from (role: &RoleIo, of: &RequestIo);
    let counted_s = role.counted_ns as f64 / 1e9;
    let rate = |amount: f64| finite(amount / counted_s);
    let quantile = |q: f64| of.response.quantile_ns(q).map(|ns| ns as f64 / 1e3);
    {
        /// In the window; a second of it; megabytes (10^6).
        pub requests: u64 = of.requests,
        pub per_s: Option<f64> = rate(of.requests as f64),
        pub mb_per_s: Option<f64> = rate(of.bytes as f64 / 1e6),
        /// From submission to completion; the maximum to a sixteenth.
        pub response_mean_us: Option<f64> =
            finite(of.response.sum_ns as f64 / 1e3 / of.requests as f64),
        /// To a sixteenth.
        pub response_p50_us: Option<f64> = quantile(0.5),
        pub response_p95_us: Option<f64> = quantile(0.95),
        pub response_p99_us: Option<f64> = quantile(0.99),
        /// From submission to completion; the maximum to a sixteenth.
        pub response_max_us: Option<f64> = of.response.max_ns().map(|ns| ns as f64 / 1e3),
        /// On the device, without waiting in its queue; `None` where it is not emulated.
        pub service_mean_us: Option<f64> = of.service.mean_ns().map(|ns| ns / 1e3),
    }
}

document! {
    /// What the shim did besides.
    pub struct ShimSummary from (shim: &ShimFacts);
    {
        /// Of 4 KiB pages of buffered reads, those that the modelled page cache had.
        pub cache_hit_share: Option<f64> =
            finite(shim.cache_hits as f64 / (shim.cache_hits + shim.cache_misses) as f64),
        /// In it at the end of the window.
        pub cache_pages: u64 = shim.cache_pages,
        pub cache_dirty_pages: u64 = shim.cache_dirty_pages,
        /// As in the results file, since the server started.
        pub uring_refused: u64 = shim.uring_refused,
        pub model_full: u64 = shim.model_full,
        pub files_unseen: u64 = shim.files_unseen,
        pub maps_refused: u64 = shim.maps_refused,
        /// What the emulation cost: a call of the model; time spun before due times.
        pub model_us_per_call: Option<f64> =
            finite(shim.model_ns as f64 / 1e3 / shim.model_calls as f64),
        pub spin_s: f64 = shim.spin_ns as f64 / 1e9,
    }
}

impl CellPlace {
    fn in_words(&self) -> String {
        let used = self.used.as_ref().map(|used| format!(" ({used})"));
        format!("{}{}", self.device, used.unwrap_or_default())
    }
}

impl NewCell {
    /// The device of data and, where they are on others, those of the other roles: `hdd-15k, redo
    /// nvme-pm1725`. `None` where nothing was placed.
    pub fn devices_in_words(&self) -> Option<String> {
        let data = self.places.iter().find(|place| place.role == "data");
        let main = data.or(self.places.first())?;
        let with_role = |place: &CellPlace| format!("{} {}", place.role, place.in_words());
        let mut words = vec![if data.is_some() { main.in_words() } else { with_role(main) }];
        let others = self.places.iter().filter(|place| place.device != main.device);
        let mut others: Vec<&CellPlace> = others.collect();
        others.sort_by_key(|place| rank(&place.role));
        words.extend(others.into_iter().map(with_role));
        Some(words.join(", "))
    }
}

/// What is counted of roles, a part and the whole, as the share of all of them; `None` where there
/// is nothing to divide by.
pub(crate) fn share<'a>(
    roles: impl IntoIterator<Item = &'a RoleIo>,
    counted: fn(&RoleIo) -> (u64, u64),
) -> Option<f64> {
    let all = roles.into_iter().map(counted);
    let (part, whole) = all.fold((0, 0), |(part, whole), one| (part + one.0, whole + one.1));
    finite(part as f64 / whole as f64)
}

/// How late requests were in the mean, by the mean response time of the device itself, which is no
/// longer for being told late. `None` where nothing is emulated.
pub(crate) fn lateness_share<'a>(roles: impl IntoIterator<Item = &'a RoleIo>) -> Option<f64> {
    let (mut judged, mut late_ns, mut requests, mut response_ns) = (0, 0, 0, 0);
    for role in roles.into_iter().filter(|role| role.judged > 0) {
        judged += role.judged;
        late_ns += role.late_ns;
        requests += role.requests.iter().map(|kind| kind.requests).sum::<u64>();
        response_ns += role.requests.iter().map(|kind| kind.response.sum_ns).sum::<u64>();
    }
    let device_ns = response_ns.saturating_sub(late_ns) as f64 / requests as f64;
    finite(late_ns as f64 / judged as f64 / device_ns)
}

/// One for each role that has a place or was counted.
pub(crate) fn devices(places: &[CellPlace], roles: &[RoleIo]) -> Vec<DeviceSummary> {
    let mut all: Vec<CellPlace> = places.to_vec();
    let data = places.iter().find(|place| place.role == "data");
    for role in roles {
        if !all.iter().any(|place| place.role == role.role) {
            all.push(CellPlace { role: role.role.clone(), ..data.cloned().unwrap_or_default() });
        }
    }
    all.sort_by_key(|place| rank(&place.role));
    let of = |place: CellPlace| {
        let role = roles.iter().find(|role| role.role == place.role);
        DeviceSummary::of(place, role)
    };
    all.into_iter().map(of).collect()
}
