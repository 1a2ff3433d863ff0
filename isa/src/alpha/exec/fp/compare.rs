//! Comparisons: 2.0 for true, +0 for false. They round nothing and take infinities without `/S`, too.

use std::cmp::Ordering;

use super::ieee::{Qualifiers, complete, conclude, flush, is_denormal, is_nan, is_signaling, trap};
use super::{fa, fb, write};
use crate::alpha::fpcr::{self, IOV};
use crate::exec::Outcome;
use crate::fp::Binary64;
use crate::fp::flag::NV;
use crate::hart::Hart;
use crate::inst::Inst;

const TRUE: u64 = 0x4000_0000_0000_0000;

/// A comparison by the order of its operands, `None` if one is a NaN.
type Holds = fn(Option<Ordering>) -> bool;

fn value(holds: Holds, a: u64, b: u64) -> u64 {
    let order = f64::from_bits(a).partial_cmp(&f64::from_bits(b));
    if holds(order) { TRUE } else { 0 }
}

/// A NaN is invalid: any if the comparison is `signaling`, else a signaling one.
fn flags(signaling: bool, a: u64, b: u64) -> u8 {
    let invalid = [a, b]
        .iter()
        .any(|&x| is_signaling::<Binary64>(x) || signaling && is_nan::<Binary64>(x));
    if invalid { NV } else { 0 }
}

/// Operands among which there are a NaN or a denormal number.
#[inline(never)]
fn unusual(hart: &mut Hart, inst: &Inst, signaling: bool, holds: Holds) -> Outcome {
    let (mut a, mut b) = (fa(hart, inst), fb(hart, inst));
    if !Qualifiers::of(inst).completion() {
        return trap(NV);
    }
    if is_denormal::<Binary64>(a) || is_denormal::<Binary64>(b) {
        let completed = !fpcr::flushes_operands(hart);
        if !completed || fpcr::maps_denormals_to_zero(hart) {
            (a, b) = (flush::<Binary64>(a), flush::<Binary64>(b));
        }
        if completed {
            let exceptions = IOV | flags(signaling, a, b);
            return complete(hart, inst, value(holds, a, b), 0, exceptions);
        }
    }
    let (value, flags) = (value(holds, a, b), flags(signaling, a, b));
    conclude(hart, inst, value, flags, |_| (value, flags))
}

/// Comparisons: `name, common_name, signaling, condition`.
macro_rules! comparisons {
    ($($name:ident, $common:ident, $signaling:literal, |$order:ident| $holds:expr;)*) => {$(
        pub(crate) fn $name<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
            match $common(hart, inst) {
                Some(value) => write(hart, inst, value),
                None => unusual(hart, inst, $signaling, |$order| $holds),
            }
        }

        /// The result of this operation if no operand is a NaN or a denormal number.
        #[inline(always)]
        pub(crate) fn $common(hart: &Hart, inst: &Inst) -> Option<u64> {
            let (a, b) = (fa(hart, inst), fb(hart, inst));
            let $order = f64::from_bits(a).partial_cmp(&f64::from_bits(b));
            let unusual = $order.is_none() || is_denormal::<Binary64>(a) || is_denormal::<Binary64>(b);
            (!unusual).then_some(if $holds { TRUE } else { 0 })
        }
    )*};
}

comparisons! {
    cmptun, common_cmptun, false, |order| order.is_none();
    cmpteq, common_cmpteq, false, |order| order == Some(Ordering::Equal);
    cmptlt, common_cmptlt, true, |order| order == Some(Ordering::Less);
    cmptle, common_cmptle, true, |order| matches!(order, Some(Ordering::Less | Ordering::Equal));
}
