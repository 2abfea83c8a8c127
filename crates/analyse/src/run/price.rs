//! What the devices of a run cost, by the prices in their profiles.

use base::document;
use device::{Profile, Role, Setup};

document! {
    /// Devices and what they deliver for their price.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct PriceResources from (setup: &str, nopm: Option<f64>);
    let devices_usd = Setup::parse(setup).ok().and_then(|setup| total_usd(&setup));
    {
        /// Of all devices together; `None` unless all files were on emulated devices whose profiles
        /// have prices.
        pub devices_usd: Option<f64> = devices_usd,
        pub nopm_per_usd: Option<f64> = nopm.zip(devices_usd).map(|(nopm, usd)| nopm / usd),
    }
}

fn total_usd(setup: &Setup) -> Option<f64> {
    let everywhere = Role::ALL.iter().all(|role| setup.device_of(*role).is_some());
    let prices = setup.devices.iter().map(|device| device_price_usd(&device.profile));
    prices.sum::<Option<f64>>().filter(|usd| everywhere && *usd > 0.0)
}

/// What a device costs, in USD. An array without a price of its own costs what its members do.
pub fn device_price_usd(profile: &Profile) -> Option<f64> {
    let of_members = || {
        let array = profile.array.as_ref()?;
        Some(f64::from(array.members) * array.profile()?.price_usd?)
    };
    profile.price_usd.or_else(of_members)
}

#[cfg(test)]
mod tests {
    use super::{PriceResources, device_price_usd};
    use device::{Array, CacheSetup, DeviceSetup, Member, Role, RoleSetup, Setup};

    fn setup(profiles: &[&str], roles: &[Role]) -> String {
        let device = |name: &&str| DeviceSetup {
            profile: device::builtin(name).unwrap(),
            seed: 1,
            preconditioned: true,
        };
        let role = |(at, role): (usize, &Role)| RoleSetup {
            role: *role,
            device: at.min(profiles.len() - 1),
        };
        let setup = Setup {
            page: "shim.page".to_owned(),
            directories: vec!["data".to_owned()],
            spin: true,
            cache: CacheSetup { bytes: 1 << 20, read_ahead_bytes: 128 << 10 },
            devices: profiles.iter().map(device).collect(),
            roles: roles.iter().enumerate().map(role).collect(),
            ..Setup::default()
        };
        setup.to_toml().unwrap()
    }

    #[test]
    fn all_devices_are_paid() {
        let two = setup(&["sata-850pro", "nvme-pm1725"], &Role::ALL);
        let priced = PriceResources::of(&two, Some(4_192.0));
        assert_eq!((priced.devices_usd, priced.nopm_per_usd), (Some(2_096.0), Some(2.0)));
    }

    #[test]
    fn an_array_costs_its_members() {
        let mut array = device::builtin("sata-850pro").unwrap();
        let of_one = array.price_usd.take().unwrap();
        assert_eq!(device_price_usd(&array), None);
        array.array = Some(Array {
            level: 10,
            members: 4,
            stripe_bytes: Some(64 << 10),
            member: Member::Builtin("sata-850pro".to_owned()),
        });
        assert_eq!(device_price_usd(&array), Some(4.0 * of_one));
    }

    #[test]
    fn what_has_no_price_has_none() {
        let unpriced = setup(&["sata-850pro", "hdd-15k"], &Role::ALL);
        let partly_real = setup(&["sata-850pro"], &[Role::Data]);
        for text in [unpriced.as_str(), partly_real.as_str(), "", "no = \"setup\""] {
            assert_eq!(PriceResources::of(text, Some(1.0)).devices_usd, None, "{text}");
        }
    }
}
