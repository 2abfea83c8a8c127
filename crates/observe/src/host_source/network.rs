//! Bytes that the network interfaces carried, from /proc/net/dev.

use crate::error::ObserveError;
use crate::proc_file::{ProcText, as_stored};
use crate::sampler::Readings;
use store::MetricSource::Host;

/// Lines that say what the columns are.
const HEADINGS: usize = 2;
/// Columns between the received bytes and the sent: packets, errs, drop, fifo, frame, compressed,
/// multicast.
const COLUMNS_BETWEEN: usize = 7;

/// Reads the text of /proc/net/dev.
pub(super) fn read(text: &ProcText<'_>, into: &mut Readings) -> Result<(), ObserveError> {
    for line in text.lines().skip(HEADINGS) {
        // The last colon: there is none in numbers. Old kernels put no space behind it.
        let (name, numbers) =
            line.text.rsplit_once(':').ok_or_else(|| line.malformed("it names no interface"))?;
        let name = name.trim();
        let mut fields = line.part(numbers).fields();
        let received = fields.number("the received bytes")?;
        fields.skip(COLUMNS_BETWEEN);
        let sent = fields.number("the sent bytes")?;
        into.counter(Host, "network_received_bytes", name, as_stored(received));
        into.counter(Host, "network_sent_bytes", name, as_stored(sent));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::error::ObserveError;
    use crate::proc_file::ProcText;
    use crate::sampler::Readings;
    use std::path::Path;

    const HEADINGS: &str = "Inter-|   Receive                                                |  \
        Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo \
 colls carrier compressed
";

    fn read_lines(lines: &str) -> Result<Readings, ObserveError> {
        let mut readings = Readings::default();
        let text = format!("{HEADINGS}{lines}");
        read(&ProcText::new(Path::new("/proc/net/dev"), text), &mut readings)?;
        Ok(readings)
    }

    #[test]
    fn bytes_by_interface() {
        let lines = "    lo: 138107892819 248778994    0    0    0     0          0         0 \
            138107892819 248778994    0    0    0     0       0          0
  eth0: 592334410   27664    0    0    0     0          0         0  2534626   21961    0    0    \
  0     0       0          0
br-0a:1:18446744073709551615 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0
";
        let readings = read_lines(lines).unwrap();
        let received = |label| readings.value("network_received_bytes", label);
        let sent = |label| readings.value("network_sent_bytes", label);
        assert_eq!(received("lo"), Some(138_107_892_819));
        assert_eq!(received("eth0"), Some(592_334_410));
        assert_eq!(sent("eth0"), Some(2_534_626));
        assert_eq!(sent("br-0a:1"), Some(7));
        assert_eq!(readings.values().len(), 6);
        // A container without any.
        assert!(read_lines("").unwrap().values().is_empty());
    }

    #[test]
    fn other_forms_are_errors() {
        for (lines, says) in [
            ("eth0 1 2\n", "line 3: it names no interface"),
            ("lo: x\n", "line 3: the received bytes is \"x\""),
            ("lo: 1 2 3 4\n", "line 3: it ends before the sent bytes"),
        ] {
            let error = read_lines(lines).unwrap_err().to_string();
            assert!(error.starts_with("/proc/net/dev ") && error.contains(says), "{error}");
        }
    }
}
