//! What becomes of a server under load, so that it is seen what survives.

use device::{DeviceFault, FaultKind};
use std::fmt;
use std::str::FromStr;

/// A fault in a measurement, after which its server is ended: a drill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The server is killed (SIGKILL); its machine goes on and keeps every byte that it wrote.
    Kill,
    /// The devices lose their power: they keep what they had promised, and of the rest any part.
    PowerCut,
    /// Requests go wrong under the load's last seconds, and the server does what it does.
    Device(DeviceFault),
}

impl Fault {
    /// What they are called; those of devices may have `:` and a role behind them.
    pub fn names() -> Vec<&'static str> {
        [&["power-cut", "kill"][..], &FaultKind::ALL.map(FaultKind::name)].concat()
    }

    /// The fault of devices, where it is one.
    pub fn of_device(self) -> Option<DeviceFault> {
        match self {
            Fault::Device(fault) => Some(fault),
            Fault::Kill | Fault::PowerCut => None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Kill => f.write_str("kill"),
            Fault::PowerCut => f.write_str("power-cut"),
            Fault::Device(fault) => fault.fmt(f),
        }
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Fault, String> {
        match text {
            "kill" => Ok(Fault::Kill),
            "power-cut" => Ok(Fault::PowerCut),
            _ => text.parse().map(Fault::Device).map_err(|()| {
                format!(
                    "write {}; behind those of devices a role may follow, as in io-error:redo",
                    Fault::names().join(", ")
                )
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Fault;

    #[test]
    fn faults_are_read_as_they_are_written() {
        for text in ["kill", "power-cut", "io-error", "io-error:redo"] {
            let fault: Fault = text.parse().unwrap();
            assert_eq!(fault.to_string(), text);
            assert_eq!(fault.of_device().is_some(), text.starts_with("io-error"));
        }
        assert!("fire".parse::<Fault>().unwrap_err().contains("power-cut, kill"));
    }
}
