//! Repeatable numbers for simulations.

/// A small generator (xorshift64*): equal seeds give equal numbers, on every machine. Not for secrets.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of `seed`; every seed will do.
    pub fn new(seed: u64) -> Self {
        // Neighbouring seeds must not begin alike, and the state must not be zero.
        let mixed = (seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mut random = Self((mixed ^ (mixed >> 29)) | 1);
        random.draw();
        random
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { (self.draw() >> 16) % end }
    }

    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of `items`, which must not be empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        let at = usize::try_from(self.below(items.len() as u64)).unwrap_or(0);
        &items[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_agree_and_numbers_spread() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..1_000).map(|_| random.below(10)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        for seed in 0..20 {
            let numbers = draw(seed);
            for wanted in 0..10 {
                let count = numbers.iter().filter(|n| **n == wanted).count();
                assert!((60..150).contains(&count), "seed {seed}: {wanted} came {count} times");
            }
        }
    }
}
