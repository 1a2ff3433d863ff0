//! Random numbers and register values that sit on the edges of arithmetic.

/// A small deterministic generator (splitmix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A number in `low..=high`.
    pub fn range(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as u64) as i64
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    /// An integer register: small numbers, edges of 8, 16, 32 and 64 bits, single bits, noise.
    pub fn integer(&mut self) -> u64 {
        const EDGES: [u64; 14] = [
            0,
            1,
            u64::MAX,
            i64::MIN as u64,
            i64::MAX as u64,
            i32::MIN as i64 as u64,
            i32::MAX as u64,
            u32::MAX as u64,
            1 << 32,
            0x80,
            0x7fff,
            0x8000,
            0xff00_ff00_ff00_ff00,
            0x0123_4567_89ab_cdef,
        ];
        match self.below(8) {
            0 | 1 => self.pick(&EDGES),
            2 => self.range(-40, 40) as u64,
            3 => 1 << self.below(64),
            4 => self.next() >> self.below(64),
            5 => ((self.next() as i64) >> self.below(64)) as u64,
            _ => self.next(),
        }
    }

    /// A floating-point register: doubles, boxed singles, and bits that are neither.
    pub fn float(&mut self) -> u64 {
        match self.below(8) {
            0..=3 => self.double(),
            4..=6 => 0xffff_ffff_0000_0000 | u64::from(self.single()),
            _ if self.chance(70) => 0xffff_ffff_ffff_0000 | u64::from(self.half()),
            _ => self.next(),
        }
    }

    fn half(&mut self) -> u16 {
        const SPECIAL: [u16; 10] = [
            0, 0x7c00, // infinity
            0x7e00, // quiet NaN
            0x7c01, // signalling NaN
            0x0400, // least normal
            0x03ff, // greatest subnormal
            1,      // least subnormal
            0x7bff, // greatest
            0x3c00, // 1
            0x3800, // 1/2
        ];
        let noise = self.next() as u16;
        if self.chance(30) {
            noise & 0x8000 | self.pick(&SPECIAL)
        } else {
            noise
        }
    }

    fn double(&mut self) -> u64 {
        const SPECIAL: [u64; 12] = [
            0,
            0x7ff0_0000_0000_0000, // infinity
            0x7ff8_0000_0000_0000, // quiet NaN
            0x7ff0_0000_0000_0001, // signalling NaN
            0x0010_0000_0000_0000, // least normal
            0x000f_ffff_ffff_ffff, // greatest subnormal
            1,                     // least subnormal
            0x7fef_ffff_ffff_ffff, // greatest
            0x3ff0_0000_0000_0000, // 1
            0x3fe0_0000_0000_0000, // 1/2
            0x47ef_ffff_f000_0000, // halfway above the greatest single
            0x3690_0000_0000_0000, // half the least single subnormal
        ];
        let sign = self.next() & 1 << 63;
        let magnitude = match self.below(8) {
            0 | 1 => self.pick(&SPECIAL),
            2 => ((self.range(0, 40) as f64) / 4.0).to_bits(),
            // Around the limits of conversions to integers.
            3 => f64::from_bits((1023 + self.pick(&[31, 32, 63, 64])) << 52)
                .to_bits()
                .wrapping_add(self.range(-3, 3) as u64),
            // Near 1, so that sums and products cancel and round.
            4 | 5 => (1023u64.wrapping_add(self.range(-30, 30) as u64)) << 52 | self.next() >> 12,
            // Where single precision ends.
            6 => {
                (1023u64
                    .wrapping_add(self.pick(&[-126i64, -127, -140, -149, -150, 127, 128]) as u64))
                    << 52
                    | self.next() >> 12
            }
            _ => self.next() & !(1 << 63),
        };
        sign | magnitude
    }

    fn single(&mut self) -> u32 {
        const SPECIAL: [u32; 10] = [
            0,
            0x7f80_0000, // infinity
            0x7fc0_0000, // quiet NaN
            0x7f80_0001, // signalling NaN
            0x0080_0000, // least normal
            0x007f_ffff, // greatest subnormal
            1,           // least subnormal
            0x7f7f_ffff, // greatest
            0x3f80_0000, // 1
            0x3f00_0000, // 1/2
        ];
        let noise = self.next() as u32;
        let magnitude = match self.below(7) {
            0 | 1 => self.pick(&SPECIAL),
            2 => ((self.range(0, 40) as f32) / 4.0).to_bits(),
            3 => ((127 + self.pick(&[31u32, 32, 63, 64])) << 23)
                .wrapping_add(self.range(-3, 3) as u32),
            4 | 5 => (127u32.wrapping_add(self.range(-20, 20) as u32)) << 23 | noise >> 9,
            _ => noise & !(1 << 31),
        };
        (self.next() as u32 & 1 << 31) | magnitude
    }
}
