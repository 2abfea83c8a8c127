//! Cleaning: what flash copies for its erased blocks. Pages are written in turn, and a page that is
//! written again leaves its old copy behind; the block that was filled first is erased for new
//! pages, and what is still valid of it is copied before.
//!
//! With pages written at random, a share e of that block is still valid where `e = exp(-(1 - e) /
//! fill)`, and flash writes `1 / (1 - e)` pages for each of the host's (Menon 1995; Robinson 1996;
//! Hu 2009). With blocks of many pages the choice of the one with the fewest valid pages comes to
//! the same (Desnoyers 2012), which a test shows on single pages.

/// The share of flash that holds live data, spare area included: 0 to less than 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fill(pub f64);

/// Steps of halving, after which nothing is left of a share.
const HALVINGS: u32 = 60;

impl Fill {
    /// The fill at which flash writes so many pages for one of the host's.
    pub fn by_amplification(pages: f64) -> Fill {
        let valid = 1.0 - 1.0 / pages.max(1.0);
        Fill(if valid > 0.0 { (valid - 1.0) / valid.ln() } else { 0.0 })
    }

    /// Pages that flash writes for one of the host's, at random places.
    pub fn amplification(self) -> f64 {
        let Fill(fill) = self;
        // The root that is sought lies below the fill; 1 is another.
        let (mut low, mut high) = (0.0, fill);
        for _ in 0..HALVINGS {
            let valid = f64::midpoint(low, high);
            if (-(1.0 - valid) / fill).exp() > valid {
                low = valid;
            } else {
                high = valid;
            }
        }
        1.0 / (1.0 - low)
    }
}

/// Parts of flash that are told apart by when they were written.
const PARTS: usize = 256;

/// Flash since it was trimmed. What is erased is written first, and then each part in its turn,
/// once what is still valid of it is copied: the fewer pages, the longer ago it was written. So it
/// comes to the steady state of [`Fill::amplification`] by itself.
#[derive(Debug)]
pub struct TrimmedFlash {
    /// When each part began to be written, in pages of the host's; never, where it is erased.
    written_at: [f64; PARTS],
    part_pages: f64,
    live_pages: f64,
    /// The part that is written now, what was valid of it, and how much of it is written.
    part: usize,
    valid: f64,
    done_pages: f64,
    /// Pages that the host has written.
    host_pages: f64,
}

impl TrimmedFlash {
    /// Flash of which so many pages are erased, and the others hold live data.
    pub fn new(erased_pages: f64, Fill(fill): Fill) -> TrimmedFlash {
        let pages = erased_pages / (1.0 - fill).max(f64::EPSILON);
        let live_parts = ((fill * PARTS as f64).round() as usize).min(PARTS - 1);
        let mut written_at = [f64::NEG_INFINITY; PARTS];
        written_at[..=live_parts].fill(0.0);
        TrimmedFlash {
            written_at,
            part_pages: pages / PARTS as f64,
            live_pages: (pages * fill).max(1.0),
            part: live_parts,
            valid: 0.0,
            done_pages: 0.0,
            host_pages: 0.0,
        }
    }

    /// Pages that flash writes for one of the host's now, at random places.
    pub fn amplification(&self) -> f64 {
        1.0 / (1.0 - self.valid)
    }

    /// Takes pages at random places; answers how many flash writes for one of them now.
    pub fn write(&mut self, pages: f64) -> f64 {
        let amplification = self.amplification();
        self.host_pages += pages;
        self.done_pages += pages * amplification;
        while self.done_pages >= self.part_pages {
            self.part = (self.part + 1) % PARTS;
            let age_pages = self.host_pages - self.written_at[self.part];
            self.written_at[self.part] = self.host_pages;
            self.valid = (-age_pages / self.live_pages).exp().min(VALID_MAX);
            self.done_pages -= self.part_pages;
        }
        amplification
    }
}

/// Where nearly all that is cleaned is valid, flash still goes on.
const VALID_MAX: f64 = 0.999;

#[cfg(test)]
mod tests {
    use super::{Fill, TrimmedFlash};
    use crate::model::random::ModelRandom;

    const BLOCKS: usize = 400;
    const PAGES: usize = 128;

    /// Single pages of a drive that erases the block with the fewest valid ones.
    struct Flash {
        /// By page of the host, where it lies; by place, whose page lies there.
        places: Vec<Option<usize>>,
        pages: Vec<Option<usize>>,
        valid: Vec<usize>,
        is_full: Vec<bool>,
        free: Vec<usize>,
        block: usize,
        next: usize,
        written: u64,
    }

    impl Flash {
        fn new(host_pages: usize) -> Flash {
            Flash {
                places: vec![None; host_pages],
                pages: vec![None; BLOCKS * PAGES],
                valid: vec![0; BLOCKS],
                is_full: vec![false; BLOCKS],
                free: (1..BLOCKS).collect(),
                block: 0,
                next: 0,
                written: 0,
            }
        }

        fn put(&mut self, page: usize) {
            if let Some(old) = self.places[page] {
                self.pages[old] = None;
                self.valid[old / PAGES] -= 1;
            }
            if self.next == PAGES {
                self.is_full[self.block] = true;
                self.block = self.free.pop().unwrap();
                self.next = 0;
            }
            let place = self.block * PAGES + self.next;
            self.places[page] = Some(place);
            self.pages[place] = Some(page);
            self.valid[self.block] += 1;
            self.next += 1;
            self.written += 1;
        }

        fn write(&mut self, page: usize) {
            self.put(page);
            while self.free.len() < 2 {
                let full = (0..BLOCKS).filter(|block| self.is_full[*block]);
                let block = full.min_by_key(|block| self.valid[*block]).unwrap();
                for place in block * PAGES..(block + 1) * PAGES {
                    if let Some(page) = self.pages[place] {
                        self.put(page);
                    }
                }
                self.is_full[block] = false;
                self.free.push(block);
            }
        }
    }

    /// Pages written for one of the host's, after long writing at random places.
    fn simulated(fill: f64) -> f64 {
        let host_pages = ((BLOCKS * PAGES) as f64 * fill) as usize;
        let mut flash = Flash::new(host_pages);
        let mut random = ModelRandom::new(1);
        (0..host_pages).for_each(|page| flash.write(page));
        let mut round = |flash: &mut Flash| {
            let (before, count) = (flash.written, 4 * BLOCKS * PAGES);
            for _ in 0..count {
                flash.write((random.bits() % host_pages as u64) as usize);
            }
            (flash.written - before) as f64 / count as f64
        };
        round(&mut flash);
        round(&mut flash)
    }

    #[test]
    fn single_pages_agree() {
        let mut before = 0.0;
        for fill in [0.05, 0.3, 0.5, 0.7, 0.8, 0.9, 0.93, 0.95] {
            let (found, expected) = (Fill(fill).amplification(), simulated(fill));
            assert!((found / expected - 1.0).abs() < 0.05, "{fill}: {found}, not {expected}");
            assert!(found > before);
            before = found;
        }
    }

    /// Fresh, transition, steady state: the three parts of a curve of write saturation.
    #[test]
    fn single_pages_agree_from_the_trim_on() {
        const STEPS: usize = 40;
        for fill in [0.05, 0.3, 0.5, 0.7, 0.8, 0.9, 0.93] {
            let host_pages = ((BLOCKS * PAGES) as f64 * fill) as usize;
            let mut flash = Flash::new(host_pages);
            (0..host_pages).for_each(|page| flash.write(page));
            let mut trimmed = TrimmedFlash::new((BLOCKS * PAGES - host_pages) as f64, Fill(fill));
            let mut random = ModelRandom::new(1);
            let step = BLOCKS * PAGES / 10;
            let mut curve = Vec::new();
            for n in 0..STEPS {
                let before = flash.written;
                let mut expected = 0.0;
                for _ in 0..step {
                    flash.write((random.bits() % host_pages as u64) as usize);
                    expected += trimmed.write(1.0);
                }
                let found = (flash.written - before) as f64 / step as f64;
                let expected = expected / step as f64;
                // It keeps blocks in reserve, and so begins to clean a little earlier. Of blocks
                // that are equally old, those with the fewest valid pages come first: with 128
                // pages that is a tenth less, with a real drive's nothing.
                let leaves_fresh = (n as f64 - (1.0 - fill) * 10.0).abs() < 1.0;
                let is_near = (expected / found - 1.0).abs() < 0.15;
                assert!(is_near || leaves_fresh, "{fill}, {n}: {expected}, {found}");
                curve.push(expected);
            }
            // Whatever fits into erased flash is written once.
            let fresh = (((1.0 - fill) * 10.0) as usize).saturating_sub(1);
            assert!(curve[..fresh].iter().all(|pages| (*pages - 1.0).abs() < 1e-9), "{curve:?}");
            let steady = Fill(fill).amplification();
            assert!((curve[STEPS - 1] / steady - 1.0).abs() < 0.05, "{fill}: {curve:?}");
        }
    }

    /// Tom's Hardware wrote 4 KiB at random places of a purged Samsung 845DC Evo of 960 GB for 25
    /// hours (2014): 80,000 a second for 50 minutes, and from the twelfth hour on what its sheet
    /// has, 14,000, with 410 MB/s in sequence.
    #[test]
    fn a_purged_drive_gets_slower_as_one_did() {
        let flash_pages_per_s = 410e6 / 4096.0;
        let fill = Fill::by_amplification(flash_pages_per_s / 14_000.0);
        let pages = 960e9 / 4096.0 / fill.0;
        let mut flash = TrimmedFlash::new(pages * (1.0 - fill.0), fill);
        flash.written_at.fill(f64::NEG_INFINITY);
        let (mut fresh_s, mut steady_s, mut now_s) = (0.0, 0.0, 0.0);
        while now_s < 25.0 * 3600.0 {
            let rate = f64::min(80_000.0, flash_pages_per_s / flash.write(10_000.0));
            now_s += 10_000.0 / rate;
            if rate == 80_000.0 {
                fresh_s = now_s;
            }
            if rate > 14_000.0 * 1.1 {
                steady_s = now_s;
            }
        }
        assert!((45.0..55.0).contains(&(fresh_s / 60.0)), "{fresh_s} s");
        assert!((6.0..12.0).contains(&(steady_s / 3600.0)), "{steady_s} s");
    }

    /// Two drives of one family, by AnandTech's tables of their sheets (2014), with 512 GiB of
    /// flash: how much more the one with more spare area takes.
    #[test]
    fn spare_area_is_worth_what_sheets_say() {
        // 845DC Pro: 400 GB, 460 MB/s, 50,000 random writes; 845DC Evo: 480 GB, 410 MB/s, 14,000.
        let flash_bytes = (512_u64 << 30) as f64;
        let by_sheet = [(400e9, 460e6, 50_000.0), (480e9, 410e6, 14_000.0)];
        let [pro, evo] = by_sheet.map(|(bytes, per_s, iops)| {
            per_s / 4096.0 / Fill(bytes / flash_bytes).amplification() / iops
        });
        assert!((0.9..1.2).contains(&pro), "{pro}");
        // A part of the Evo's spare flash is a cache of single bits: see docs/emulation.md.
        assert!((1.0..1.8).contains(&evo), "{evo}");
    }

    #[test]
    fn fill_and_amplification_are_each_others_inverse() {
        for pages in [1.0, 1.01, 2.0, 4.07, 14.1, 100.0] {
            let back = Fill::by_amplification(pages).amplification();
            assert!((back / pages - 1.0).abs() < 1e-6, "{pages}: {back}");
        }
        // By hand: e = 0.5 at fill 0.5 / ln 2.
        assert!((Fill::by_amplification(2.0).0 - 0.5 / 2f64.ln()).abs() < 1e-12);
        assert_eq!(Fill(0.0).amplification(), 1.0);
    }
}
