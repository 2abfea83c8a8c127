//! What several workers, processes or intervals counted, added up.

use std::collections::BTreeMap;

/// What can be added up.
pub trait Merge {
    /// Adds what another counted.
    fn merge(&mut self, other: &Self);
}

/// Adds up a struct field by field. All fields are named, so that none is forgotten.
macro_rules! merge_fields {
    ($of:ty { $($field:ident),* $(,)? }) => {
        impl $crate::merge::Merge for $of {
            fn merge(&mut self, other: &Self) {
                let Self { $($field),* } = self;
                $($crate::merge::Merge::merge($field, &other.$field);)*
            }
        }
    };
}
pub(crate) use merge_fields;

impl Merge for u64 {
    #[inline]
    fn merge(&mut self, other: &u64) {
        *self += other;
    }
}

impl Merge for i64 {
    fn merge(&mut self, other: &i64) {
        *self += other;
    }
}

impl<T: Merge, const N: usize> Merge for [T; N] {
    #[inline]
    fn merge(&mut self, other: &[T; N]) {
        self.iter_mut().zip(other).for_each(|(mine, theirs)| mine.merge(theirs));
    }
}

/// What only one of the two has is added to nothing.
impl<T: Merge + Clone + Default> Merge for Vec<T> {
    fn merge(&mut self, other: &Vec<T>) {
        if self.len() < other.len() {
            self.resize(other.len(), T::default());
        }
        self.iter_mut().zip(other).for_each(|(mine, theirs)| mine.merge(theirs));
    }
}

impl<K: Ord + Clone, T: Merge + Clone> Merge for BTreeMap<K, T> {
    fn merge(&mut self, other: &BTreeMap<K, T>) {
        for (key, theirs) in other {
            let mine = self.entry(key.clone()).and_modify(|mine| mine.merge(theirs));
            mine.or_insert_with(|| theirs.clone());
        }
    }
}
