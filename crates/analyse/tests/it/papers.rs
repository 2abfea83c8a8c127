//! The statistics on real series: two hours of the white papers, one point a minute, on an NVMe and
//! on a SATA drive.

use analyse::{Estimate, NoInterval, PrecisionAsked, Watched, precision, steadiness};

struct Series {
    nvme: Vec<f64>,
    sata: Vec<f64>,
}

fn series() -> Series {
    let text = include_str!("data/series-100-connections.csv");
    let rows = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    let (nvme, sata) = rows
        .map(|row| {
            let numbers: Vec<&str> = row.split(',').collect();
            let number = |column: usize| numbers[column].parse::<f64>().unwrap();
            (number(1), number(2))
        })
        .unzip();
    Series { nvme, sata }
}

#[test]
fn means_are_those_of_the_papers_tables() {
    let Series { nvme, sata } = series();
    assert_eq!((nvme.len(), sata.len()), (120, 120));
    for (values, published) in [(&nvme, 136_479.0), (&sata, 55_378.0)] {
        let estimate = Estimate::of_series(values).unwrap();
        assert!((estimate.mean - published).abs() <= 1.0, "{}", estimate.mean);
        // Minutes hang together so much that two hours tell as much as a few independent minutes.
        let apart: Vec<f64> = values.iter().map(|value| value - estimate.mean).collect();
        let products = apart.iter().zip(&apart[1..]).map(|(one, other)| one * other);
        let squares = apart.iter().map(|value| value * value);
        assert!(products.sum::<f64>() / squares.sum::<f64>() > 0.5);
        assert!(estimate.effective_count < 30.0, "{}", estimate.effective_count);
        let naive = Estimate::of_repeats(values).unwrap();
        assert!(estimate.half_width() > 2.0 * naive.half_width());
    }
}

fn is_steady(values: &[f64], minutes: usize) -> bool {
    let watched = Watched {
        name: "nopm",
        values: &values[..minutes],
        tolerance_share: 0.05,
        negligible: 0.0,
    };
    steadiness(&[watched]).steady
}

#[test]
fn the_first_minutes_are_warm_up() {
    let Series { nvme, sata } = series();
    let first = |values: &[f64]| (1..=values.len()).find(|minutes| is_steady(values, *minutes));
    // Half an hour is the least for points of a minute; what rises at its begin is in the earlier
    // half by then.
    assert_eq!((first(&nvme), first(&sata)), (Some(30), Some(30)));
    // The NVMe drive loses a tenth until minute 50 and comes back; the SATA drive does not.
    assert!(!is_steady(&nvme, 50) && is_steady(&sata, 50));
    // Coming back is no more steady than leaving.
    assert!(!is_steady(&nvme, 100) && is_steady(&sata, 100));
}

#[test]
fn a_window_tells_its_mean_or_that_it_cannot() {
    let Series { nvme, sata } = series();
    let asked = |half_width_share| PrecisionAsked { half_width_share, intervals_min: 30 };
    // The NVMe drive loses a tenth and comes back once in two hours: who saw that once cannot say
    // how often it comes.
    assert_eq!(Estimate::of_series(&nvme[20..]), Err(NoInterval::SlowWander));
    let found = precision(&nvme[20..], &asked(0.05));
    assert!(!found.reached && found.half_width_share.is_none());
    let found = precision(&sata[20..], &asked(0.05));
    assert!(found.reached && found.half_width_share.unwrap() < 0.02, "{found:?}");
    let found = precision(&sata[20..], &asked(0.005));
    assert!(!found.reached && found.intervals_needed.unwrap() > 200, "{found:?}");
}
