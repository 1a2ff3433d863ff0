//! Sorts, sums and folds on the threads of rayon.

use rayon::prelude::*;
fn main() {
    let mut v: Vec<u64> = (0..20_000u64)
        .map(|i| i.wrapping_mul(6364136223846793005).rotate_left(17))
        .collect();
    let sum = v.par_iter().map(|x| x % 1009).sum::<u64>();
    v.par_sort_unstable();
    let ok = v.windows(2).all(|w| w[0] <= w[1]);
    let (a, b) = rayon::join(
        || v[..10_000].iter().fold(0u64, |s, x| s ^ x),
        || v[10_000..].iter().fold(0u64, |s, x| s ^ x),
    );
    println!("{sum} {ok} {a:x} {b:x}");
}
