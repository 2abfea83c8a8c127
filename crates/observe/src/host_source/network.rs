//! Bytes that the network interfaces carried, from /proc/net/dev.

use crate::proc_file::{as_stored, each_line, number};
use crate::readings::Readings;
use store::MetricSource::Host;

/// Lines that say what the columns are.
const HEADINGS: usize = 2;
/// Columns between the received bytes and the sent: packets, errs, drop, fifo, frame, compressed,
/// multicast.
const COLUMNS_BETWEEN: usize = 7;

/// Reads the text of /proc/net/dev.
pub(super) fn read(text: &str, into: &mut Readings) -> Result<(), String> {
    let mut headings = HEADINGS;
    each_line(text, |line| {
        if headings > 0 {
            headings -= 1;
            return Ok(());
        }
        // The last colon: there is none in numbers. Old kernels put no space behind it.
        let (name, numbers) = line.rsplit_once(':').ok_or("it names no interface")?;
        let name = name.trim();
        let mut words = numbers.split_ascii_whitespace();
        let received = number(&mut words, "the received bytes")?;
        let sent = number(&mut words.skip(COLUMNS_BETWEEN), "the sent bytes")?;
        into.counter(Host, "network_received_bytes", name, as_stored(received));
        into.counter(Host, "network_sent_bytes", name, as_stored(sent));
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::readings::Readings;

    const HEADINGS: &str = "Inter-|   Receive                                                |  \
        Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo \
 colls carrier compressed
";

    fn read_lines(lines: &str) -> Result<Readings, String> {
        let mut readings = Readings::default();
        read(&format!("{HEADINGS}{lines}"), &mut readings)?;
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
            let error = read_lines(lines).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
