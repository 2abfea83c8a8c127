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

#[cfg(test)]
mod tests {
    use super::Fill;
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
